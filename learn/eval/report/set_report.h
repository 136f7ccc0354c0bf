/* set_report.h - the report of a multi-label model (set_assessment.h): for a terminal, or as one
 * JSON object.
 *
 *     struct set_report report = {.model_dir = dir, .assessment = &assessment};
 *     set_report_print(&report, stdout);
 *     set_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_SET_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_SET_REPORT_H

#include "learn/eval/measure/set_assessment.h"

#include <stdio.h>

struct set_report {
    const char *model_dir;
    const struct set_assessment *assessment; /* of a run */
};

void set_report_print(const struct set_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code set_report_print_json(const struct set_report *report, FILE *file, struct err *err);
/* Writes FOLDER/report.json, whole or not at all. */
enum err_code set_report_write(const struct set_report *report, const char *folder,
                               struct err *err);

#endif
