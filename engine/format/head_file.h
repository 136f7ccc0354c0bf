/* head_file.h - attnd_head.safetensors, which attnd.json names as its "head": what a model knows
 * beside the weights that transformers reads. Transformers ignores it, the model's digest covers
 * it.
 *
 * Version 1 may have a bank of examples, some hundred of each label:
 *
 *     bank.features  F16 [rows, width]    what the classifier reads of each, and behind it the mean
 *                                         of its tokens (model/token_mean.h)
 *     bank.logits    F32 [rows, labels]   the model's answers, left out of what was fitted if known
 *     bank.classes   U64 [rows]           the label of each
 *     bank.digests   U64 [rows]           which input it was: learn/data/digest.h
 *
 * with the metadata "full_layers" if their means are of a model that leaves tokens out behind so
 * many layers (model/config/token_pruning.h),
 *
 * of a model with a table of n-grams with those of each example, so that the table can learn
 * another label, too: a row's in 20 bits, then how often in 11, then its block,
 *
 *     bank.ngrams       U32 [entries]
 *     bank.ngram_ends   U64 [rows]        where each example's end
 *
 * a classifier of all features, in place of the one that reads the first of them:
 *
 *     head.weight    F32 [labels, width]
 *     head.bias      F32 [labels]
 *
 * and, of a model that reads texts, a table of n-grams (ngrams/ngram_table.h), with what of a text
 * is read in the metadata "ngrams.characters", "ngrams.key_lines" and "ngrams.key_words", the last
 * separated by '|', and "ngrams.scale":
 *
 *     ngrams.weight  F16 [rows, labels]
 *     ngrams.bias    F32 [labels]
 *
 *     head_file_open(&file, dir, name, labels, width, &err);
 *     head_file_bank(file, &bank, &arena, &err);
 *     head_file_close(file);
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_ENGINE_FORMAT_HEAD_FILE_H
#define ATTND_ENGINE_FORMAT_HEAD_FILE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/ngrams/ngram_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_FILE_NAME "attnd_head.safetensors"

struct head_bank {
    size_t count; /* 0: there is none */
    unsigned width, labels;
    float *features;                 /* [count, width] */
    float *logits;                   /* [count, labels] */
    unsigned *classes;               /* [count], below labels */
    uint64_t *digests;               /* [count] */
    const struct ngram_list *ngrams; /* [count]; NULL: none are known */
};

/* A classifier: logits = weight features + bias. */
struct head_matrix {
    unsigned width, labels;
    float *weight; /* [labels, width]; NULL: there is none */
    float *bias;   /* [labels] */
};

struct head_file;

/* The file of a model with so many labels and features (model/spec.h: spec_row). ERR_UNSUPPORTED
 * for another form, a newer version, or tensors that do not fit; the text begins with the file's
 * name. Yours to close. */
enum err_code head_file_open(struct head_file **out, const char *dir, const char *name,
                             unsigned labels, unsigned width, struct err *err);
void head_file_close(struct head_file *file); /* NULL is allowed */

/* The model's that its means are of; 0: none was left out. ERR_UNSUPPORTED for no number. */
enum err_code head_file_full_layers(const struct head_file *file, unsigned *out, struct err *err);

/* The arena owns the numbers. ERR_UNSUPPORTED for a class that is no label, and for numbers that
 * are not finite. */
enum err_code head_file_bank(const struct head_file *file, struct head_bank *out,
                             struct arena *arena, struct err *err);

/* The classifier; of a file without one its weight is NULL. The arena owns the numbers. */
enum err_code head_file_matrix(const struct head_file *file, struct head_matrix *out,
                               struct arena *arena, struct err *err);

/* The table of n-grams; of a file without one its weight is NULL. The arena owns numbers and words.
 * ERR_UNSUPPORTED for a reading that is out of its limits (ngrams/ngrams.h). */
enum err_code head_file_ngrams(const struct head_file *file, struct ngram_table *out,
                               struct arena *arena, struct err *err);

/* What is to be in a file: NULL, or without numbers, it is not there. */
struct head_content {
    const struct head_bank *bank;
    const struct head_matrix *matrix;
    const struct ngram_table *ngrams;
    unsigned full_layers;
};

/* DIR/HEAD_FILE_NAME, whole or not at all. ERR_IO; ERR_UNSUPPORTED for a number that F16 cannot
 * hold. */
enum err_code head_file_write(const char *dir, const struct head_content *content, struct err *err);

#endif
