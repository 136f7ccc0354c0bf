/* report_expected.h - the part of the report on what to expect from a stream with other shares of
 * the labels (measure/expectation.h). Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_EXPECTED_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_EXPECTED_H

#include "learn/eval/report/report.h"

/* Both write nothing if report->expectation is NULL. */
void report_expected_print(const struct report *report, FILE *file);
void report_expected_html(const struct report *report, FILE *file);

#endif
