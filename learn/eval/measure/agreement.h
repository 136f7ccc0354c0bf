/* agreement.h - agreement of two evaluations of one data set, to measure the effect of a lower
 * precision.
 *
 * Both models must have the same labels. An item that has logits in only one of them counts as a
 * difference, so that a precision that overflows cannot pass. An item without logits in both (an
 * image that cannot be read) is left out. Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_AGREEMENT_H
#define ATTND_LEARN_EVAL_MEASURE_AGREEMENT_H

#include "learn/eval/measure/evaluation.h"

#include <stdbool.h>

struct agreement {
    size_t compared; /* items with logits in at least one */
    size_t equal;    /* compared items with logits in both and the same winner */
    double share;    /* equal / compared; 0 if nothing was compared */
    double logit_difference_max, logit_difference_mean; /* over items with logits in both */
};

void agreement_measure(struct agreement *out, const struct evaluation *a,
                       const struct evaluation *b);
/* True if at least `percent` of the items agree. Compares counts, so that 995 of 1000 reach 99.5.
 */
bool agreement_reaches(const struct agreement *agreement, double percent);
bool agreement_differs(const struct evaluation *a, const struct evaluation *b, size_t item);

#endif
