/* foreign.h - raises the thresholds of a spec for inputs that have none of its labels, and tells
 * what that costs (fit/foreign_threshold.h has the rule).
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

/* Of inputs that have logits. */
struct foreign_cost {
    size_t foreign, unknown;      /* how many of them the OOD score tells */
    size_t passed_before, passed; /* that are automatic, by the thresholds before and now */
    size_t known;                 /* inputs of the assessment that are not unknown */
    size_t automatic_before, automatic;
};

/* The spec has temperature, thresholds, target precision and OOD score, which were fitted on the
 * assessment's inputs; the bank is as ood_answers.h takes it. `foreign` has features. Its new
 * thresholds lie in the arena. */
enum err_code foreign_take(struct spec *spec, const struct assessment *assessment,
                           const struct evaluation *foreign, const struct head_bank *bank,
                           struct foreign_cost *cost, struct arena *arena, struct err *err);

/* Two lines. */
void foreign_tell(const struct foreign_cost *cost, FILE *file);

#endif
