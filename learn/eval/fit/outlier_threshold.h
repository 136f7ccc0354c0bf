/* outlier_threshold.h - above which OOD score (decide/ood.h) an input is unknown, by the scores of
 * validation inputs, which are known: one threshold for all, and a higher one for a label whose
 * answers would be called unknown too often.
 *
 *     struct outlier_answers answers = {scores, labels, count};
 *     outlier_threshold_fit(&ood, &answers, 0.98, &arena, &err);
 *     outlier_threshold_spare(&ood, &answers, 0.1, &arena, &err);
 *
 * One threshold takes most from the rare labels: of the 2 % of all wafer maps that are above it,
 * most are defects, and half of all Donuts are among them. A threshold for each label that takes as
 * much of each finds new things less often, since they are answered with rare labels. So a label
 * keeps the threshold for all unless that takes more than its share.
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

/* A threshold that at least `share` (0 to 1) of the answers do not exceed, and the quantiles from
 * which ranks are computed; no label has one of its own. ERR_UNUSABLE: there are no answers. */
enum err_code outlier_threshold_fit(struct ood *ood, const struct outlier_answers *answers,
                                    double share, struct arena *arena, struct err *err);

/* After outlier_threshold_fit: a label of which more than share_max of the answers are above the
 * threshold for all gets the lowest that at most share_max of them are above. */
enum err_code outlier_threshold_spare(struct ood *ood, const struct outlier_answers *answers,
                                      double share_max, struct arena *arena, struct err *err);

#endif
