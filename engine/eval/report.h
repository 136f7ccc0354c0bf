/* report.h - what an evaluation found, for a person or as one JSON object.
 *
 * Both forms hold the same: accuracy with its interval, macro-F1, each class, the confusion matrix,
 * the rate, the inputs that failed, and, beside a second precision, where the two differ. Lists of
 * inputs end after REPORT_INPUTS_MAX. Threads: one at a time (the scratch).
 */
#ifndef ATTND_ENGINE_EVAL_REPORT_H
#define ATTND_ENGINE_EVAL_REPORT_H

#include "engine/eval/agreement.h"
#include "engine/eval/confusion.h"
#include "engine/eval/evaluation.h"

#include <stdio.h>

enum { REPORT_INPUTS_MAX = 20 };

/* One pass over the data set. */
struct report_run {
    const char *dtype, *linear_backend;
    const struct evaluation *evaluation;
    const struct confusion *confusion; /* finished */
};

struct report {
    const char *model_dir, *data_path;
    const struct engine_model *model; /* of `run`; labels and scores are taken from it */
    const struct dataset *dataset;
    unsigned threads;
    struct report_run run;
    struct report_run against;         /* evaluation NULL: there is none */
    const struct agreement *agreement; /* of run and against */
    float *scratch;                    /* [label_count], for scores */
};

void report_print(const struct report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code report_print_json(const struct report *report, FILE *file, struct err *err);

/* The winner's score of an item in one of the runs. */
float report_score(const struct report *report, const struct report_run *run, size_t item);
/* Macro-F1 of `run` less that of `against`, in points of a hundredth. */
double report_macro_f1_points(const struct report *report);
double report_inputs_per_second(const struct report_run *run);

#endif
