/* report_sizes.h - the part of the report that tells recall by the size of the input
 * (measure/size_groups.h). Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_SIZES_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_SIZES_H

#include "learn/eval/report/report.h"

/* Are there sizes to compare: two groups at least? */
bool report_sizes_differ(const struct report *report);
/* What is measured: "pixels" or "tokens". */
const char *report_sizes_unit(const struct report *report);

/* Nothing unless sizes differ. Of a model with many labels only the row of all classes, since the
 * table is as unreadable as its confusion matrix; the JSON form has them all. */
void report_sizes_print(const struct report *report, FILE *file);
void report_sizes_html(const struct report *report, FILE *file);

#endif
