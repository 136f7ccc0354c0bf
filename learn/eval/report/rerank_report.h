/* rerank_report.h - the report of a model that scores pairs: for a terminal, or as one JSON object.
 *
 *     struct rerank_report report = {.model_dir = dir, .rerank = &rerank};
 *     rerank_report_print(&report, stdout);
 *     rerank_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_RERANK_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_RERANK_REPORT_H

#include "learn/eval/measure/rerank.h"

#include <stdio.h>

struct rerank_report {
    const char *model_dir;
    const struct rerank *rerank; /* of a run */
};

void rerank_report_print(const struct rerank_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code rerank_report_print_json(const struct rerank_report *report, FILE *file,
                                       struct err *err);
/* Writes FOLDER/report.json, whole or not at all. */
enum err_code rerank_report_write(const struct rerank_report *report, const char *folder,
                                  struct err *err);

#endif
