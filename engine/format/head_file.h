/* head_file.h - attnd_head.safetensors, which attnd.json names as its "head": the parts of a model
 * beside the weights that transformers reads. Transformers ignores it, the model's digest covers
 * it.
 *
 * Version 1 may have a bank of examples, some hundred of each label:
 *
 *     bank.features  F16 [rows, width]    the classifier's input for each, and behind it the mean
 *                                         of its tokens (model/token_mean.h)
 *     bank.logits    F32 [rows, labels]   the model's answers, of a fit without the example if
 * known
 *     bank.classes   U64 [rows]           the label of each
 *     bank.digests   U64 [rows]           digest of the input: learn/data/digest.h
 *
 * The metadata "full_layers" is there if the means are of a model that leaves out tokens behind so
 * many layers (model/spec.h).
 *
 * If the model has a table of n-grams, the bank has the n-grams of each example, so that the table
 * can learn another label. An entry is its row in 20 bits, its count in 11, then its block:
 *
 *     bank.ngrams       U32 [entries]
 *     bank.ngram_ends   U64 [rows]        end of each example's entries
 *
 * There may be a classifier of all features, in place of the one that reads the first of them:
 *
 *     head.weight    F32 [labels, width]
 *     head.bias      F32 [labels]
 *
 * A model of texts may have a table of n-grams (ngrams/ngram_table.h). The metadata
 * "ngrams.characters", "ngrams.key_lines" and "ngrams.key_words" (separated by '|') say which parts
 * of a text are read; "ngrams.scale" is its scale:
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

/* Opens the file of a model with `labels` labels and `width` features (model/spec.h: spec_row).
 * ERR_UNSUPPORTED for another form, a newer version, or tensors that do not fit; the text begins
 * with the file's name. Yours to close. */
enum err_code head_file_open(struct head_file **out, const char *dir, const char *name,
                             unsigned labels, unsigned width, struct err *err);
void head_file_close(struct head_file *file); /* NULL is allowed */

/* Reads the metadata "full_layers"; 0: no tokens were left out. ERR_UNSUPPORTED if it is no
 * number. */
enum err_code head_file_full_layers(const struct head_file *file, unsigned *out, struct err *err);

/* The arena owns the numbers. ERR_UNSUPPORTED for a class that is no label, and for numbers that
 * are not finite. */
enum err_code head_file_bank(const struct head_file *file, struct head_bank *out,
                             struct arena *arena, struct err *err);

/* Reads the classifier; its weight is NULL if the file has none. The arena owns the numbers. */
enum err_code head_file_matrix(const struct head_file *file, struct head_matrix *out,
                               struct arena *arena, struct err *err);

/* Reads the table of n-grams; its weight is NULL if the file has none. The arena owns numbers and
 * words. ERR_UNSUPPORTED for a reading that is out of its limits (ngrams/ngrams.h). */
enum err_code head_file_ngrams(const struct head_file *file, struct ngram_table *out,
                               struct arena *arena, struct err *err);

/* Content of a file to write. A part that is NULL or has no numbers is left out. */
struct head_content {
    const struct head_bank *bank;
    const struct head_matrix *matrix;
    const struct ngram_table *ngrams;
    unsigned full_layers;
};

/* Writes DIR/HEAD_FILE_NAME, whole or not at all. ERR_IO; ERR_UNSUPPORTED for a number that F16
 * cannot hold. */
enum err_code head_file_write(const char *dir, const struct head_content *content, struct err *err);

#endif
