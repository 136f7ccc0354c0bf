/* foreign.h - raises the thresholds of a spec because of foreign inputs, which have none of its
 * labels, and prints what that costs.
 *
 *     foreign_take(&spec, &assessment, &foreign_evaluation, &bank, &cost, &arena, &err);
 *     foreign_tell(&cost, stderr);
 *
 * Every answer to a foreign input is wrong. So foreign inputs that the OOD score does not call
 * unknown count as mistakes among the validation inputs when a label's threshold is chosen
 * (selective.h): the risk of an automatic answer counts both (Xia and Bouganis, "Augmenting softmax
 * information for selective classification with out-of-distribution data", ACCV 2022). The target
 * precision then holds for a stream with the same ratio of foreign to known inputs.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FOREIGN_H
#define ATTND_LEARN_EVAL_FOREIGN_H

#include "learn/eval/ood_answers.h"

#include <stdio.h>

/* Raises thresholds [label_count] (NaN: never automatic), which come from the validation inputs;
 * none gets lower. `foreign` has the inputs that are not unknown; their class is label_count, which
 * no answer has. */
enum err_code foreign_raise(float *thresholds, const struct calibration_set *validation,
                            const struct calibration_set *foreign, double temperature,
                            const struct selective_goal *goal, struct err *err);

/* Counts the inputs whose winner has a score of at least its threshold. */
enum err_code foreign_automatic(size_t *out, const struct calibration_set *set, double temperature,
                                const float *thresholds, struct err *err);

/* Counts of inputs that have logits. */
struct foreign_cost {
    size_t foreign, unknown;      /* foreign inputs; those that the OOD score calls unknown */
    size_t passed_before, passed; /* foreign inputs that are automatic by the old, new thresholds */
    size_t known;                 /* inputs of the assessment that are not unknown */
    size_t automatic_before, automatic; /* of these, automatic by the old, the new thresholds */
};

/* The spec's temperature, thresholds, target precision and OOD score must have been fitted on the
 * assessment's inputs. The bank is as in ood_answers.h. `foreign` must have features. The spec's
 * new thresholds lie in the arena. */
enum err_code foreign_take(struct spec *spec, const struct assessment *assessment,
                           const struct evaluation *foreign, const struct head_bank *bank,
                           struct foreign_cost *cost, struct arena *arena, struct err *err);

/* Prints the cost in two lines. */
void foreign_tell(const struct foreign_cost *cost, FILE *file);

#endif
