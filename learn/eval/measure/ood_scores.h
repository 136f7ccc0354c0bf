/* ood_scores.h - the ood_score of every input of an evaluation. Threads: pure function. */
#ifndef ATTND_LEARN_EVAL_MEASURE_OOD_SCORES_H
#define ATTND_LEARN_EVAL_MEASURE_OOD_SCORES_H

#include "engine/engine.h"
#include "learn/eval/measure/evaluation.h"

/* [*count], of the inputs that have logits, in their order; the evaluation kept features. Yours to
 * free. NULL with ERR_NO_MEMORY. */
float *ood_scores_compute(const struct engine_model *model, const struct evaluation *evaluation,
                          size_t *count, struct err *err);

#endif
