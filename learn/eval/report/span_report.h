/* span_report.h - the report of a model of tags: for a terminal, as one JSON object, or as a page.
 *
 *     struct span_report report = {.model_dir = dir, .assessment = &assessment};
 *     span_report_print(&report, stdout);
 *     span_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_SPAN_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_SPAN_REPORT_H

#include "learn/eval/measure/span_assessment.h"

#include <stdio.h>

struct span_report {
    const char *model_dir;
    const struct span_assessment *assessment; /* of a run */
    const struct report_epoch *epochs;        /* [epoch_count] of a training; may be none */
    unsigned epoch_count;
};

void span_report_print(const struct span_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code span_report_print_json(const struct span_report *report, FILE *file, struct err *err);
/* Writes FOLDER/report.json and report.html, each whole or not at all. */
enum err_code span_report_write(const struct span_report *report, const char *folder,
                                struct err *err);

#endif
