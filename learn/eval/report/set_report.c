#include "learn/eval/report/task_report.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"

#include <jansson.h>
#include <math.h>

enum { RATE_BYTES = 8 };

/* ---- terminal ---- */

/* "0.812", or "-" if it is not defined. */
static const char *rate(double value, char out[RATE_BYTES])
{
    snprintf(out, RATE_BYTES, isnan(value) ? "-" : "%.3f", value);
    return out;
}

static void print_rates(const struct multi_label_rates *rates, double auroc, FILE *file)
{
    char a[RATE_BYTES], b[RATE_BYTES], c[RATE_BYTES], d[RATE_BYTES];
    fprintf(file, "%9s %9s %9s %9s", rate(rates->precision, a), rate(rates->recall, b),
            rate(rates->f1, c), rate(auroc, d));
}

static void print(const struct task_report *report, FILE *file)
{
    const struct set_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const struct multi_label *sets = &assessment->sets;
    const struct engine_info *info = engine_describe(assessment->model);
    fprintf(file, "model         %s, %s\n", report->model_dir, info->dtype);
    fprintf(file, "inputs        %zu, of which %zu failed\n", evaluation->count,
            evaluation->failed);
    task_report_problems(file, evaluation, assessment->dataset);
    fprintf(file,
            "exact match   %.4f of the inputs have exactly the labels that score %g or more\n",
            sets->exact_match, (double)MULTI_LABEL_THRESHOLD);
    fprintf(file, "Hamming loss  %.4f of the pairs of input and label are wrong\n",
            sets->hamming_loss);
    fputs("\nprecision    recall        F1     AUROC   support  label\n", file);
    for (unsigned k = 0; k < sets->labels; k++) {
        print_rates(&sets->rows[k].rates, sets->rows[k].auroc, file);
        fprintf(file, " %9zu  %s\n", sets->rows[k].support, info->labels[k]);
    }
    print_rates(&sets->micro, NAN, file);
    fputs("            (micro: all pairs of input and label)\n", file);
    print_rates(&sets->macro, sets->macro_auroc, file);
    fputs("            (macro: the mean of the labels)\n", file);
}

/* ---- JSON ---- */

static json_t *rates_of(const struct multi_label_rates *rates)
{
    return json_pack("{s:o, s:o, s:o}", "precision", report_json_real(rates->precision), "recall",
                     report_json_real(rates->recall), "f1", report_json_real(rates->f1));
}

/* {label: figures}. If labels are equal, the first is shown. */
static json_t *labels_of(const struct multi_label *sets, const struct engine_info *info)
{
    json_t *object = json_object();
    for (unsigned k = 0; k < sets->labels && object != NULL; k++) {
        const struct multi_label_row *row = &sets->rows[k];
        if (json_object_get(object, info->labels[k]) != NULL)
            continue;
        json_t *figures = json_pack("{s:I, s:I, s:o}", "support", (json_int_t)row->support, "given",
                                    (json_int_t)row->given, "auroc", report_json_real(row->auroc));
        const bool is_whole = report_json_add(figures, rates_of(&row->rates));
        object = report_json_put(object, info->labels[k], figures);
        if (!is_whole) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

static json_t *report_of(const struct task_report *report)
{
    const struct set_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const struct multi_label *sets = &assessment->sets;
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "task",
                     "multi_label", "model", UTF8_SHOWN(report->model_dir), "data",
                     UTF8_SHOWN(assessment->data_path), "inputs", (json_int_t)evaluation->count,
                     "failed", (json_int_t)evaluation->failed, "threshold",
                     (double)MULTI_LABEL_THRESHOLD, "exact_match", sets->exact_match,
                     "hamming_loss", sets->hamming_loss, "micro", rates_of(&sets->micro), "macro",
                     rates_of(&sets->macro), "macro_auroc", report_json_real(sets->macro_auroc),
                     "per_label", labels_of(sets, engine_describe(assessment->model)));
}

const struct task_report_kind task_report_sets = {.print = print, .json = report_of};
