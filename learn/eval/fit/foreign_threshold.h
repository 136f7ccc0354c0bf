/* foreign_threshold.h - thresholds that hold where inputs come that have none of the labels.
 *
 *     foreign_raise(thresholds, &validation, &foreign, temperature, &goal, &err);
 *     foreign_automatic(&count, &foreign, temperature, thresholds, &err);
 *
 * Whatever is answered to such an input is wrong, so those that the OOD score lets pass stand as
 * mistakes among the validation inputs when a label's threshold is chosen (selective.h): the risk
 * of an automatic answer counts both (Xia and Bouganis, "Augmenting softmax information for
 * selective classification with out-of-distribution data", ACCV 2022). The target precision then
 * holds for a stream that has as many of them to known inputs as were given.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_FOREIGN_THRESHOLD_H
#define ATTND_LEARN_EVAL_FIT_FOREIGN_THRESHOLD_H

#include "learn/eval/measure/selective.h"

/* thresholds [label_count], NaN: never automatic: those of the validation inputs, of which none
 * gets lower. `foreign` has the inputs that are not unknown; their class is label_count, which no
 * answer is. */
enum err_code foreign_raise(float *thresholds, const struct calibration_set *validation,
                            const struct calibration_set *foreign, double temperature,
                            const struct selective_goal *goal, struct err *err);

/* How many inputs have a winner whose score is at least its threshold. */
enum err_code foreign_automatic(size_t *out, const struct calibration_set *set, double temperature,
                                const float *thresholds, struct err *err);

#endif
