/* foreign_threshold.h - thresholds for a stream that also has foreign inputs, which have none of
 * the labels.
 *
 *     foreign_raise(thresholds, &validation, &foreign, temperature, &goal, &err);
 *     foreign_automatic(&count, &foreign, temperature, thresholds, &err);
 *
 * Every answer to a foreign input is wrong. So foreign inputs that the OOD score does not call
 * unknown count as mistakes among the validation inputs when a label's threshold is chosen
 * (selective.h): the risk of an automatic answer counts both (Xia and Bouganis, "Augmenting softmax
 * information for selective classification with out-of-distribution data", ACCV 2022). The target
 * precision then holds for a stream with the same ratio of foreign to known inputs.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_FOREIGN_THRESHOLD_H
#define ATTND_LEARN_EVAL_FIT_FOREIGN_THRESHOLD_H

#include "learn/eval/measure/selective.h"

/* Raises thresholds [label_count] (NaN: never automatic), which come from the validation inputs;
 * none gets lower. `foreign` has the inputs that are not unknown; their class is label_count, which
 * no answer has. */
enum err_code foreign_raise(float *thresholds, const struct calibration_set *validation,
                            const struct calibration_set *foreign, double temperature,
                            const struct selective_goal *goal, struct err *err);

/* Counts the inputs whose winner has a score of at least its threshold. */
enum err_code foreign_automatic(size_t *out, const struct calibration_set *set, double temperature,
                                const float *thresholds, struct err *err);

#endif
