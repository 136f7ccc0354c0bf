/* report_strange.h - the part of the report on inputs that the model has not learnt
 * (measure/strangeness.h). Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_STRANGE_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_STRANGE_H

#include "learn/eval/report/report.h"

/* Prints for a terminal; `strangeness` may differ from report->unseen. */
void report_strange_print(const struct strangeness *strangeness, const struct engine_info *info,
                          FILE *file);
/* Writes nothing if report->unseen is NULL. */
void report_strange_html(const struct report *report, FILE *file);

#endif
