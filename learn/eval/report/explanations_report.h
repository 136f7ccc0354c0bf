/* explanations_report.h - reports how faithful explanations are: for a terminal, as one JSON
 * object, or as a page that needs no other file and no script. Threads: one at a time. */
#ifndef ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_REPORT_H

#include "learn/eval/explain/explanations.h"

#include <stdio.h>

struct explanations_report {
    const char *model_name, *data_path;
    const struct explanations *explanations;
};

/* ERR_NO_MEMORY; ERR_IO if the file cannot be written. */
enum err_code explanations_print(const struct explanations_report *report, FILE *file,
                                 struct err *err);
enum err_code explanations_print_json(const struct explanations_report *report, FILE *file,
                                      struct err *err);
enum err_code explanations_print_html(const struct explanations_report *report, FILE *file,
                                      struct err *err);

/* Writes FOLDER/explanations.json and FOLDER/explanations.html, each whole or absent. */
enum err_code explanations_write(const struct explanations_report *report, const char *folder,
                                 struct err *err);

/* Name of the parts: "patches" or "words"; how removed parts are replaced. */
const char *explanations_parts_name(const struct explanations *explanations);
const char *explanations_fill_text(const struct explanations *explanations);

#endif
