/* report.c - see report.h: writes the form for a terminal, and computes the few numbers that all
 * forms share. A matrix wider than a terminal is unreadable, so for a model with many labels it is
 * only in the JSON form. Percentages are used where a person compares (agreement), fractions where
 * papers use them (F1). */
#include "learn/eval/report/report.h"

#include "engine/base/utf8.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/report/report_expected.h"
#include "learn/eval/report/report_remarks.h"
#include "learn/eval/report/report_sizes.h"
#include "learn/eval/report/report_strange.h"

#include <math.h>
#include <string.h>

#define F1_MOVED 5e-5 /* smallest change that shows in four digits */

enum { MATRIX_LABELS_MAX = 24, LABEL_COLUMN_MAX = 40, MISTAKES_MAX = 8 };

/* ---- numbers ---- */

float report_score(const struct report *report, const struct report_run *run, size_t item)
{
    engine_scores(report->model, evaluation_logits(run->evaluation, item), report->scratch);
    return report->scratch[evaluation_argmax(run->evaluation, item)];
}

bool report_threshold(const struct report *report, unsigned label, float *score)
{
    const struct selective_threshold *found = &report->findings->classes[label].threshold;
    *score = report->served != NULL ? report->served[label] : found->score;
    return report->served != NULL ? !isnan(report->served[label]) : found->reachable;
}

double report_macro_f1_points(const struct report *report)
{
    return 100 * (report->run.confusion->macro_f1 - report->against.confusion->macro_f1);
}

double report_inputs_per_second(const struct report_run *run)
{
    double seconds = run->evaluation->seconds;
    return seconds > 0 ? (double)run->evaluation->count / seconds : 0;
}

const char *report_model_name(const struct report *report)
{
    const char *name = strrchr(report->model_dir, '/');
    return name != NULL && name[1] != '\0' ? name + 1 : report->model_dir;
}

double report_percent(size_t part, size_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* ---- tables ---- */

/* Width of the longest label, so that columns line up. */
static int label_column(const struct engine_info *info)
{
    size_t longest = strlen("macro mean");
    for (unsigned i = 0; i < info->label_count; i++) {
        const size_t characters = utf8_count(info->labels[i], strlen(info->labels[i]));
        longest = characters > longest ? characters : longest;
    }
    return longest < LABEL_COLUMN_MAX ? (int)longest : LABEL_COLUMN_MAX;
}

static void print_classes(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct confusion *confusion = report->run.confusion;
    int column = label_column(info);
    float threshold;
    fprintf(file, "\n    %-*s  precision  recall      F1  (95 %% interval)  support  automatic\n",
            column, "class");
    for (unsigned i = 0; i < info->label_count; i++) {
        const struct confusion_class *class = &confusion->classes[i];
        const struct findings_class *found = &report->findings->classes[i];
        fprintf(file, "%3u %-*s  %9.4f  %6.4f  %6.4f  %.4f to %.4f  %7zu", i,
                utf8_width(info->labels[i], column), info->labels[i], class->precision,
                class->recall, class->f1, found->f1.low, found->f1.high, class->support);
        if (report_threshold(report, i, &threshold))
            fprintf(file, "     %.4f\n", (double)threshold);
        else
            fputs("     review\n", file);
    }
}

static void print_matrix(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    unsigned labels = info->label_count;
    int column = label_column(info);
    if (labels > MATRIX_LABELS_MAX) {
        fprintf(file, "\nThe confusion matrix of %u labels is in the JSON form.\n", labels);
        return;
    }
    fprintf(file, "\nconfusion (rows: label, columns: winner)\n    %-*s", column, "");
    for (unsigned winner = 0; winner < labels; winner++)
        fprintf(file, " %6u", winner);
    for (unsigned label = 0; label < labels; label++) {
        fprintf(file, "\n%3u %-*s", label, utf8_width(info->labels[label], column),
                info->labels[label]);
        for (unsigned winner = 0; winner < labels; winner++)
            fprintf(file, " %6zu", report->run.confusion->matrix[(size_t)label * labels + winner]);
    }
    fputc('\n', file);
}

/* ---- scores ---- */

static void print_figures(const char *name, const struct findings_figures *figures, FILE *file)
{
    fprintf(file, "    %-34s  %11.3f  %6.4f  %8.4f  %6.4f  %6.4f\n", name, figures->temperature,
            figures->ece, figures->ece_by_mass, figures->nll, figures->brier);
}

static void print_calibration(const struct report *report, FILE *file)
{
    const struct findings *findings = report->findings;
    fprintf(file, "\n    %-34s  temperature     ECE  ECE mass     NLL   Brier\n", "scores");
    print_figures("as served", &findings->served, file);
    print_figures("fitted on these inputs", &findings->fitted, file);
    if (findings->has_crossed)
        print_figures("fitted on other inputs (5 folds)", &findings->crossed, file);
}

static void print_decisions(const char *name, const struct selective_decisions *decisions,
                            FILE *file)
{
    fprintf(file, "    %-46s  %7.2f %%  ", name,
            report_percent(decisions->automatic, decisions->count));
    if (decisions->automatic > 0)
        fprintf(file, "%7.2f %%", report_percent(decisions->right, decisions->automatic));
    else
        fputs("        -", file);
    fprintf(file, "  %6.2f %%  %6.2f %%\n", report_percent(decisions->review, decisions->count),
            report_percent(decisions->unknown, decisions->count));
}

static void print_automation(const struct report *report, FILE *file)
{
    const struct findings *findings = report->findings;
    fprintf(file, "\n    %-46s  automatic  of these    review   unknown\n", "decisions");
    fprintf(file, "    for a precision of %-27.4g                right\n",
            findings->target_precision);
    if (report->decisions != NULL)
        print_decisions("as the checkpoint decides", report->decisions, file);
    print_decisions("one score for all, chosen on these inputs", &findings->served.by_score, file);
    if (findings->has_crossed)
        print_decisions("one score for all, chosen on other inputs", &findings->crossed.by_score,
                        file);
    print_decisions("a score for each class, chosen on these inputs", &findings->fitted.by_class,
                    file);
    if (findings->has_crossed)
        print_decisions("a score for each class, chosen on other inputs",
                        &findings->crossed.by_class, file);
    fprintf(file, "risk-coverage  area %.4f\n", findings->curve.aurc);
}

/* ---- inputs ---- */

static void print_mistakes(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct findings *findings = report->findings;
    if (findings->mistake_count > 0)
        fputs("\nsurest mistakes\n", file);
    for (unsigned i = 0; i < findings->mistake_count && i < MISTAKES_MAX; i++) {
        const struct verdict *mistake = &findings->mistakes[i];
        const struct dataset_item *item = &report->dataset->items[mistake->item];
        fprintf(file, "  %s  label: %s  winner: %s %.4f\n", item->name, item->label,
                info->labels[mistake->label], (double)mistake->score);
    }
}

static void print_failures(const struct report *report, FILE *file)
{
    const struct evaluation *evaluation = report->run.evaluation;
    size_t shown = 0;
    if (evaluation->failed > 0)
        fprintf(file, "\ninputs that failed (%zu)\n", evaluation->failed);
    for (size_t i = 0; i < evaluation->count && shown < REPORT_INPUTS_MAX; i++) {
        if (evaluation->problems[i] == NULL)
            continue;
        fprintf(file, "  %s: %s\n", report->dataset->items[i].name, evaluation->problems[i]);
        shown++;
    }
    if (evaluation->failed > shown)
        fprintf(file, "  and %zu more\n", evaluation->failed - shown);
}

static void print_winner(const struct report *report, const struct report_run *run, size_t item,
                         FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct evaluation *evaluation = run->evaluation;
    if (evaluation->problems[item] != NULL)
        fprintf(file, "  %s: %s", run->dtype, evaluation->problems[item]);
    else
        fprintf(file, "  %s: %s %.4f", run->dtype,
                info->labels[evaluation_argmax(evaluation, item)],
                (double)report_score(report, run, item));
}

static void print_differences(const struct report *report, FILE *file)
{
    const struct agreement *agreement = report->agreement;
    const struct dataset *dataset = report->dataset;
    size_t differences = agreement->compared - agreement->equal, shown = 0;
    if (differences > 0)
        fprintf(file, "\ninputs whose winner differs (%zu)\n", differences);
    for (size_t i = 0; i < dataset->count && shown < REPORT_INPUTS_MAX; i++) {
        if (!agreement_differs(report->run.evaluation, report->against.evaluation, i))
            continue;
        fprintf(file, "  %s  label: %s", dataset->items[i].name, dataset->items[i].label);
        print_winner(report, &report->run, i, file);
        print_winner(report, &report->against, i, file);
        fputc('\n', file);
        shown++;
    }
    if (differences > shown)
        fprintf(file, "  and %zu more\n", differences - shown);
}

/* ---- the page ---- */

static void print_run(const struct report_run *run, FILE *file)
{
    const struct confusion *confusion = run->confusion;
    struct interval accuracy = wilson_interval(confusion->hits, confusion->count);
    fprintf(file, "accuracy       %.4f (95 %% interval %.4f to %.4f)\n", confusion->accuracy,
            accuracy.low, accuracy.high);
    fprintf(file, "macro-F1       %.4f over %u classes", confusion->macro_f1,
            confusion->macro_classes);
}

static void print_rate(const struct report *report, const struct report_run *run, FILE *file)
{
    fprintf(file, "rate           %.1f inputs/s (%.1f s, %u threads)\n",
            report_inputs_per_second(run), run->evaluation->seconds, report->threads);
}

static void print_against(const struct report *report, FILE *file)
{
    const struct agreement *agreement = report->agreement;
    fprintf(file, "\nagainst        %s, %s\n", report->against.dtype,
            report->against.linear_backend);
    print_run(&report->against, file);
    fputc('\n', file);
    print_rate(report, &report->against, file);
    fprintf(file, "difference     %+.3f points of macro-F1\n", report_macro_f1_points(report));
    fprintf(file, "same winner    %.3f %% (%zu of %zu)\n", 100 * agreement->share, agreement->equal,
            agreement->compared);
    fprintf(file, "logits         differ by at most %.6g, on average by %.6g\n",
            agreement->logit_difference_max, agreement->logit_difference_mean);
    print_differences(report, file);
}

static void print_shares(const char *name, int column, const struct selective_decisions *before,
                         const struct selective_decisions *after, size_t was, size_t is, FILE *file)
{
    fprintf(file, "    %-*s  %5.1f %%  %4.1f %%\n", column, name,
            report_percent(was, before->count), report_percent(is, after->count));
}

/* Prints the classes whose F1 changed. */
static void print_change(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct report_change *change = report->change;
    const struct confusion *old = change->before.confusion, *new = change->after.confusion;
    int column = label_column(info);
    fprintf(file, "\nbefore         %s\n", change->before.model_dir);
    fprintf(file, "    %-*s  before   after\n", column, "");
    fprintf(file, "    %-*s  %6.4f  %6.4f\n", column, "accuracy", old->accuracy, new->accuracy);
    fprintf(file, "    %-*s  %6.4f  %6.4f\n", column, "macro-F1", old->macro_f1, new->macro_f1);
    for (unsigned i = 0; i < info->label_count; i++)
        if (fabs(old->classes[i].f1 - new->classes[i].f1) >= F1_MOVED)
            fprintf(file, "    %-*s  %6.4f  %6.4f\n", utf8_width(info->labels[i], column),
                    info->labels[i], old->classes[i].f1, new->classes[i].f1);
    const struct selective_decisions *was = change->before.decisions;
    const struct selective_decisions *is = change->after.decisions;
    if (was == NULL || is == NULL)
        return;
    print_shares("automatic", column, was, is, was->automatic, is->automatic, file);
    print_shares("review", column, was, is, was->review, is->review, file);
    print_shares("unknown", column, was, is, was->unknown, is->unknown, file);
}

void report_print(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    fprintf(file, "model          %s (%s, %s, %s)\n", report->model_dir, info->family,
            report->run.dtype, report->run.linear_backend);
    fprintf(file, "data           %s\n", report->data_path);
    fprintf(file, "inputs         %zu, of which %zu failed\n", report->run.evaluation->count,
            report->run.evaluation->failed);
    print_run(&report->run, file);
    fprintf(file, " (95 %% interval %.4f to %.4f)\n", report->findings->macro_f1.low,
            report->findings->macro_f1.high);
    print_rate(report, &report->run, file);
    print_classes(report, file);
    print_matrix(report, file);
    report_sizes_print(report, file);
    report_expected_print(report, file);
    print_calibration(report, file);
    print_automation(report, file);
    report_remarks_print(report, file);
    if (report->unseen != NULL)
        report_strange_print(report->unseen, info, file);
    print_mistakes(report, file);
    print_failures(report, file);
    if (report->against.evaluation != NULL)
        print_against(report, file);
    if (report->change != NULL)
        print_change(report, file);
}
