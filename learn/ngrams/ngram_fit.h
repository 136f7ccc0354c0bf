/* ngram_fit.h - a linear classifier on hashed n-grams: multinomial logistic regression with a
 * penalty on squared weights,
 *
 *     min over W, b   1/n sum_i -log softmax(W x_i + b)[y_i] + strength / 2 |W|^2
 *
 * by L-BFGS (learn/eval/fit/lbfgs.h), in coordinates scaled by Boehning's (1992) bound on the
 * curvature. Rows that no text has stay zero.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_NGRAMS_NGRAM_FIT_H
#define ATTND_LEARN_NGRAMS_NGRAM_FIT_H

#include "learn/ngrams/ngram_rows.h"

/* What the penalty weighs against each text: of n texts the strength is 1 / (NGRAM_FIT_TRUST n). */
#define NGRAM_FIT_TRUST 100.0

struct ngram_problem {
    const struct ngram_rows *rows;
    const unsigned *classes; /* [rows->count] below labels */
    unsigned labels;
    uint32_t table_rows; /* of the reading that the texts were read by */
    double strength;
};

/* weight [table_rows, labels], bias [labels]. ERR_NO_MEMORY. */
enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err);

#endif
