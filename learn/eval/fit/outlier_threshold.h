/* outlier_threshold.h - fits thresholds of the OOD score (decide/ood.h), above which an input is
 * unknown, on the scores of validation inputs, which are known: one threshold for all, and a higher
 * one for a label whose answers would be called unknown too often.
 *
 *     struct outlier_answers answers = {scores, labels, count};
 *     outlier_threshold_fit(&ood, &answers, 0.98, &arena, &err);
 *     outlier_threshold_spare(&ood, &answers, 0.1, &arena, &err);
 *
 * One threshold for all mostly hits rare labels: among the 2 % of wafer maps that are above it,
 * most are defects, and half of all Donuts. A threshold for each label with the same share of
 * unknown inputs finds new patterns less often, since they are answered with rare labels. So a
 * label keeps the threshold for all unless too many of its answers are above it.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_OUTLIER_THRESHOLD_H
#define ATTND_LEARN_EVAL_FIT_OUTLIER_THRESHOLD_H

#include "engine/decide/ood.h"

#include <stddef.h>

enum {
    OUTLIER_QUANTILES = 101,
    OUTLIER_ANSWERS_MIN = 20 /* a label with fewer answers has no threshold of its own */
};

struct outlier_answers {
    const float *scores;    /* [count] OOD scores */
    const unsigned *labels; /* [count] the label that each answer gives, below ood's label_count;
                               outlier_threshold_fit does not read them */
    size_t count;
};

/* Sets the threshold that at least `share` (0 to 1) of the answers do not exceed, and the quantiles
 * from which ranks are computed. No label has a threshold of its own then. ERR_UNUSABLE: there are
 * no answers. */
enum err_code outlier_threshold_fit(struct ood *ood, const struct outlier_answers *answers,
                                    double share, struct arena *arena, struct err *err);

/* Called after outlier_threshold_fit. If more than share_max of a label's answers are above the
 * threshold for all, the label gets the lowest threshold that at most share_max of them exceed. */
enum err_code outlier_threshold_spare(struct ood *ood, const struct outlier_answers *answers,
                                      double share_max, struct arena *arena, struct err *err);

#endif
