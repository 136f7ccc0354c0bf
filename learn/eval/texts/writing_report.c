#include "learn/eval/report/task_report.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/report_json_parts.h"
#include "learn/eval/report/report_page.h"
#include "learn/eval/texts/writing_assessment.h"

#include <jansson.h>
#include <string.h>

enum { MISTAKES_SHOWN = 8 };

/* ---- terminal ---- */

/* A figure with its interval, and what it is of. */
static void print_figure(FILE *file, const char *name, double value, struct interval interval,
                         int digits, const char *note)
{
    fprintf(file, "%-11s %.*f  (%.*f to %.*f)  %s\n", name, digits, value, digits, interval.low,
            digits, interval.high, note);
}

static struct interval percent(struct interval share)
{
    return (struct interval){.low = 100 * share.low, .high = 100 * share.high};
}

static void print_mistakes(const struct writing_assessment *assessment, FILE *file)
{
    for (unsigned m = 0; m < assessment->mistake_count && m < MISTAKES_SHOWN; m++) {
        const struct writing_mistake *mistake = &assessment->mistakes[m];
        const struct dataset_item *item = &assessment->dataset->items[mistake->item];
        fprintf(file, "%s%s: %zu edits\n  written  %s\n  right    %s\n",
                m == 0 ? "\nmistakes, the first\n" : "", item->name, mistake->edits,
                mistake->written, item->label);
    }
}

static void print_decisions(FILE *file, const char *name, const struct text_figures *figures)
{
    const struct selective_decisions *decisions = &figures->decisions;
    fprintf(file, "  %-32s  %6.4f  %8.2f %%  ", name, figures->ece,
            report_percent(decisions->automatic, decisions->count));
    if (decisions->automatic > 0)
        fprintf(file, "%11.2f %%\n", report_percent(decisions->right, decisions->automatic));
    else
        fputs("            -\n", file);
}

/* Says the threshold, or what it would take to have one. */
static void put_threshold(FILE *file, const struct text_findings *findings)
{
    const struct selective_goal goal = {findings->target_precision, SELECTIVE_Z};
    const struct selective_threshold *threshold = &findings->threshold;
    const size_t enough = selective_right_min(&goal);
    if (threshold->reachable)
        fprintf(file, "%.4g, for a precision of %.4g", (double)threshold->score,
                goal.target_precision);
    else if (enough > 0)
        fprintf(file,
                "none: no text is automatic. A precision of %.4g takes %zu right texts without a "
                "mistake, or more with some",
                goal.target_precision, enough);
    else
        fputs("none: no text is automatic. No number of right ones vouches for a precision of 1",
              file);
}

static void put_scaling(FILE *file, const struct text_findings *findings)
{
    const struct confidence *by = &findings->fitted.by;
    if (by->scale > 0)
        fprintf(file, "scale %.4g, shift %.4g", (double)by->scale, (double)by->shift);
    else
        fputs("none: right texts are not more probable than wrong ones, or one of both is missing",
              file);
}

static void print_confidence(FILE *file, const struct text_findings *findings)
{
    fputs("\n  confidence                           ECE   automatic  right of these\n", file);
    print_decisions(file, "as served", &findings->served);
    print_decisions(file, "fitted on these inputs", &findings->fitted);
    if (findings->has_crossed)
        print_decisions(file, "fitted on other inputs (5 folds)", &findings->crossed);
    fputs("scaling     ", file);
    put_scaling(file, findings);
    fputs("\nthreshold   ", file);
    put_threshold(file, findings);
    fputc('\n', file);
}

static void print(const struct task_report *report, FILE *file)
{
    const struct writing_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const struct text_scores *scores = &assessment->scores;
    const struct text_intervals *intervals = &assessment->intervals;
    fprintf(file, "model       %s, %s\n", report->model_dir,
            engine_describe(assessment->model)->dtype);
    fprintf(file, "inputs      %zu, of which %zu failed and %zu are longer than the model reads\n",
            evaluation->count, evaluation->failed, assessment->truncated);
    task_report_problems(file, evaluation, assessment->dataset);
    if (assessment->unwritten > 0)
        fprintf(file, "no text     %zu inputs: none obeys the rules; the empty text counts\n",
                assessment->unwritten);
    print_figure(file, "exact", 100 * scores->exact, percent(intervals->exact), 2, "%");
    print_figure(file, "edits", scores->edit_distance, intervals->edit_distance, 3, "a text");
    print_figure(file, "error rate", 100 * scores->error_rate, percent(intervals->error_rate), 2,
                 "% of the right texts' characters");
    print_figure(file, "chrF", scores->chrf, intervals->chrf, 2, TEXT_SCORES_CHRF);
    print_figure(file, "BLEU", scores->bleu, intervals->bleu, 2, TEXT_SCORES_BLEU);
    print_confidence(file, &assessment->findings);
    print_mistakes(assessment, file);
}

/* ---- JSON ---- */

static json_t *mistakes_of(const struct writing_assessment *assessment)
{
    json_t *array = json_array();
    for (unsigned m = 0; m < assessment->mistake_count && array != NULL; m++) {
        const struct writing_mistake *mistake = &assessment->mistakes[m];
        const struct dataset_item *item = &assessment->dataset->items[mistake->item];
        json_t *row = json_pack("{s:s, s:s%, s:s, s:I}", "input", UTF8_SHOWN(item->name), "output",
                                mistake->written, mistake->len, "target", item->label, "edits",
                                (json_int_t)mistake->edits);
        array = report_json_append(array, row);
    }
    return array;
}

/* "name": value, "name_interval": [low, high]. */
static json_t *figure_of(const char *name, double value, struct interval interval)
{
    char interval_name[64];
    snprintf(interval_name, sizeof interval_name, "%s_interval", name);
    return json_pack("{s:o, s:[o, o]}", name, report_json_real(value), interval_name,
                     report_json_real(interval.low), report_json_real(interval.high));
}

static json_t *figures_of(const struct text_figures *figures)
{
    const struct selective_decisions *decisions = &figures->decisions;
    return json_pack("{s:f, s:I, s:I, s:I}", "ece", figures->ece, "inputs",
                     (json_int_t)decisions->count, "auto", (json_int_t)decisions->automatic,
                     "auto_right", (json_int_t)decisions->right);
}

/* null for a threshold that no confidence reaches, and for a scaling that is none. */
static json_t *confidence_of(const struct text_findings *findings)
{
    const struct selective_threshold *threshold = &findings->threshold;
    const struct confidence *by = &findings->fitted.by;
    return json_pack(
        "{s:f, s:o, s:o, s:o, s:o, s:o}", "target_precision", findings->target_precision,
        "threshold", threshold->reachable ? json_real((double)threshold->score) : json_null(),
        "scaling",
        by->scale > 0
            ? json_pack("{s:f, s:f}", "scale", (double)by->scale, "shift", (double)by->shift)
            : json_null(),
        "served", figures_of(&findings->served), "fitted", figures_of(&findings->fitted),
        "cross_fitted", findings->has_crossed ? figures_of(&findings->crossed) : json_null());
}

static json_t *json_of(const struct task_report *report)
{
    const struct writing_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const struct text_scores *scores = &assessment->scores;
    const struct text_intervals *intervals = &assessment->intervals;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "task", "seq2seq", "model",
        UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(assessment->data_path), "inputs",
        (json_int_t)evaluation->count, "failed", (json_int_t)evaluation->failed, "truncated",
        (json_int_t)assessment->truncated, "unwritten", (json_int_t)assessment->unwritten);
    if (report_json_add(object, figure_of("exact", scores->exact, intervals->exact)) &&
        report_json_add(
            object, figure_of("edit_distance", scores->edit_distance, intervals->edit_distance)) &&
        report_json_add(object,
                        figure_of("error_rate", scores->error_rate, intervals->error_rate)) &&
        report_json_add(object, figure_of("chrf", scores->chrf, intervals->chrf)) &&
        report_json_add(object, figure_of("bleu", scores->bleu, intervals->bleu)) &&
        report_json_add(object, json_pack("{s:s, s:s, s:o, s:o}", "chrf_signature",
                                          TEXT_SCORES_CHRF, "bleu_signature", TEXT_SCORES_BLEU,
                                          "confidence", confidence_of(&assessment->findings),
                                          "mistakes", mistakes_of(assessment))))
        return object;
    json_decref(object);
    return NULL;
}

/* ---- page ---- */

static void put_tile(FILE *file, const char *name, double value, struct interval interval,
                     const char *note)
{
    fprintf(file,
            "<div><dt>%s</dt><dd class=\"value\">%.2f</dd><dd class=\"note\">%.2f to %.2f, "
            "%s</dd></div>\n",
            name, value, interval.low, interval.high, note);
}

static void put_tiles(FILE *file, const struct text_scores *scores,
                      const struct text_intervals *intervals)
{
    fputs("<dl class=\"tiles\">\n", file);
    put_tile(file, "exact, %", 100 * scores->exact, percent(intervals->exact),
             "the right text to the last character");
    put_tile(file, "error rate, %", 100 * scores->error_rate, percent(intervals->error_rate),
             "edits by the right texts&#39; characters");
    put_tile(file, "edits a text", scores->edit_distance, intervals->edit_distance,
             "characters put in, taken out or replaced");
    put_tile(file, "chrF", scores->chrf, intervals->chrf, TEXT_SCORES_CHRF);
    put_tile(file, "BLEU", scores->bleu, intervals->bleu, TEXT_SCORES_BLEU);
    fputs("</dl>\n", file);
}

static void put_decisions(FILE *file, const char *name, const struct text_figures *figures)
{
    const struct selective_decisions *decisions = &figures->decisions;
    fprintf(file, "<tr><th scope=\"row\">%s</th><td>%.4f</td><td>%.2f %%</td>", name, figures->ece,
            report_percent(decisions->automatic, decisions->count));
    if (decisions->automatic > 0)
        fprintf(file, "<td>%.2f %%</td></tr>\n",
                report_percent(decisions->right, decisions->automatic));
    else
        fputs("<td class=\"muted\">none</td></tr>\n", file);
}

static void put_confidence(FILE *file, const struct text_findings *findings)
{
    report_page_section(file, "Confidence",
                        "A text is right if it is the wanted one to the last character.");
    fputs("<div class=\"scroll\"><table><thead><tr><th>confidence</th><th>ECE</th>"
          "<th>automatic</th><th>right among them</th></tr></thead><tbody>\n",
          file);
    put_decisions(file, "as served", &findings->served);
    put_decisions(file, "fitted on these inputs", &findings->fitted);
    if (findings->has_crossed)
        put_decisions(file, "fitted on other inputs (5 folds)", &findings->crossed);
    fputs("</tbody></table></div>\n<p>Scaling: ", file);
    put_scaling(file, findings);
    fputs(". Threshold: ", file);
    put_threshold(file, findings);
    fputs(".</p>\n", file);
    report_page_end_section(file);
}

static void put_mistake(FILE *file, const struct writing_assessment *assessment,
                        const struct writing_mistake *mistake)
{
    const struct dataset_item *item = &assessment->dataset->items[mistake->item];
    fputs("<div class=\"mistake\"><h3>", file);
    html_text(file, item->name);
    fprintf(file, ": %zu edits</h3><ul class=\"inputs\">\n<li>written ", mistake->edits);
    html_text_bytes(file, mistake->written, mistake->len);
    fputs("</li>\n<li>right ", file);
    html_text(file, item->label);
    fputs("</li></ul></div>\n", file);
}

static void print_page(const struct task_report *report, FILE *file)
{
    const struct writing_assessment *assessment = report->of;
    report_page_open(file, report->model_dir, "texts", "");
    fputs("<h1>", file);
    html_text(file, report->model_dir);
    fputs("</h1>\n<ul class=\"meta\"><li>", file);
    html_text(file, assessment->data_path);
    fprintf(file,
            "</li><li>%zu inputs, %zu failed</li><li>%zu longer than the model reads</li>"
            "<li>%zu without a text that obeys the rules</li></ul>\n",
            assessment->evaluation.count, assessment->evaluation.failed, assessment->truncated,
            assessment->unwritten);
    put_tiles(file, &assessment->scores, &assessment->intervals);
    put_confidence(file, &assessment->findings);
    if (assessment->mistake_count > 0) {
        report_page_section(file, "Mistakes", "The first texts that are not the right ones.");
        for (unsigned m = 0; m < assessment->mistake_count; m++)
            put_mistake(file, assessment, &assessment->mistakes[m]);
        report_page_end_section(file);
    }
    fputs("</body></html>\n", file);
}

const struct task_report_kind task_report_texts = {
    .print = print, .json = json_of, .page = print_page};
