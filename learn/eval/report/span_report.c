#include "learn/eval/report/task_report.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/report_json_parts.h"
#include "learn/eval/report/report_page.h"

#include <jansson.h>

enum { MISTAKES_SHOWN = 8, SPANS_SHOWN = 12 };

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

static void print(const struct task_report *report, FILE *file)
{
    const struct span_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    fprintf(file, "model      %s, %s\n", report->model_dir,
            engine_describe(assessment->model)->dtype);
    fprintf(file, "texts      %zu, of which %zu failed and %zu are longer than the model reads\n",
            evaluation->count, evaluation->failed, assessment->truncated);
    task_report_problems(file, evaluation, assessment->dataset);
    fprintf(file, "exact      %zu texts have the wanted spans and no others\n", assessment->exact);
    fprintf(file, "tokens     %zu, of which %zu have the right tag\n", assessment->tokens,
            assessment->tokens_right);
    if (assessment->misfits > 0)
        fprintf(file,
                "misfits    %zu spans do not begin and end where tokens do, and cannot be answered "
                "(the first: %s)\n",
                assessment->misfits, assessment->dataset->items[assessment->first_misfit].name);
    const struct span_counts *counts = &assessment->counts;
    fputs("\nprecision    recall        F1    wanted  answered  label\n", file);
    for (unsigned k = 0; k < counts->labels; k++)
        if (counts->each[k].wanted + counts->each[k].answered > 0)
            print_row(&counts->each[k].rates, &counts->each[k], assessment->set.name[k], file);
    print_row(&counts->micro.rates, &counts->micro, "(micro: all spans)", file);
    print_row(&counts->macro, NULL, "(macro: the mean of the labels)", file);
    for (unsigned m = 0; m < assessment->mistake_count && m < MISTAKES_SHOWN; m++) {
        const struct span_mistake *mistake = &assessment->mistakes[m];
        fprintf(file, "%s%s: %zu spans wrong, %zu missed\n",
                m == 0 ? "\nmistakes, the first\n" : "",
                assessment->dataset->items[mistake->item].name, mistake->wrong, mistake->missed);
    }
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
        if (count->wanted + count->answered > 0)
            object = report_json_put(object, assessment->set.name[k], count_of(count));
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
        array = report_json_append(array, row);
    }
    return array;
}

static json_t *report_of(const struct task_report *report)
{
    const struct span_assessment *assessment = report->of;
    const struct evaluation *evaluation = &assessment->evaluation;
    const double tokens = (double)(assessment->tokens > 0 ? assessment->tokens : 1);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "task", "tag", "model",
        UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(assessment->data_path), "texts",
        (json_int_t)evaluation->count, "failed", (json_int_t)evaluation->failed, "truncated",
        (json_int_t)assessment->truncated, "exact", (json_int_t)assessment->exact, "misfits",
        (json_int_t)assessment->misfits, "token_accuracy",
        (double)assessment->tokens_right / tokens, "span_f1", assessment->counts.micro.rates.f1);
    json_t *parts = json_pack("{s:o, s:o, s:o, s:o}", "micro", count_of(&assessment->counts.micro),
                              "macro", rates_of(&assessment->counts.macro), "labels",
                              labels_of(assessment), "mistakes", mistakes_of(assessment));
    return task_report_json(object, parts, report, "span_f1");
}

/* ---- page ---- */

static void put_tile(FILE *file, const char *name, double value, const char *note)
{
    fprintf(file, "<div><dt>%s</dt><dd class=\"value\">%.4f</dd><dd class=\"note\">%s</dd></div>\n",
            name, value, note);
}

static void put_rates(FILE *file, const char *name, const struct span_rates *rates,
                      const struct span_count *count)
{
    fputs("<tr><th scope=\"row\">", file);
    html_text(file, name);
    fprintf(file, "</th><td>%.4f</td><td>%.4f</td><td>%.4f</td>", rates->precision, rates->recall,
            rates->f1);
    if (count != NULL)
        fprintf(file, "<td>%zu</td><td>%zu</td>", count->wanted, count->answered);
    fputs("</tr>\n", file);
}

static void put_labels(FILE *file, const struct span_assessment *assessment)
{
    const struct span_counts *counts = &assessment->counts;
    report_page_section(file, "Labels",
                        "A span is right if a wanted one has the same label, start and end.");
    fputs("<div class=\"scroll\"><table><thead><tr><th>label</th><th>precision</th><th>recall</th>"
          "<th>F1</th><th>wanted</th><th>answered</th></tr></thead><tbody>\n",
          file);
    for (unsigned k = 0; k < counts->labels; k++)
        if (counts->each[k].wanted + counts->each[k].answered > 0)
            put_rates(file, assessment->set.name[k], &counts->each[k].rates, &counts->each[k]);
    put_rates(file, "all spans (micro)", &counts->micro.rates, &counts->micro);
    put_rates(file, "mean of the labels (macro)", &counts->macro, NULL);
    fputs("</tbody></table></div>\n", file);
    report_page_end_section(file);
}

/* Bytes of the text's first characters. */
static size_t bytes_of(const struct dataset_item *item, uint32_t characters)
{
    size_t at = 0;
    while (characters-- > 0 && at < item->input_len)
        utf8_decode(item->input, &at);
    return at;
}

static void put_span(FILE *file, const struct dataset_item *item, const char *what,
                     const char *label, const struct span_key *span)
{
    const size_t start = bytes_of(item, span->start), end = bytes_of(item, span->end);
    fprintf(file, "<li>%s <b>", what);
    html_text(file, label);
    fprintf(file, "</b> at %u: ", span->start);
    html_text_bytes(file, item->input + start, end - start);
    fputs("</li>\n", file);
}

static bool holds(const struct span_key *spans, size_t count, const struct span_key *span)
{
    for (size_t i = 0; i < count; i++)
        if (spans[i].label == span->label && spans[i].start == span->start &&
            spans[i].end == span->end)
            return true;
    return false;
}

/* The wanted spans that were not answered, and the answered ones that are not wanted. */
static void put_mistake(FILE *file, const struct span_assessment *assessment,
                        const struct span_mistake *mistake)
{
    const struct dataset_item *item = &assessment->dataset->items[mistake->item];
    const struct tag_set *set = &assessment->set;
    size_t shown = 0;
    fputs("<div class=\"mistake\"><h3>", file);
    html_text(file, item->name);
    fprintf(file, ": %zu wrong, %zu missed</h3><ul class=\"inputs\">\n", mistake->wrong,
            mistake->missed);
    for (unsigned s = 0; s < item->span_count && shown < SPANS_SHOWN; s++) {
        const struct span_key wanted = {.label = tag_set_find(set, item->spans[s].label),
                                        .start = item->spans[s].start,
                                        .end = item->spans[s].end};
        if (holds(mistake->answered, mistake->answered_count, &wanted))
            continue;
        put_span(file, item, "missed", item->spans[s].label, &wanted);
        shown++;
    }
    for (size_t a = 0, wrong = 0; a < mistake->answered_count && wrong < SPANS_SHOWN; a++) {
        const struct span_key *span = &mistake->answered[a];
        bool is_right = false;
        for (unsigned s = 0; s < item->span_count && !is_right; s++)
            is_right = span->label == tag_set_find(set, item->spans[s].label) &&
                       span->start == item->spans[s].start && span->end == item->spans[s].end;
        if (is_right)
            continue;
        put_span(file, item, "wrong", set->name[span->label], span);
        wrong++;
    }
    fputs("</ul></div>\n", file);
}

static void print_page(const struct task_report *report, FILE *file)
{
    const struct span_assessment *assessment = report->of;
    const size_t count = assessment->evaluation.count;
    report_page_open(file, report->model_dir, "spans", "");
    fputs("<h1>", file);
    html_text(file, report->model_dir);
    fputs("</h1>\n<ul class=\"meta\"><li>", file);
    html_text(file, assessment->data_path);
    fprintf(file,
            "</li><li>%zu texts, %zu failed</li><li>%zu longer than the model reads</li></ul>\n",
            count, assessment->evaluation.failed, assessment->truncated);
    fputs("<dl class=\"tiles\">\n", file);
    put_tile(file, "F1 of spans", assessment->counts.micro.rates.f1, "all spans together");
    put_tile(file, "macro-F1", assessment->counts.macro.f1, "mean of the labels");
    put_tile(file, "exact texts", (double)assessment->exact / (double)count,
             "the wanted spans and no others");
    put_tile(file, "tokens",
             (double)assessment->tokens_right /
                 (double)(assessment->tokens > 0 ? assessment->tokens : 1),
             "with the right tag");
    fputs("</dl>\n", file);
    put_labels(file, assessment);
    if (assessment->mistake_count > 0) {
        report_page_section(file, "Mistakes", "The first texts whose spans are not all right.");
        for (unsigned m = 0; m < assessment->mistake_count; m++)
            put_mistake(file, assessment, &assessment->mistakes[m]);
        report_page_end_section(file);
    }
    fputs("</body></html>\n", file);
}

const struct task_report_kind task_report_spans = {
    .print = print, .json = report_of, .page = print_page};
