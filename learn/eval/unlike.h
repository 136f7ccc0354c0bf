/* unlike.h - runs a second data set, of inputs that a model has not learnt, and compares it with an
 * assessment's (measure/strangeness.h).
 *
 *     unlike_measure(&strangeness, &assessment, &dataset, &how, &err);
 *
 * Threads: as evaluation.h.
 */
#ifndef ATTND_LEARN_EVAL_UNLIKE_H
#define ATTND_LEARN_EVAL_UNLIKE_H

#include "learn/eval/assessment.h"

/* The assessment must have run. Labels of *out belong to the data set. Errors are those of a run
 * and of strangeness_measure. Close *out in any case. */
enum err_code unlike_measure(struct strangeness *out, const struct assessment *assessment,
                             const struct dataset *dataset, const struct evaluation_options *how,
                             struct err *err);

#endif
