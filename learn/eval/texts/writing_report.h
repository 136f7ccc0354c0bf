/* writing_report.h - the report of a model that writes texts: for a terminal, as one JSON object,
 * or as a page.
 *
 *     struct writing_report report = {.model_dir = dir, .assessment = &assessment};
 *     writing_report_print(&report, stdout);
 *     writing_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_TEXTS_WRITING_REPORT_H
#define ATTND_LEARN_EVAL_TEXTS_WRITING_REPORT_H

#include "learn/eval/texts/writing_assessment.h"

#include <stdio.h>

struct writing_report {
    const char *model_dir;
    const struct writing_assessment *assessment; /* of a run */
};

void writing_report_print(const struct writing_report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code writing_report_print_json(const struct writing_report *report, FILE *file,
                                        struct err *err);
/* Writes FOLDER/report.json and FOLDER/report.html, each whole or not at all. */
enum err_code writing_report_write(const struct writing_report *report, const char *folder,
                                   struct err *err);

#endif
