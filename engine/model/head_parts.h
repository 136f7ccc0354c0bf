/* head_parts.h - the parts of a model from the head's file (format/head_file.h): examples that its
 * OOD score compares with (decide/ood.h), a table of n-grams (ngrams/ngram_table.h), and a
 * classifier that also reads the mean of the tokens:
 *
 *     logits = W_c features + W_m mean + b
 *
 * with W_c, W_m and b in place of model.safetensors' classifier, which stays there for other
 * readers. For a class that the encoder never learnt, the mean often has information that [CLS]
 * lacks: attnd-fit on kernel-bert and ten test logs of a new label finds 20 of 30 others, without
 * the mean 12. W_c is weights->classifier, so explanations follow it. The mean's part does not go
 * through the last block, whose attention the gradients follow.
 *
 * Threads: as spec_read and weights.h.
 */
#ifndef ATTND_ENGINE_MODEL_HEAD_PARTS_H
#define ATTND_ENGINE_MODEL_HEAD_PARTS_H

#include "engine/format/head_file.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"

/* A part that the file lacks has no numbers. */
struct head_parts {
    struct head_matrix matrix;
    struct ngram_table ngrams;
};

/* Checks the file, if the spec names one, before the model is served, and gives its examples to an
 * OOD score that uses them. The other parts go to *parts, which may be NULL. The arena owns the
 * numbers. Errors as head_file_open; ERR_UNSUPPORTED for such an OOD score without examples, and
 * for a table of n-grams in a model of images. */
enum err_code head_parts_open(struct spec *spec, const char *dir, struct head_parts *parts,
                              struct arena *arena, struct err *err);

/* Refuses a file whose means are over other layers than the spec's (token_mean.h):
 * ERR_UNSUPPORTED. */
enum err_code head_parts_check_means(const struct spec *spec, const struct head_file *file,
                                     struct err *err);

/* ood->neighbours.rows [bank->count, spec_means]: the examples' token means, each of length 1.
 * ERR_NO_MEMORY. */
enum err_code head_parts_neighbours(struct ood *ood, const struct head_bank *bank,
                                    struct arena *arena, struct err *err);

/* Replaces the classifier of opened weights. ERR_UNSUPPORTED for a family whose answer is the mean
 * of two classifiers; ERR_NO_MEMORY. */
enum err_code head_parts_classify(struct weights *weights, const struct spec *spec,
                                  const struct head_matrix *head,
                                  const struct linear_backend *backend, struct err *err);

/* Returns true if the model's classifier reads means. */
static inline bool head_parts_reads_means(const struct weights *weights)
{
    return weights->mean_classifier.out > 0;
}

/* Upper bound of the bytes that these parts take for the directory. */
size_t head_parts_bytes(const char *dir);

#endif
