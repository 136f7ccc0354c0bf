/* logit_adjustment.h - fits shifts of a classifier's logits so that its predictions have the best
 * macro-F1, for a model whose classes were more balanced in training than they are in use (logit
 * adjustment: Menon et al. 2021, who compute it from the class frequencies).
 *
 *     struct logit_adjustment gain;
 *     logit_adjustment_fit(&gain, &set, shifts, &err);
 *
 * Coordinate ascent: each class in turn gets the shift with the best macro-F1 while the others are
 * fixed; candidates are all shifts that change a winner. There are at most LOGIT_ADJUSTMENT_ROUNDS
 * rounds, and each shift is within LOGIT_ADJUSTMENT_MAX. Ties go to the smallest shift. Shifts
 * fitted on few inputs overestimate the gain, so `crossed` is measured on each half of the inputs
 * with the shifts of the other.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_LOGIT_ADJUSTMENT_H
#define ATTND_LEARN_EVAL_FIT_LOGIT_ADJUSTMENT_H

#include "learn/eval/measure/calibration.h"

enum { LOGIT_ADJUSTMENT_ROUNDS = 8 };
#define LOGIT_ADJUSTMENT_MAX 8.0f

struct logit_adjustment {
    double before, after; /* macro-F1 on the whole set */
    double crossed; /* macro-F1 of the two halves' winners together, each by the other's shifts */
};

/* shifts [set->label_count], their mean 0. One label an input; set->sigmoid is false.
 * ERR_NO_MEMORY. */
enum err_code logit_adjustment_fit(struct logit_adjustment *out, const struct calibration_set *set,
                                   float *shifts, struct err *err);

#endif
