/* foreign.h - raises the thresholds of a spec because of foreign inputs, which have none of its
 * labels, and prints what that costs (fit/foreign_threshold.h has the rule).
 *
 *     foreign_take(&spec, &assessment, &foreign_evaluation, &bank, &cost, &arena, &err);
 *     foreign_tell(&cost, stderr);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FOREIGN_H
#define ATTND_LEARN_EVAL_FOREIGN_H

#include "learn/eval/ood_answers.h"

#include <stdio.h>

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
