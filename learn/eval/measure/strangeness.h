/* strangeness.h - the ood_score of every input of an evaluation. Threads: pure function. */
#ifndef ATTND_LEARN_EVAL_MEASURE_STRANGENESS_H
#define ATTND_LEARN_EVAL_MEASURE_STRANGENESS_H

#include "engine/engine.h"
#include "learn/eval/measure/evaluation.h"

/* [*count], of the inputs that have logits, in their order; the evaluation kept features. Yours to
 * free. NULL with ERR_NO_MEMORY. */
float *strangeness_scores(const struct engine_model *model, const struct evaluation *evaluation,
                          size_t *count, struct err *err);

#endif
