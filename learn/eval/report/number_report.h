/* number_report.h - the report of a regression: for a terminal, or as one JSON object.
 *
 *     struct number_report report = {.model_dir = dir, .assessment = &assessment};
 *     number_report_print(&report, stdout);
 *     number_report_write(&report, "reports", &err);
 *
 * A model with one output has its figures in the object itself; one with several has an object
 * `outputs` with the figures of each, by name. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_NUMBER_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_NUMBER_REPORT_H

#include "learn/eval/measure/number_assessment.h"

#include <stdio.h>

struct number_report {
    const char *model_dir;
    const struct number_assessment *assessment; /* of a run */
    const struct report_epoch *epochs;          /* [epoch_count]; 0: no training */
    unsigned epoch_count;
};

void number_report_print(const struct number_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code number_report_print_json(const struct number_report *report, FILE *file,
                                       struct err *err);
/* Writes FOLDER/report.json, whole or not at all. */
enum err_code number_report_write(const struct number_report *report, const char *folder,
                                  struct err *err);

#endif
