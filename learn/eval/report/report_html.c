/* report_html.c - see report.h: writes the page. First come a manager's questions (how good, how
 * certain, how much is automatic), then an engineer's (which class, confused with which,
 * calibration, mistakes). The page is one file with style and images inside, without scripts, and
 * loads nothing. Everything that comes from a checkpoint or from data goes through html_text. */
#include "learn/eval/report/chart.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/html_image.h"
#include "learn/eval/report/report.h"
#include "learn/eval/report/report_expected.h"

#include "learn/eval/report/report_page.h"
#include "learn/eval/report/report_remarks.h"
#include "learn/eval/report/report_sizes.h"
#include "learn/eval/report/report_strange.h"
#include "learn/eval/report/report_tables.h"

#include <string.h>

enum { TEXT_LINES_MAX = 6, LINE_CHARACTERS_MAX = 160 }; /* of a mistake */

/* ---- top ---- */

static void item(FILE *file, const char *name, const char *text)
{
    fprintf(file, "<li>%s ", name);
    html_text(file, text);
    fputs("</li>", file);
}

static void title(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct evaluation *evaluation = report->run.evaluation;
    fputs("<header><h1>", file);
    html_text(file, report_model_name(report));
    fputs("</h1>\n<ul class=\"meta\">", file);
    item(file, "data", report->data_path);
    item(file, "family", info->family);
    item(file, "precision", report->run.dtype);
    item(file, "backend", report->run.linear_backend);
    fprintf(file, "<li>%zu inputs", evaluation->count);
    if (evaluation->failed > 0)
        fprintf(file, ", %zu failed", evaluation->failed);
    fprintf(file, "</li><li>%.1f inputs/s on %u threads</li></ul>\n",
            report_inputs_per_second(&report->run), report->threads);
}

static void tile(FILE *file, const char *name, const char *value, const char *note)
{
    fprintf(file, "<div><dt>%s</dt><dd class=\"value\">%s</dd><dd class=\"note\">%s</dd></div>\n",
            name, value, note);
}

/* Writes how the model will decide; for a model with thresholds, its decisions on these inputs. */
static void decisions_tile(const struct selective_decisions *decisions, FILE *file)
{
    char value[32], note[96];
    snprintf(value, sizeof value, "%.1f&nbsp;%%",
             report_percent(decisions->automatic, decisions->count));
    snprintf(note, sizeof note, "%.1f&nbsp;%% review, %.1f&nbsp;%% unknown; %zu of %zu right",
             report_percent(decisions->review, decisions->count),
             report_percent(decisions->unknown, decisions->count), decisions->right,
             decisions->automatic);
    tile(file, "Automatic as it is served", value, note);
}

static void precision_tile(const struct findings *findings, FILE *file)
{
    char name[96], value[32], note[96];
    snprintf(name, sizeof name, "Automatic at %.4g&nbsp;%% precision",
             100 * findings->target_precision);
    snprintf(value, sizeof value, "%.1f&nbsp;%%", 100 * findings->curve.coverage);
    if (findings->curve.coverage > 0)
        snprintf(note, sizeof note, "scores from %.4f", (double)findings->curve.threshold);
    else
        snprintf(note, sizeof note, "no score is precise enough");
    tile(file, name, value, note);
}

static void tiles(const struct report *report, FILE *file)
{
    const struct findings *findings = report->findings;
    const struct confusion *confusion = report->run.confusion;
    char value[32], note[96];
    fputs("<dl class=\"tiles\">\n", file);
    snprintf(value, sizeof value, "%.2f&nbsp;%%", 100 * confusion->accuracy);
    snprintf(note, sizeof note, "%.2f to %.2f (95&nbsp;%% interval)", 100 * findings->accuracy.low,
             100 * findings->accuracy.high);
    tile(file, "Accuracy", value, note);
    snprintf(value, sizeof value, "%.4f", confusion->macro_f1);
    snprintf(note, sizeof note, "%.4f to %.4f, %u classes", findings->macro_f1.low,
             findings->macro_f1.high, confusion->macro_classes);
    tile(file, "Macro-F1", value, note);
    snprintf(value, sizeof value, "%.4f", findings->served.ece);
    if (findings->has_crossed)
        snprintf(note, sizeof note, "%.4f with a temperature of %.3f", findings->crossed.ece,
                 findings->crossed.temperature);
    else
        snprintf(note, sizeof note, "too few inputs to calibrate");
    tile(file, "Calibration error of scores", value, note);
    if (report->served != NULL && report->decisions != NULL)
        decisions_tile(report->decisions, file);
    else
        precision_tile(findings, file);
    fputs("</dl></header>\n\n", file);
}

/* ---- sections ---- */

static void classes(const struct report *report, FILE *file)
{
    char about[400];
    if (report->served != NULL)
        snprintf(about, sizeof about,
                 "Intervals are at 95&nbsp;%%: Wilson's for shares, a bootstrap over inputs for "
                 "F1. <em>Automatic from</em> is the score from which on the model answers with "
                 "this class by itself; <em>review</em>: it never does.");
    else
        snprintf(
            about, sizeof about,
            "Intervals are at 95&nbsp;%%: Wilson's for shares, a bootstrap over inputs for F1. "
            "<em>Automatic from</em> is the lowest score from which on answers of this class are "
            "%.4g&nbsp;%% pure, with 90&nbsp;%% certainty, at a temperature of %.3f; "
            "<em>review</em>: these inputs cannot vouch for it at any score.",
            100 * report->findings->target_precision, report->findings->fitted.temperature);
    report_page_section(file, "Classes", about);
    report_tables_classes(report, file);
    report_page_end_section(file);
}

static enum err_code confusion(const struct report *report, FILE *file, struct err *err)
{
    if (engine_describe(report->model)->label_count <= REPORT_TABLES_LABELS_MAX) {
        report_page_section(
            file, "Confusion",
            "Rows are the true class, columns the answer; shades are shares of the row.");
        report_tables_matrix(report, file);
    } else {
        report_page_section(file, "Most frequent confusions",
                            "The whole matrix is in the JSON form of this report.");
        report_tables_confusions(report, file, err);
    }
    report_page_end_section(file);
    return err->code;
}

static void reliability_figure(FILE *file, const struct findings_figures *figures, const char *name)
{
    fprintf(file, "<figure><h3>%s</h3>", name);
    chart_reliability(file, figures, name);
    fprintf(file, "<figcaption>ECE %.4f at a temperature of %.3f</figcaption></figure>\n",
            figures->ece, figures->temperature);
}

static void calibration(const struct report *report, FILE *file)
{
    const struct findings *findings = report->findings;
    report_page_section(
        file, "Do scores mean what they say?",
        "Of answers with a score of 0.9, nine in ten should be right: lines on the diagonal. "
        "Grey bars tell where the answers are. Figures on the inputs that a temperature was "
        "fitted on flatter; those from five folds are what new inputs may expect.");
    fputs("<div class=\"charts\">\n", file);
    reliability_figure(file, &findings->served, "As served");
    if (findings->has_crossed)
        reliability_figure(file, &findings->crossed, "With a temperature from other inputs");
    else
        reliability_figure(file, &findings->fitted, "With a temperature from these inputs");
    fputs("</div>\n", file);
    report_tables_calibration(report, file);
    report_page_end_section(file);
}

static void remark(void *context, const char *text)
{
    fputs("<p>", context);
    html_text(context, text);
    fputs(".</p>\n", context);
}

static enum err_code automation(const struct report *report, FILE *file, struct err *err)
{
    const struct findings *findings = report->findings;
    char about[300];
    snprintf(about, sizeof about,
             "Answers below a score go to a person. The target is %.4g&nbsp;%% right among those "
             "that do not. Rows chosen on other inputs (five folds) tell what to expect of new "
             "ones.",
             100 * findings->target_precision);
    report_page_section(file, "How much can go out without a person?", about);
    fputs("<div class=\"charts\"><figure>", file);
    chart_risk(file, &findings->curve, findings->target_precision);
    fprintf(file, "<figcaption>Area under the curve %.4f</figcaption></figure></div>\n",
            findings->curve.aurc);
    report_tables_decisions(report, file);
    report_remarks_each(report, remark, file, err);
    report_page_end_section(file);
    return err->code;
}

static void training(const struct report *report, FILE *file)
{
    if (report->epoch_count == 0)
        return;
    report_page_section(file, "Training", "Solid: validation. Dashed: training.");
    fputs("<div class=\"charts\">\n", file);
    chart_learning(file, report->epochs, report->epoch_count);
    fputs("</div>\n<details><summary>All epochs</summary>\n", file);
    report_tables_epochs(report, file);
    fputs("</details>\n", file);
    report_page_end_section(file);
}

/* Writes an image (at most 128 pixels a side, a PNG inside the page) or the first lines of a text.
 * An image that can no longer be read is only named. */
static enum err_code show_mistake(const struct report *report, const struct verdict *mistake,
                                  struct pictures *pictures, FILE *file, struct err *err)
{
    static const struct html_excerpt excerpt = {TEXT_LINES_MAX, LINE_CHARACTERS_MAX};
    const struct engine_info *info = engine_describe(report->model);
    const struct dataset_item *input = &report->dataset->items[mistake->item];
    struct err unreadable = {0};
    struct html_image shown;
    fputs("<figure>", file);
    if (report->dataset->kind == ENGINE_IMAGE)
        html_image(file, pictures, input->input, &shown, &unreadable);
    fputs("<figcaption class=\"mistake\"><b>", file);
    html_text(file, info->labels[mistake->label]);
    fprintf(file, "</b> %.3f, is <b>", (double)mistake->score);
    html_text(file, info->labels[report->classes[mistake->item]]);
    fputs("</b><br>", file);
    html_text(file, input->name);
    fputs("</figcaption>", file);
    if (report->dataset->kind == ENGINE_TEXT) {
        fputs("<pre>", file);
        html_excerpt(file, input->input, input->input_len, &excerpt);
        if (input->pair != NULL) {
            fputs("&#8213;&#8213;&#8213;\n", file);
            html_excerpt(file, input->pair, input->pair_len, &excerpt);
        }
        fputs("</pre>", file);
    }
    fputs("</figure>\n", file);
    if (err_is_of_system(unreadable.code))
        return err_set(err, unreadable.code, "%s", unreadable.text);
    return ERR_OK;
}

static enum err_code mistakes(const struct report *report, FILE *file, struct err *err)
{
    const struct findings *findings = report->findings;
    bool images = report->dataset->kind == ENGINE_IMAGE;
    unsigned count = findings->mistake_count, most = images ? FINDINGS_MISTAKES_MAX : 12;
    struct pictures pictures = {0};
    if (count == 0)
        return ERR_OK;
    report_page_section(
        file, "The surest mistakes",
        "Wrong answers with the highest scores. Look for labels that are wrong themselves.");
    fprintf(file, "<div class=\"%s\">\n", images ? "images" : "texts");
    for (unsigned i = 0; i < count && i < most && err->code == ERR_OK; i++)
        show_mistake(report, &findings->mistakes[i], &pictures, file, err);
    pictures_close(&pictures);
    fputs("</div>\n", file);
    report_page_end_section(file);
    return err->code;
}

static void failures(const struct report *report, FILE *file)
{
    const struct evaluation *evaluation = report->run.evaluation;
    size_t shown = 0;
    if (evaluation->failed == 0)
        return;
    report_page_section(file, "Inputs that failed", "They count nowhere else.");
    fputs("<ul class=\"inputs\">\n", file);
    for (size_t i = 0; i < evaluation->count && shown < REPORT_INPUTS_MAX; i++) {
        if (evaluation->problems[i] == NULL)
            continue;
        fputs("<li>", file);
        html_text(file, report->dataset->items[i].name);
        fputs(": ", file);
        html_text(file, evaluation->problems[i]);
        fputs("</li>\n", file);
        shown++;
    }
    if (evaluation->failed > shown)
        fprintf(file, "<li>and %zu more</li>\n", evaluation->failed - shown);
    fputs("</ul>\n", file);
    report_page_end_section(file);
}

static void agreement(const struct report *report, FILE *file)
{
    char about[200];
    if (report->against.evaluation == NULL)
        return;
    snprintf(about, sizeof about,
             "The same winner for %.3f&nbsp;%% of inputs (%zu of %zu); logits differ by at most "
             "%.4g.",
             100 * report->agreement->share, report->agreement->equal, report->agreement->compared,
             report->agreement->logit_difference_max);
    report_page_section(file, "A second precision", about);
    report_tables_agreement(report, file);
    report_page_end_section(file);
}

static void change(const struct report *report, FILE *file)
{
    if (report->change == NULL)
        return;
    report_page_section(file, "Before and after",
                        "The model that this one was made from, and this one, on the same inputs. "
                        "F1 of each class; a line is the 95&nbsp;% interval.");
    report_tables_change(report, file);
    report_page_end_section(file);
}

enum err_code report_print_html(const struct report *report, FILE *file, struct err *err)
{
    report_page_open(file, report_model_name(report), "evaluation", "");
    title(report, file);
    tiles(report, file);
    change(report, file);
    classes(report, file);
    if (confusion(report, file, err))
        return err->code;
    report_sizes_html(report, file);
    report_expected_html(report, file);
    calibration(report, file);
    if (automation(report, file, err))
        return err->code;
    report_strange_html(report, file);
    training(report, file);
    if (mistakes(report, file, err))
        return err->code;
    failures(report, file);
    agreement(report, file);
    fprintf(file, "<p class=\"foot\">attnd %s</p>\n</body></html>\n", ATTND_VERSION);
    if (fflush(file) != 0 || ferror(file))
        return err_set(err, ERR_IO, "the page cannot be written");
    return ERR_OK;
}
