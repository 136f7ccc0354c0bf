/* head_cross.h - how strongly a head is to be regularised, and how good it will be: each input is
 * answered by a head that has not learnt it (folds.h).
 *
 *     head_cross_run(&cross, &rows, digests, threads, &err);
 *     cross.logits                     [count, labels] of every input, left out
 *     cross.weights                    of all inputs, at the strength that was best for them
 *     head_cross_close(&cross);
 *
 * Strengths fall from 1 by a factor of HEAD_CROSS_STEP, each fit beginning where the one before
 * ended, while one of two steps gains HEAD_CROSS_EARNED nats of log-likelihood an input on what
 * was left out: classes that lie apart would else be told by ever larger weights. Where the other
 * labels' classifier is given, the input is one of a label that is fitted: ten of thousands move a
 * mean over all by little. The gain is of these very inputs: a little optimistic, by the choice
 * among about ten.
 *
 * Threads: `threads` of its own for the time of the call; the result is plain data.
 */
#ifndef ATTND_LEARN_FIT_HEAD_CROSS_H
#define ATTND_LEARN_FIT_HEAD_CROSS_H

#include "learn/fit/head_fit.h"

#include <stdint.h>

#define HEAD_CROSS_STEP 3.1622776601683795
#define HEAD_CROSS_EARNED 2e-3
#define HEAD_CROSS_STRENGTH_MIN 1e-7

/* A step of a fit that promises less is not taken (lbfgs.h): far below what a strength must earn,
 * and above the rounding of a loss in single precision, in which fits lost most of their time. */
#define HEAD_CROSS_GAIN_MIN 1e-7

struct head_cross {
    double strength;
    double loss;     /* mean -log p of the truth, left out */
    float *logits;   /* [count, labels] */
    double *weights; /* [fitted labels, width + 1], the last of a row its bias */
};

/* `progress` (NULL: not called) is told how many fits are done. ERR_NO_MEMORY. Close it in any
 * case. */
enum err_code head_cross_run(struct head_cross *out, const struct head_rows *rows,
                             const uint64_t *digests, unsigned threads,
                             void (*progress)(void *context, size_t done), void *context,
                             struct err *err);
void head_cross_close(struct head_cross *cross);

#endif
