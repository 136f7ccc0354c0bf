/* fit_rows.h - the rows that a head is fitted on: first the readable inputs of the data, then the
 * examples that the model carries (format/head_file.h), which represent the labels that the data
 * lack.
 *
 * An example whose input is also among the data is left out, since people correct labels. Threads:
 * plain data.
 */
#ifndef ATTND_LEARN_FIT_FIT_ROWS_H
#define ATTND_LEARN_FIT_FIT_ROWS_H

#include "engine/format/head_file.h"
#include "learn/eval/measure/evaluation.h"

struct fit_rows {
    size_t count, of_data; /* rows; rows of the data, which come first */
    unsigned width, labels, old_labels;
    size_t *items;             /* [of_data] indices in the data set */
    float *features;           /* [count, width] */
    unsigned *classes;         /* [count], below labels */
    uint64_t *digests;         /* [count] */
    float *before;             /* [count, old_labels] the old model's logits */
    float *after;              /* [count, labels] the new head's left-out logits; zeros at first */
    struct ngram_list *ngrams; /* [count]; entries belong to the data and the bank; NULL: the model
                                  has no table of n-grams */
};

/* The inputs of the data, run through the old model. */
struct fit_data {
    const struct evaluation *evaluation;
    const unsigned *classes;         /* [evaluation->count] */
    const struct ngram_list *ngrams; /* [evaluation->count]; NULL: the model has no table */
};

/* bank->count may be 0. Its examples must have n-grams if the data have. ERR_NO_MEMORY. Close it in
 * any case. */
enum err_code fit_rows_open(struct fit_rows *out, const struct fit_data *data,
                            const struct head_bank *bank, unsigned labels, struct err *err);
void fit_rows_close(struct fit_rows *rows);

/* Makes the bank of the new model from the rows and their left-out answers
 * (learn/eval/fit/example_bank.h). The arena owns it. */
enum err_code fit_rows_bank(const struct fit_rows *rows, struct head_bank *out, struct arena *arena,
                            struct err *err);

#endif
