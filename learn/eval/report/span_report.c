#include "learn/eval/report/span_report.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"
#include "wire/answer.h"

#include <jansson.h>

enum { PROBLEMS_SHOWN = 8, MISTAKES_SHOWN = 8 };

/* ---- terminal ---- */

static void print_row(const struct span_rates *rates, const struct span_count *count,
                      const char *name, FILE *file)
{
    fprintf(file, "%9.4f %9.4f %9.4f", rates->precision, rates->recall, rates->f1);
    if (count != NULL)
        fprintf(file, " %9zu %9zu", count->wanted, count->answered);
    else
        fprintf(file, " %9s %9s", "", "");
    fprintf(file, "  %s\n", name);
}

static void print_table(const struct span_assessment *assessment, FILE *file)
{
    const struct span_counts *counts = &assessment->counts;
    fputs("\nprecision    recall        F1    wanted  answered  label\n", file);
    for (unsigned k = 0; k < counts->labels; k++)
        if (counts->each[k].wanted + counts->each[k].answered > 0)
            print_row(&counts->each[k].rates, &counts->each[k], assessment->set.name[k], file);
    print_row(&counts->micro.rates, &counts->micro, "(micro: all spans)", file);
    print_row(&counts->macro, NULL, "(macro: the mean of the labels)", file);
}

static void print_mistakes(const struct span_assessment *assessment, FILE *file)
{
    for (unsigned m = 0; m < assessment->mistake_count && m < MISTAKES_SHOWN; m++) {
        const struct span_mistake *mistake = &assessment->mistakes[m];
        fprintf(file, "%s%s: %zu spans wrong, %zu missed\n",
                m == 0 ? "\nmistakes, the first\n" : "",
                assessment->dataset->items[mistake->item].name, mistake->wrong, mistake->missed);
    }
}

void span_report_print(const struct span_report *report, FILE *file)
{
    const struct span_assessment *assessment = report->assessment;
    const struct evaluation *evaluation = &assessment->evaluation;
    fprintf(file, "model      %s, %s\n", report->model_dir,
            engine_describe(assessment->model)->dtype);
    fprintf(file, "texts      %zu, of which %zu failed and %zu are longer than the model reads\n",
            evaluation->count, evaluation->failed, assessment->truncated);
    for (size_t i = 0, shown = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] != NULL && shown++ < PROBLEMS_SHOWN)
            fprintf(file, "  %s: %s\n", assessment->dataset->items[i].name,
                    evaluation->problems[i]);
    fprintf(file, "exact      %zu texts have the wanted spans and no others\n", assessment->exact);
    fprintf(file, "tokens     %zu, of which %zu have the right tag\n", assessment->tokens,
            assessment->tokens_right);
    if (assessment->misfits > 0)
        fprintf(file,
                "misfits    %zu spans do not begin and end where tokens do, and cannot be answered "
                "(the first: %s)\n",
                assessment->misfits, assessment->dataset->items[assessment->first_misfit].name);
    print_table(assessment, file);
    print_mistakes(assessment, file);
}

/* ---- JSON ---- */

static json_t *rates_of(const struct span_rates *rates)
{
    return json_pack("{s:f, s:f, s:f}", "precision", rates->precision, "recall", rates->recall,
                     "f1", rates->f1);
}

static json_t *count_of(const struct span_count *count)
{
    json_t *object = json_pack("{s:I, s:I, s:I}", "wanted", (json_int_t)count->wanted, "answered",
                               (json_int_t)count->answered, "right", (json_int_t)count->right);
    if (report_json_add(object, rates_of(&count->rates)))
        return object;
    json_decref(object);
    return NULL;
}

/* {label: figures} of the labels that occur. */
static json_t *labels_of(const struct span_assessment *assessment)
{
    json_t *object = json_object();
    for (unsigned k = 0; k < assessment->counts.labels && object != NULL; k++) {
        const struct span_count *count = &assessment->counts.each[k];
        if (count->wanted + count->answered == 0 ||
            json_object_set_new(object, assessment->set.name[k], count_of(count)) == 0)
            continue;
        json_decref(object);
        object = NULL;
    }
    return object;
}

static json_t *mistakes_of(const struct span_assessment *assessment)
{
    json_t *array = json_array();
    for (unsigned m = 0; m < assessment->mistake_count && array != NULL; m++) {
        const struct span_mistake *mistake = &assessment->mistakes[m];
        json_t *row = json_pack("{s:s, s:I, s:I}", "input",
                                UTF8_SHOWN(assessment->dataset->items[mistake->item].name), "wrong",
                                (json_int_t)mistake->wrong, "missed", (json_int_t)mistake->missed);
        if (json_array_append_new(array, row) == 0)
            continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

static json_t *epochs_of(const struct span_report *report)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < report->epoch_count && array != NULL; i++) {
        const struct span_report_epoch *epoch = &report->epochs[i];
        json_t *row =
            json_pack("{s:o, s:o, s:f, s:f}", "train_loss", report_json_real(epoch->train_loss),
                      "validation_loss", report_json_real(epoch->validation_loss), "span_f1",
                      epoch->span_f1, "rate", epoch->rate);
        if (json_array_append_new(array, row) == 0)
            continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

static json_t *report_of(const struct span_report *report)
{
    const struct span_assessment *assessment = report->assessment;
    const struct evaluation *evaluation = &assessment->evaluation;
    const double tokens = (double)(assessment->tokens > 0 ? assessment->tokens : 1);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o}", "task", "tag",
        "model", UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(assessment->data_path), "texts",
        (json_int_t)evaluation->count, "failed", (json_int_t)evaluation->failed, "truncated",
        (json_int_t)assessment->truncated, "exact", (json_int_t)assessment->exact, "misfits",
        (json_int_t)assessment->misfits, "token_accuracy",
        (double)assessment->tokens_right / tokens, "span_f1", assessment->counts.micro.rates.f1,
        "micro", count_of(&assessment->counts.micro), "macro", rates_of(&assessment->counts.macro),
        "labels", labels_of(assessment), "mistakes", mistakes_of(assessment));
    if (object != NULL &&
        (report->epoch_count == 0 || json_object_set_new(object, "epochs", epochs_of(report)) == 0))
        return object;
    json_decref(object);
    return NULL;
}

enum err_code span_report_print_json(const struct span_report *report, FILE *file, struct err *err)
{
    json_t *object = report_of(report);
    if (object == NULL)
        return err_no_memory(err, sizeof *report);
    bool printed = answer_print(object, file);
    json_decref(object);
    return printed ? ERR_OK : err_set(err, ERR_IO, "the report cannot be printed");
}

enum err_code span_report_write(const struct span_report *report, const char *folder,
                                struct err *err)
{
    char path[PATH_MAX];
    struct memory_file text;
    if (file_path(path, folder, "report.json", err) || memory_file_open(&text, err))
        return err->code;
    span_report_print_json(report, text.stream, err);
    return memory_file_save(&text, path, err);
}
