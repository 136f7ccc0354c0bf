/* report_sizes.h - the part of the report on recall by the size of the input
 * (measure/size_groups.h). Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_SIZES_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_SIZES_H

#include "learn/eval/report/report.h"

/* True if there are sizes to compare: at least two groups. */
bool report_sizes_differ(const struct report *report);
/* Unit of the sizes: "pixels" or "tokens". */
const char *report_sizes_unit(const struct report *report);

/* Both write nothing unless sizes differ. For a model with many labels they write only the row of
 * all classes, since the table would be as unreadable as its confusion matrix; the JSON has all. */
void report_sizes_print(const struct report *report, FILE *file);
void report_sizes_html(const struct report *report, FILE *file);

#endif
