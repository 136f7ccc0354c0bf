#include "learn/eval/report/task_report.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"

#include <jansson.h>
#include <math.h>

/* ---- terminal ---- */

static void print(const struct task_report *report, FILE *file)
{
    const struct number_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const struct engine_info *info = engine_describe(assessment->model);
    fprintf(file, "model                   %s, %s\n", report->model_dir, info->dtype);
    fprintf(file, "inputs                  %zu, of which %zu failed\n", evaluation->count,
            evaluation->failed);
    task_report_problems(file, evaluation, assessment->dataset);
    for (unsigned k = 0; k < assessment->outputs; k++) {
        if (assessment->outputs > 1)
            fprintf(file, "\noutput                  %s\n", info->labels[k]);
        const struct number_errors *errors = &assessment->errors[k];
        fprintf(file, "mean absolute error     %.4g\n", errors->mean_absolute);
        fprintf(file, "root mean square error  %.4g (answering the data's mean: %.4g)\n",
                errors->root_mean_square, errors->standard_deviation);
        fprintf(file, "bias                    %+.4g\n", errors->bias);
        fprintf(file, "largest error           %.4g\n", errors->largest);
        if (!isnan(errors->r_squared))
            fprintf(file, "R squared               %.4f\n", errors->r_squared);
        if (!isnan(errors->spearman))
            fprintf(file, "Spearman's rho          %.4f\n", errors->spearman);
    }
}

/* ---- JSON ---- */

/* Three of the figures also have the short names of the field. */
static json_t *errors_of(const struct number_errors *errors)
{
    return json_pack("{s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "mae",
                     errors->mean_absolute, "rmse", errors->root_mean_square, "r2",
                     report_json_real(errors->r_squared), "mean_absolute_error",
                     errors->mean_absolute, "root_mean_square_error", errors->root_mean_square,
                     "bias", errors->bias, "largest_error", errors->largest, "standard_deviation",
                     errors->standard_deviation, "r_squared", report_json_real(errors->r_squared),
                     "spearman", report_json_real(errors->spearman));
}

/* {name: figures}. If several outputs have one name, the first is shown. */
static json_t *outputs_of(const struct number_assessment *assessment)
{
    const struct engine_info *info = engine_describe(assessment->model);
    json_t *object = json_object();
    for (unsigned k = 0; k < assessment->outputs && object != NULL; k++)
        if (json_object_get(object, info->labels[k]) == NULL)
            object = report_json_put(object, info->labels[k], errors_of(&assessment->errors[k]));
    return object != NULL ? json_pack("{s:o}", "outputs", object) : NULL;
}

/* An epoch's error is in deviations if there are several outputs, whose units differ (judge.h). */
static json_t *report_of(const struct task_report *report)
{
    const struct number_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I}", "task", "regression", "model", UTF8_SHOWN(report->model_dir),
        "data", UTF8_SHOWN(assessment->data_path), "inputs", (json_int_t)evaluation->count,
        "failed", (json_int_t)evaluation->failed);
    const bool is_one = assessment->outputs == 1;
    return task_report_json(
        object, is_one ? errors_of(&assessment->errors[0]) : outputs_of(assessment), report,
        is_one ? "root_mean_square_error" : "standardised_root_mean_square_error");
}

const struct task_report_kind task_report_numbers = {.print = print, .json = report_of};
