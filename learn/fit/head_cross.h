/* head_cross.h - chooses the strength of a head's regularisation by cross-validation: each input is
 * answered by a head that has not learnt it (folds.h).
 *
 *     head_cross_run(&cross, &rows, digests, threads, progress, context, &err);
 *     cross.logits                     [count, labels] left-out logits of every input
 *     cross.weights                    fitted on all inputs, at the best strength
 *     head_cross_close(&cross);
 *
 * Strengths fall from 1 by a factor of HEAD_CROSS_STEP. Each fit starts where the previous one
 * ended. The search stops when two steps in a row gain less than HEAD_CROSS_EARNED nats of left-out
 * log-likelihood an input: without this limit separable classes would get ever larger weights. If
 * the classifier of known labels is given, the limit is for each input of a fitted label, since ten
 * of thousands of inputs hardly change a mean over all. The gain is measured on the inputs that
 * choose the strength, so it is slightly optimistic, by a choice among about ten.
 *
 * Threads: starts `threads` of its own for the time of the call; the result is plain data.
 */
#ifndef ATTND_LEARN_FIT_HEAD_CROSS_H
#define ATTND_LEARN_FIT_HEAD_CROSS_H

#include "learn/fit/head_fit.h"

#include <stdint.h>

#define HEAD_CROSS_STEP 3.1622776601683795
#define HEAD_CROSS_EARNED 2e-3
#define HEAD_CROSS_STRENGTH_MIN 1e-7

/* A fit ends when a step promises a smaller gain (lbfgs.h). It is far below HEAD_CROSS_EARNED, and
 * above the rounding of a loss in single precision, where fits spent most of their time. */
#define HEAD_CROSS_GAIN_MIN 1e-7

struct head_cross {
    double strength;
    double loss;     /* mean left-out -log p of the truth */
    float *logits;   /* [count, labels] */
    double *weights; /* [fitted labels, width + 1]; the last number of a row is its bias */
};

/* `progress` (NULL: not called) is called with the number of fits done. ERR_NO_MEMORY. Close it in
 * any case. */
enum err_code head_cross_run(struct head_cross *out, const struct head_rows *rows,
                             const uint64_t *digests, unsigned threads,
                             void (*progress)(void *context, size_t done), void *context,
                             struct err *err);
void head_cross_close(struct head_cross *cross);

#endif
