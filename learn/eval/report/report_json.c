/* report_json.c - see report.h: writes the JSON form. Numbers have nine digits, as in answers.
 * json_pack returns NULL if a part is NULL or there is no memory, and releases the parts, so one
 * check at the end of a tree is enough. */
#include "engine/base/utf8.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/report/report.h"
#include "learn/eval/report/report_json_parts.h"
#include "learn/eval/report/report_remarks.h"
#include "learn/eval/report/report_sizes.h"

#include <jansson.h>

#include <math.h>
#include <string.h>

static json_t *integer(size_t count)
{
    return json_integer((json_int_t)count);
}

/* ---- parts ---- */

static json_t *interval_of(struct interval interval)
{
    return json_pack("[f,f]", interval.low, interval.high);
}

/* null: no score reaches the target precision, and the label is never automatic. */
static json_t *threshold_of(const struct selective_threshold *threshold)
{
    return threshold->reachable ? json_real((double)threshold->score) : json_null();
}

static json_t *classes_of(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    json_t *rows = json_array();
    for (unsigned i = 0; i < info->label_count && rows != NULL; i++) {
        const struct confusion_class *class = &report->run.confusion->classes[i];
        const struct findings_class *found = &report->findings->classes[i];
        rows = report_json_append(
            rows, json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "label",
                            info->labels[i], "precision", class->precision, "recall", class->recall,
                            "f1", class->f1, "support", integer(class->support),
                            "precision_interval", interval_of(found->precision), "recall_interval",
                            interval_of(found->recall), "f1_interval", interval_of(found->f1),
                            "threshold", threshold_of(&found->threshold)));
    }
    return rows;
}

/* The figures of each class, by label. */
static json_t *per_class_of(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    json_t *classes = json_object();
    for (unsigned i = 0; i < info->label_count && classes != NULL; i++) {
        const struct confusion_class *class = &report->run.confusion->classes[i];
        json_t *row = json_pack("{s:f, s:f, s:f, s:o}", "precision", class->precision, "recall",
                                class->recall, "f1", class->f1, "support", integer(class->support));
        classes = report_json_put(classes, info->labels[i], row);
    }
    return classes;
}

static json_t *matrix_of(const struct confusion *confusion)
{
    json_t *rows = json_array();
    for (unsigned label = 0; label < confusion->class_count && rows != NULL; label++) {
        const size_t *counts = confusion->matrix + (size_t)label * confusion->class_count;
        json_t *row = json_array();
        for (unsigned winner = 0; winner < confusion->class_count && row != NULL; winner++)
            row = report_json_append(row, integer(counts[winner]));
        rows = report_json_append(rows, row);
    }
    return rows;
}

static json_t *failures_of(const struct report *report)
{
    const struct evaluation *evaluation = report->run.evaluation;
    json_t *rows = json_array();
    for (size_t i = 0; i < evaluation->count && rows != NULL; i++)
        if (evaluation->problems[i] != NULL && json_array_size(rows) < REPORT_INPUTS_MAX)
            rows = report_json_append(
                rows, json_pack("{s:s, s:s}", "input", UTF8_SHOWN(report->dataset->items[i].name),
                                "problem", UTF8_SHOWN(evaluation->problems[i])));
    return rows;
}

/* A run's answer to one item: {"dtype", "winner", "score"} or {"dtype", "problem"}. */
static json_t *argmax(const struct report *report, const struct report_run *run, size_t item)
{
    const char *problem = run->evaluation->problems[item];
    if (problem != NULL)
        return json_pack("{s:s, s:s}", "dtype", run->dtype, "problem", UTF8_SHOWN(problem));
    unsigned winner = evaluation_argmax(run->evaluation, item);
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
            rows = report_json_append(rows, json_pack("{s:s, s:s, s:o, s:o}", "input",
                                                      UTF8_SHOWN(dataset->items[i].name), "label",
                                                      dataset->items[i].label, "run",
                                                      argmax(report, &report->run, i), "against",
                                                      argmax(report, &report->against, i)));
    return rows;
}

/* ---- scores ---- */

static json_t *decisions_of(const struct selective_decisions *decisions)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "inputs", integer(decisions->count), "auto",
                     integer(decisions->automatic), "auto_right", integer(decisions->right),
                     "review", integer(decisions->review), "unknown", integer(decisions->unknown));
}

static json_t *bins_of(const struct findings_figures *figures)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < CALIBRATION_BINS && rows != NULL; i++) {
        const struct calibration_bin *bin = &figures->bins[i];
        rows = report_json_append(rows, json_pack("{s:o, s:f, s:f}", "count", integer(bin->count),
                                                  "score", bin->score, "right", bin->right));
    }
    return rows;
}

static json_t *figures_of(const struct findings_figures *figures)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "temperature",
                     figures->temperature, "ece", figures->ece, "ece_by_mass", figures->ece_by_mass,
                     "nll", figures->nll, "brier", figures->brier, "one_score",
                     decisions_of(&figures->by_score), "score_by_class",
                     decisions_of(&figures->by_class), "bins", bins_of(figures));
}

static json_t *scores_of(const struct findings *findings)
{
    json_t *crossed = findings->has_crossed ? figures_of(&findings->crossed) : json_null();
    return json_pack("{s:o, s:o, s:o}", "served", figures_of(&findings->served), "fitted",
                     figures_of(&findings->fitted), "cross_fitted", crossed);
}

static json_t *curve_of(const struct findings *findings)
{
    const struct selective_curve *curve = &findings->curve;
    json_t *points = json_array();
    for (unsigned i = 0; i < curve->point_count && points != NULL; i++)
        points = report_json_append(
            points, json_pack("[f,f]", curve->points[i].coverage, curve->points[i].risk));
    json_t *score = curve->coverage > 0 ? json_real((double)curve->threshold) : json_null();
    return json_pack("{s:f, s:f, s:f, s:o, s:o}", "aurc", curve->aurc, "target_precision",
                     findings->target_precision, "coverage", curve->coverage, "score", score,
                     "points", points);
}

static json_t *mistakes_of(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct findings *findings = report->findings;
    json_t *rows = json_array();
    for (unsigned i = 0; i < findings->mistake_count && rows != NULL; i++) {
        const struct verdict *mistake = &findings->mistakes[i];
        const struct dataset_item *item = &report->dataset->items[mistake->item];
        rows = report_json_append(rows, json_pack("{s:s, s:s, s:s, s:f}", "input",
                                                  UTF8_SHOWN(item->name), "label", item->label,
                                                  "winner", info->labels[mistake->label], "score",
                                                  (double)mistake->score));
    }
    return rows;
}

struct json_t *report_epochs_json(const struct report_epoch *epochs, unsigned count,
                                  const char *measure)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < count && rows != NULL; i++)
        rows = report_json_append(rows, json_pack("{s:o, s:o, s:o, s:o}", "train_loss",
                                                  report_json_real(epochs[i].train_loss),
                                                  "validation_loss",
                                                  report_json_real(epochs[i].validation_loss),
                                                  measure, report_json_real(epochs[i].measure),
                                                  "rate", report_json_real(epochs[i].rate)));
    return rows;
}

static void add_remark(void *context, const char *remark)
{
    json_t **rows = context;
    if (*rows != NULL)
        *rows = report_json_append(*rows, json_string(UTF8_SHOWN(remark)));
}

static json_t *remarks_of(const struct report *report)
{
    struct err err = {0};
    json_t *rows = json_array();
    if (report_remarks_each(report, add_remark, &rows, &err) == ERR_OK)
        return rows;
    json_decref(rows);
    return NULL;
}

/* ---- the object ---- */

static json_t *run_of(const struct report_run *run)
{
    const struct confusion *confusion = run->confusion;
    struct interval accuracy = wilson_interval(confusion->hits, confusion->count);
    return json_pack("{s:s, s:s, s:f, s:[f,f], s:f, s:i, s:f, s:f}", "dtype", run->dtype,
                     "linear_backend", run->linear_backend, "accuracy", confusion->accuracy,
                     "accuracy_interval", accuracy.low, accuracy.high, "macro_f1",
                     confusion->macro_f1, "macro_classes", (int)confusion->macro_classes, "seconds",
                     run->evaluation->seconds, "inputs_per_second", report_inputs_per_second(run));
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

/* The most used figures, by their usual names. */
static json_t *summary_of(const struct report *report)
{
    const struct findings *findings = report->findings;
    const struct confusion *confusion = report->run.confusion;
    return json_pack(
        "{s:s, s:s, s:i, s:o, s:o, s:f, s:f, s:o, s:f, s:o}", "model",
        UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(report->data_path), "threads",
        (int)report->threads, "inputs", integer(report->run.evaluation->count), "failed",
        integer(report->run.evaluation->failed), "accuracy", confusion->accuracy, "macro_f1",
        confusion->macro_f1, "macro_f1_interval", interval_of(findings->macro_f1), "ece",
        findings->served.ece, "per_class", per_class_of(report));
}

static json_t *details_of(const struct report *report)
{
    json_t *against = report->against.evaluation != NULL ? against_of(report) : json_null();
    json_t *decisions = report->decisions != NULL ? decisions_of(report->decisions) : json_null();
    json_t *epochs = report_epochs_json(report->epochs, report->epoch_count, "macro_f1");
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                     run_of(&report->run), "classes", classes_of(report), "confusion",
                     matrix_of(report->run.confusion), "scores", scores_of(report->findings),
                     "risk_coverage", curve_of(report->findings), "decisions", decisions, "remarks",
                     remarks_of(report), "mistakes", mistakes_of(report), "epochs", epochs,
                     "failures", failures_of(report), "against", against);
}

/* ---- before and after ---- */

/* {label: {"f1", "f1_interval"}} */
static json_t *f1_of(const struct report *report, const struct report_figures *figures)
{
    const struct engine_info *info = engine_describe(report->model);
    json_t *object = json_object();
    for (unsigned c = 0; c < info->label_count && object != NULL; c++) {
        json_t *row = json_pack("{s:f, s:o}", "f1", figures->confusion->classes[c].f1,
                                "f1_interval", interval_of(figures->f1[c]));
        object = report_json_put(object, info->labels[c], row);
    }
    return object;
}

static json_t *side_of(const struct report *report, const struct report_figures *figures)
{
    json_t *decisions = figures->decisions != NULL ? decisions_of(figures->decisions) : NULL;
    return json_pack("{s:s, s:o, s:f, s:o, s:f, s:o, s:o, s:o*}", "model",
                     UTF8_SHOWN(figures->model_dir), "inputs", integer(figures->confusion->count),
                     "accuracy", figures->confusion->accuracy, "accuracy_interval",
                     interval_of(figures->accuracy), "macro_f1", figures->confusion->macro_f1,
                     "macro_f1_interval", interval_of(figures->macro_f1), "f1",
                     f1_of(report, figures), "decisions", decisions);
}

static json_t *change_of(const struct report *report)
{
    return json_pack("{s:o, s:o}", "before", side_of(report, &report->change->before), "after",
                     side_of(report, &report->change->after));
}

/* Adds the members that only some runs have. */
static bool add_others(json_t *object, const struct report *report)
{
    if (report_sizes_differ(report) &&
        json_object_set_new(object, "sizes", report_sizes_json(report)) != 0)
        return false;
    if (report->expectation != NULL &&
        json_object_set_new(object, "expected", report_expected_json(report)) != 0)
        return false;
    if (report->unseen != NULL &&
        json_object_set_new(object, "unseen", report_strange_json(report)) != 0)
        return false;
    return report->change == NULL || report_json_add(object, change_of(report));
}

static json_t *report_of(const struct report *report)
{
    json_t *object = summary_of(report);
    if (report_json_add(object, details_of(report)) && add_others(object, report))
        return object;
    json_decref(object);
    return NULL;
}

enum err_code report_print_json(const struct report *report, FILE *file, struct err *err)
{
    return report_json_print(report_of(report), "the report", file, err);
}
