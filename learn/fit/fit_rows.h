/* fit_rows.h - what a head is fitted on: the inputs of the data that could be read, and behind them
 * the examples that the model carries (format/head_file.h), which stand for the labels that nobody
 * gave examples of.
 *
 * An example whose input is among the data gives way to it: people correct labels. Threads: plain
 * data.
 */
#ifndef ATTND_LEARN_FIT_FIT_ROWS_H
#define ATTND_LEARN_FIT_FIT_ROWS_H

#include "engine/format/head_file.h"
#include "learn/eval/measure/evaluation.h"

struct fit_rows {
    size_t count, of_data; /* of_data come first */
    unsigned width, labels, old_labels;
    size_t *items;             /* [of_data] of the data set */
    float *features;           /* [count, width] */
    unsigned *classes;         /* [count], below labels */
    uint64_t *digests;         /* [count] */
    float *before;             /* [count, old_labels] the model's logits as it was */
    float *after;              /* [count, labels] left out; zeros to begin with */
    struct ngram_list *ngrams; /* [count], whose entries are the data's and the bank's; NULL: the
                                  model has no table of them */
};

/* The inputs of the data, run through the model as it was. */
struct fit_data {
    const struct evaluation *evaluation;
    const unsigned *classes;         /* [evaluation->count] */
    const struct ngram_list *ngrams; /* [evaluation->count]; NULL: the model has no table */
};

/* bank->count 0: none; its examples have n-grams if the data have. ERR_NO_MEMORY. Close it in any
 * case. */
enum err_code fit_rows_open(struct fit_rows *out, const struct fit_data *data,
                            const struct head_bank *bank, unsigned labels, struct err *err);
void fit_rows_close(struct fit_rows *rows);

/* The bank of the model that the rows were fitted to, with their answers left out
 * (learn/eval/fit/example_bank.h). The arena's. */
enum err_code fit_rows_bank(const struct fit_rows *rows, struct head_bank *out, struct arena *arena,
                            struct err *err);

#endif
