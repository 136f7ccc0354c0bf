/* report_expected.h - the part of the report that tells what to expect of a stream with other
 * shares of the labels (measure/expectation.h). Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_EXPECTED_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_EXPECTED_H

#include "learn/eval/report/report.h"

/* Nothing if report->expectation is NULL. */
void report_expected_print(const struct report *report, FILE *file);
void report_expected_html(const struct report *report, FILE *file);

#endif
