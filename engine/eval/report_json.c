/* report_json.c - see report.h: the form for a program. Numbers are written as answers are, with
 * nine digits. json_pack gives NULL when a part is NULL or there is no memory, and releases the
 * parts, so one look at the end of a tree is enough. */
#include "engine/answer.h"
#include "engine/eval/interval.h"
#include "engine/eval/report.h"

#include <jansson.h>

static json_t *integer(size_t count)
{
    return json_integer((json_int_t)count);
}

/* The name of a file need not be UTF-8. */
static json_t *name(const char *text)
{
    json_t *value = json_string(text);
    return value != NULL ? value : json_string_nocheck("(not UTF-8)");
}

/* Takes an array and a value over; NULL if either is, or there is no memory. */
static json_t *append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* ---- parts ---- */

static json_t *classes_of(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    json_t *rows = json_array();
    for (unsigned i = 0; i < info->label_count && rows != NULL; i++) {
        const struct confusion_class *class = &report->run.confusion->classes[i];
        rows = append(rows, json_pack("{s:s, s:f, s:f, s:f, s:o}", "label", info->labels[i],
                                      "precision", class->precision, "recall", class->recall, "f1",
                                      class->f1, "support", integer(class->support)));
    }
    return rows;
}

static json_t *matrix_of(const struct confusion *confusion)
{
    json_t *rows = json_array();
    for (unsigned label = 0; label < confusion->class_count && rows != NULL; label++) {
        const size_t *counts = confusion->matrix + (size_t)label * confusion->class_count;
        json_t *row = json_array();
        for (unsigned winner = 0; winner < confusion->class_count && row != NULL; winner++)
            row = append(row, integer(counts[winner]));
        rows = append(rows, row);
    }
    return rows;
}

static json_t *failures_of(const struct report *report)
{
    const struct evaluation *evaluation = report->run.evaluation;
    json_t *rows = json_array();
    for (size_t i = 0; i < evaluation->count && rows != NULL; i++)
        if (evaluation->problems[i] != NULL && json_array_size(rows) < REPORT_INPUTS_MAX)
            rows =
                append(rows, json_pack("{s:o, s:o}", "input", name(report->dataset->items[i].name),
                                       "problem", name(evaluation->problems[i])));
    return rows;
}

/* A run's answer to one item: {"dtype", "winner", "score"} or {"dtype", "problem"}. */
static json_t *winner_of(const struct report *report, const struct report_run *run, size_t item)
{
    const char *problem = run->evaluation->problems[item];
    if (problem != NULL)
        return json_pack("{s:s, s:o}", "dtype", run->dtype, "problem", name(problem));
    unsigned winner = evaluation_winner(run->evaluation, item);
    return json_pack("{s:s, s:s, s:f}", "dtype", run->dtype, "winner",
                     engine_describe(report->model)->labels[winner], "score",
                     (double)report_score(report, run, item));
}

static json_t *differences_of(const struct report *report)
{
    const struct dataset *dataset = report->dataset;
    json_t *rows = json_array();
    for (size_t i = 0; i < dataset->count && rows != NULL; i++)
        if (json_array_size(rows) < REPORT_INPUTS_MAX &&
            agreement_differs(report->run.evaluation, report->against.evaluation, i))
            rows = append(rows,
                          json_pack("{s:o, s:s, s:o, s:o}", "input", name(dataset->items[i].name),
                                    "label", dataset->items[i].label, "run",
                                    winner_of(report, &report->run, i), "against",
                                    winner_of(report, &report->against, i)));
    return rows;
}

/* ---- the object ---- */

static json_t *run_of(const struct report_run *run)
{
    const struct confusion *confusion = run->confusion;
    struct interval accuracy = interval_wilson(confusion->hits, confusion->count);
    return json_pack("{s:s, s:s, s:f, s:[f,f], s:f, s:i, s:f, s:f}", "dtype", run->dtype,
                     "linear_backend", run->linear_backend, "accuracy", confusion->accuracy,
                     "accuracy_interval", accuracy.low, accuracy.high,
                     "macro_f1", confusion->macro_f1, "macro_classes",
                     (int)confusion->macro_classes, "seconds", run->evaluation->seconds,
                     "inputs_per_second", report_inputs_per_second(run));
}

static json_t *against_of(const struct report *report)
{
    const struct agreement *agreement = report->agreement;
    return json_pack("{s:o, s:f, s:o, s:o, s:f, s:f, s:f, s:o}", "run", run_of(&report->against),
                     "macro_f1_points", report_macro_f1_points(report), "compared",
                     integer(agreement->compared), "same_winner", integer(agreement->equal),
                     "same_winner_share", agreement->share, "logit_difference_max",
                     agreement->logit_difference_max, "logit_difference_mean",
                     agreement->logit_difference_mean, "differences", differences_of(report));
}

static json_t *report_of(const struct report *report)
{
    const struct evaluation *evaluation = report->run.evaluation;
    json_t *against = report->against.evaluation != NULL ? against_of(report) : json_null();
    return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
                     name(report->model_dir), "data", name(report->data_path), "threads",
                     (int)report->threads, "inputs", integer(evaluation->count), "failed",
                     integer(evaluation->failed), "run", run_of(&report->run), "classes",
                     classes_of(report), "confusion", matrix_of(report->run.confusion), "failures",
                     failures_of(report), "against", against);
}

enum err_code report_print_json(const struct report *report, FILE *file, struct err *err)
{
    json_t *object = report_of(report);
    if (object == NULL)
        return err_no_memory(err, sizeof *report);
    bool printed = answer_print(object, file);
    json_decref(object);
    return printed ? ERR_OK : err_set(err, ERR_IO, "the report cannot be printed");
}
