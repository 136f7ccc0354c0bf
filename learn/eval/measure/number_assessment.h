/* number_assessment.h - evaluates a regression on inputs whose labels are numbers, output by
 * output: shared by attnd-eval and attnd-train.
 *
 *     number_assessment_take(&assessment, model, &dataset, "validation.jsonl", &err);
 *     number_assessment_run(&assessment, &options, &err);
 *     ... assessment.errors[0].root_mean_square ...
 *     number_assessment_close(&assessment);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_NUMBER_ASSESSMENT_H
#define ATTND_LEARN_EVAL_MEASURE_NUMBER_ASSESSMENT_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/number_errors.h"

struct number_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    unsigned outputs;
    double *numbers; /* [dataset->count, outputs] of the labels */
    struct evaluation evaluation;
    size_t count;                 /* inputs that were answered */
    double *answered, *right;     /* [outputs, count] */
    struct number_errors *errors; /* [outputs] */
};

/* True if the model answers numbers. */
bool number_assessment_is_for(const struct engine_model *model);

/* Reads the numbers of the labels. ERR_UNUSABLE names the first input whose label is not as many
 * numbers as the model answers. Close it in any case. */
enum err_code number_assessment_take(struct number_assessment *out,
                                     const struct engine_model *model,
                                     const struct dataset *dataset, const char *data_path,
                                     struct err *err);
/* Runs the model and measures. As evaluation_run; ERR_NO_MEMORY. */
enum err_code number_assessment_run(struct number_assessment *assessment,
                                    const struct evaluation_options *options, struct err *err);
void number_assessment_close(struct number_assessment *assessment);

#endif
