/* retrieval_report.h - the report of an embedding: for a terminal, or as one JSON object.
 *
 *     struct retrieval_report report = {.model_dir = dir, .retrieval = &retrieval};
 *     retrieval_report_print(&report, stdout);
 *     retrieval_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_RETRIEVAL_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_RETRIEVAL_REPORT_H

#include "learn/eval/measure/retrieval.h"

#include <stdio.h>

struct retrieval_report {
    const char *model_dir;
    const struct retrieval *retrieval; /* of a run */
    const struct report_epoch *epochs; /* [epoch_count]; 0: no training */
    unsigned epoch_count;
};

void retrieval_report_print(const struct retrieval_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code retrieval_report_print_json(const struct retrieval_report *report, FILE *file,
                                          struct err *err);
/* Writes FOLDER/report.json, whole or not at all. */
enum err_code retrieval_report_write(const struct retrieval_report *report, const char *folder,
                                     struct err *err);

#endif
