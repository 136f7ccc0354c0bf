/* ood_scores.h - computes the OOD score of every input of an evaluation. Threads: pure function. */
#ifndef ATTND_LEARN_EVAL_MEASURE_OOD_SCORES_H
#define ATTND_LEARN_EVAL_MEASURE_OOD_SCORES_H

#include "engine/engine.h"
#include "learn/eval/measure/evaluation.h"

/* Returns the scores [*count] of the inputs that have logits, in their order; the caller frees
 * them. The evaluation must have features. NULL with ERR_NO_MEMORY. */
float *ood_scores_compute(const struct engine_model *model, const struct evaluation *evaluation,
                          size_t *count, struct err *err);

#endif
