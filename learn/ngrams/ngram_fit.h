/* ngram_fit.h - a linear classifier on hashed n-grams: multinomial logistic regression with a
 * penalty on squared weights,
 *
 *     min over W, b   1/n sum_i -log softmax(W x_i + b)[y_i] + strength / 2 |W|^2
 *
 * by L-BFGS (learn/eval/fit/lbfgs.h), in coordinates scaled by Boehning's (1992) bound on the
 * curvature. Rows that no learnt text uses stay zero and cost nothing. The first labels may be
 * known already, given by their scores for each text: then only the other labels get weights.
 *
 * Threads: no state; starts `threads` - 1 of its own.
 */
#ifndef ATTND_LEARN_NGRAMS_NGRAM_FIT_H
#define ATTND_LEARN_NGRAMS_NGRAM_FIT_H

#include "engine/ngrams/ngrams.h"

/* Sets the strength of the penalty: for n texts it is 1 / (NGRAM_FIT_TRUST n). */
#define NGRAM_FIT_TRUST 100.0

struct ngram_problem {
    const struct ngram_list *lists; /* [count] n-grams of each text */
    size_t count;
    const unsigned *classes;    /* [count] below labels */
    const unsigned char *folds; /* [count]; NULL: all are learnt */
    unsigned left_out;          /* texts of this fold are not learnt */
    unsigned labels;
    unsigned known;      /* number of known labels, which come first and get no weights */
    const float *scores; /* [count, known] their scores */
    uint32_t table_rows; /* rows of the reading that the lists were made with */
    double strength;
    double gain_min;  /* see lbfgs.h; 0: no limit */
    unsigned threads; /* 0: one; the table is the same for any number */
};

/* weight [table_rows, labels - known], bias [labels - known]. ERR_NO_MEMORY. */
enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err);

#endif
