/* explanations_html.c - see explanations_report.h: writes the page. First comes the table that
 * compares methods, then their curves, the figures of each class and the explanations themselves.
 * The style is the report's, with additions for stacks of images. */
#include "engine/base/utf8.h"
#include "engine/embed.h"
#include "learn/eval/report/chart.h"
#include "learn/eval/report/explanations_report.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/html_image.h"
#include "learn/eval/report/report_page.h"

#include <math.h>
#include <stdlib.h>

enum { TEXTS_MAX = 5 };

EMBED(explanations_style, "learn/eval/report/explanations_html.css")

/* ---- tables ---- */

static void put_figure(FILE *file, const struct explanations_figure *figure)
{
    fprintf(file, "<td>%.3f", figure->mean);
    if (isfinite(figure->interval.low))
        fprintf(file, "<br><span class=\"range\">%.3f to %.3f</span>", figure->interval.low,
                figure->interval.high);
    fputs("</td>", file);
}

static enum err_code put_table(const struct explanations *explanations, unsigned over,
                               enum score_scale scale, FILE *file, struct err *err)
{
    struct explanations_figures figures;
    fputs("<div class=\"scroll\"><table class=\"wide\"><thead><tr><th scope=\"col\">method</th>"
          "<th scope=\"col\">deletion (lower is better)</th>"
          "<th scope=\"col\">insertion (higher)</th><th scope=\"col\">insertion - deletion</th>"
          "<th scope=\"col\">more than random's</th><th scope=\"col\">ms after it</th></tr>"
          "</thead><tbody>\n",
          file);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (explanations_figures(explanations, method, over, scale, &figures, err))
            return err->code;
        fprintf(file, "<tr><th scope=\"row\">%s</th>", explanations_method_name(method));
        put_figure(file, &figures.deletion);
        put_figure(file, &figures.insertion);
        put_figure(file, &figures.difference);
        put_figure(file, &figures.gain);
        fprintf(file, "<td>%.2f</td></tr>\n",
                explanations_mean_ms(explanations, explanations->ms[method]));
    }
    fputs("</tbody></table></div>\n", file);
    return ERR_OK;
}

static enum err_code put_more(const struct explanations *explanations, const char *summary,
                              unsigned over, enum score_scale scale, FILE *file, struct err *err)
{
    fprintf(file, "<details><summary>%s</summary>\n", summary);
    if (put_table(explanations, over, scale, file, err))
        return err->code;
    fputs("</details>\n", file);
    return ERR_OK;
}

static enum err_code put_methods(const struct explanations *explanations, FILE *file,
                                 struct err *err)
{
    report_page_section(
        file, "Methods",
        "Parts of an input are ranked by relevance. Deletion removes the most relevant first: "
        "the score of the class that won should fall early, and the area under the curve be "
        "small. Insertion adds them to the empty input: the area should be large. Random ranks "
        "by chance; occlusion removes each part alone, one run of the model for each. "
        "Intervals are at 95&nbsp;%, over inputs; the last pair is measured input by input.");
    if (put_table(explanations, EXPLANATIONS_ALL, SCORE_PROBABILITY, file, err) ||
        put_more(explanations, "Of inputs that the model got right", EXPLANATIONS_RIGHT,
                 SCORE_PROBABILITY, file, err) ||
        put_more(explanations, "In log-odds, which do not saturate", EXPLANATIONS_ALL,
                 SCORE_LOG_ODDS, file, err))
        return err->code;
    report_page_end_section(file);
    return ERR_OK;
}

static enum err_code put_class(const struct explanations *explanations, unsigned label, FILE *file,
                               struct err *err)
{
    const struct engine_info *info = engine_describe(explanations->source.model);
    struct explanations_figures figures;
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (explanations_figures(explanations, method, EXPLANATIONS_CLASS + label,
                                 SCORE_PROBABILITY, &figures, err) ||
            figures.count == 0)
            return err->code;
        if (method == 0) {
            fputs("<tr><th scope=\"row\">", file);
            html_text(file, info->labels[label]);
            fprintf(file, "</th><td>%zu</td>", figures.count);
        }
        fprintf(file, "<td>%.3f</td>", figures.difference.mean);
    }
    fputs("</tr>\n", file);
    return ERR_OK;
}

static enum err_code put_classes(const struct explanations *explanations, FILE *file,
                                 struct err *err)
{
    unsigned labels = engine_describe(explanations->source.model)->label_count;
    report_page_section(
        file, "Classes",
        "Insertion minus deletion. A class that stands for the absence of something shows "
        "little: no part of the input speaks for it alone.");
    fputs("<div class=\"scroll\"><table class=\"wide\"><thead><tr><th scope=\"col\">class</th>"
          "<th scope=\"col\">inputs</th>",
          file);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        fprintf(file, "<th scope=\"col\">%s</th>", explanations_method_name(method));
    fputs("</tr></thead><tbody>\n", file);
    for (unsigned label = 0; label < labels; label++)
        if (put_class(explanations, label, file, err))
            return err->code;
    fputs("</tbody></table></div>\n", file);
    report_page_end_section(file);
    return ERR_OK;
}

static enum err_code put_places(const struct explanations *explanations, FILE *file,
                                struct err *err)
{
    struct explanations_figures figures;
    double marked;
    size_t masked = explanations_masked(explanations, &marked);
    if (masked == 0)
        return ERR_OK;
    report_page_section(
        file, "Places",
        "Of inputs whose defect is marked and that the model got right: does the most relevant "
        "patch touch it, and how well do as many of the most relevant patches as it has "
        "coincide with its own (intersection over union)?");
    fputs("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">method</th>"
          "<th scope=\"col\">points to it</th><th scope=\"col\">IoU</th></tr></thead><tbody>\n",
          file);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (explanations_figures(explanations, method, EXPLANATIONS_MASKED, SCORE_PROBABILITY,
                                 &figures, err))
            return err->code;
        fprintf(file, "<tr><th scope=\"row\">%s</th>", explanations_method_name(method));
        put_figure(file, &figures.points);
        put_figure(file, &figures.iou);
        fputs("</tr>\n", file);
    }
    fprintf(file,
            "</tbody></table></div>\n<p class=\"about\">%zu inputs have a mask, %zu of them right; "
            "masks have %.1f&nbsp;%% of their patches.</p>\n",
            masked, figures.count, 100 * marked);
    report_page_end_section(file);
    return ERR_OK;
}

/* ---- curves ---- */

static void draw(const struct chart *chart, const char *class, const struct score *sums,
                 size_t count, const char *note)
{
    struct chart_point line[FAITHFULNESS_POINTS];
    for (unsigned p = 0; p < FAITHFULNESS_POINTS; p++)
        line[p] = (struct chart_point){100.0 * p / FAITHFULNESS_STEPS,
                                       sums[p].on[SCORE_PROBABILITY] / (double)count};
    chart_line(chart, class, line, FAITHFULNESS_POINTS);
    if (note != NULL)
        chart_note(chart, line[FAITHFULNESS_STEPS / 4], note);
}

static void put_curves(const struct explanations *explanations, FILE *file)
{
    const struct faithfulness_curves *random = &explanations->curves[METHOD_RANDOM];
    report_page_section(
        file, "Curves",
        "The mean score of the class that won on the whole input, over the share of parts "
        "removed (deletion) or added (insertion). Dashed: the same in random order.");
    fputs("<div class=\"charts\">\n", file);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS && explanations->count > 0; method++) {
        const struct faithfulness_curves *curves = &explanations->curves[method];
        struct chart chart = {.file = file, .x = {0, 100}, .y = {0, 1}};
        if (method == METHOD_RANDOM)
            continue;
        fprintf(file, "<figure><h3>%s</h3>", explanations_method_name(method));
        chart_open(&chart, explanations_method_name(method), "Deletion and insertion curves.");
        chart_axes(&chart, "% of the parts removed or added", "score");
        draw(&chart, "faint", random->deletion, explanations->count, NULL);
        draw(&chart, "faint", random->insertion, explanations->count, NULL);
        draw(&chart, "accent", curves->deletion, explanations->count, "deletion");
        draw(&chart, "accent", curves->insertion, explanations->count, "insertion");
        chart_close(&chart);
        fputs("</figure>\n", file);
    }
    fputs("</div>\n", file);
    report_page_end_section(file);
}

/* ---- the gallery: relevance ---- */

/* out = relevance divided by its maximum; negative relevance, which only occlusion has, becomes 0.
 * False if no relevance is above 0. */
static bool scale(const struct explanations_exhibit *exhibit, unsigned method, float *out)
{
    float largest = 0;
    for (unsigned i = 0; i < exhibit->explained->parts; i++) {
        float relevance = exhibit->relevance[method][i];
        out[i] = relevance > 0 ? relevance : 0;
        largest = out[i] > largest ? out[i] : largest;
    }
    for (unsigned i = 0; i < exhibit->explained->parts; i++)
        out[i] = largest > 0 ? out[i] / largest : 0;
    return largest > 0;
}

static void put_method(const struct explanations_exhibit *exhibit, unsigned method, FILE *file)
{
    const struct explanations_areas *areas = &exhibit->explained->methods[method];
    fprintf(file, "<figcaption><b>%s</b> %.2f</figcaption>", explanations_method_name(method),
            areas->insertion[SCORE_PROBABILITY] - areas->deletion[SCORE_PROBABILITY]);
}

/* ---- the gallery: images ---- */

static struct patches_view shrunk(const struct patches_view *view, struct html_image shown)
{
    double across = (double)shown.width / view->width, down = (double)shown.height / view->height;
    struct patches_view out = *view;
    out.width = shown.width;
    out.height = shown.height;
    out.all.left *= across;
    out.all.width *= across;
    out.all.top *= down;
    out.all.height *= down;
    return out;
}

static enum err_code put_map(const struct dataset_item *item,
                             const struct explanations_exhibit *exhibit, unsigned method,
                             float *relevance, struct pictures *pictures, FILE *file,
                             struct err *err)
{
    struct html_image shown = {0};
    char *png;
    size_t len;
    fputs("<figure><div class=\"stack\">", file);
    html_image(file, pictures, item->input, &shown, err);
    if (err->code == ERR_OK && scale(exhibit, method, relevance)) {
        struct explanation map = {.view = shrunk(&exhibit->shape.view, shown),
                                  .patches = relevance};
        if (!engine_overlay(&map, NULL, &png, &len, err)) {
            html_image_png(file, png, len);
            free(png);
        }
    }
    fputs("</div>", file);
    put_method(exhibit, method, file);
    fputs("</figure>\n", file);
    return err->code;
}

/* ---- the gallery: texts ---- */

/* Bytes of the first `count` characters of text[0..len). */
static size_t bytes_of(const char *text, size_t len, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count && at < len; i++) {
        size_t bytes = utf8_character_bytes(text + at, len - at);
        at += bytes > 0 ? bytes : 1;
    }
    return at;
}

/* Writes the part of the text that the model read, then, after a line, that of the second text,
 * with words shaded by relevance. */
static void put_words(const struct dataset_item *item, const struct explanations_exhibit *exhibit,
                      const float *relevance, FILE *file)
{
    size_t at = 0, character = 0;
    bool in_pair = false;
    for (unsigned i = 0; i < exhibit->explained->parts; i++) {
        const struct excerpt *word = &exhibit->shape.words[i];
        if (word->of_pair && !in_pair) {
            fputs("\n&#8213;&#8213;&#8213;\n", file);
            at = character = 0;
            in_pair = true;
        }
        const char *text = (in_pair ? item->pair : item->input) + at;
        const size_t len = (in_pair ? item->pair_len : item->input_len) - at;
        size_t gap = bytes_of(text, len, word->start - character);
        size_t bytes = bytes_of(text + gap, len - gap, word->end - word->start);
        html_text_bytes(file, text, gap);
        if (relevance[i] >= 0.05f)
            fprintf(file, "<span style=\"background:rgba(var(--tint),%.2f)\">",
                    (double)relevance[i] * 0.8);
        html_text_bytes(file, text + gap, bytes);
        if (relevance[i] >= 0.05f)
            fputs("</span>", file);
        at += gap + bytes;
        character = word->end;
    }
}

/* ---- the gallery ---- */

static enum err_code put_exhibit(const struct explanations *explanations,
                                 const struct explanations_exhibit *exhibit,
                                 struct pictures *pictures, FILE *file, struct err *err)
{
    const struct dataset_item *item =
        &explanations->source.dataset->items[exhibit->explained->item];
    const char *label =
        engine_describe(explanations->source.model)->labels[exhibit->explained->winner];
    bool images = explanations->source.dataset->kind == ENGINE_IMAGE;
    struct err unreadable = {0};
    float *relevance = calloc(exhibit->explained->parts, sizeof *relevance);
    if (relevance == NULL)
        return err_no_memory(err, exhibit->explained->parts * sizeof *relevance);
    fputs("<h3>", file);
    html_text(file, label);
    fputs("</h3><p class=\"about\">", file);
    html_text(file, item->name);
    fprintf(file, "</p>\n<div class=\"%s\">\n", images ? "images" : "texts");
    for (unsigned method = 0; method < EXPLANATIONS_METHODS && unreadable.code == ERR_OK;
         method++) {
        if (method == METHOD_RANDOM)
            continue;
        if (images) {
            put_map(item, exhibit, method, relevance, pictures, file, &unreadable);
            continue;
        }
        scale(exhibit, method, relevance);
        fputs("<figure>", file);
        put_method(exhibit, method, file);
        fputs("<pre class=\"shaded\">", file);
        put_words(item, exhibit, relevance, file);
        fputs("</pre></figure>\n", file);
    }
    fputs("</div>\n", file);
    free(relevance);
    if (err_is_of_system(unreadable.code))
        return err_set(err, unreadable.code, "%s", unreadable.text);
    return ERR_OK;
}

/* ---- the page ---- */

enum err_code explanations_print_html(const struct explanations_report *report, FILE *file,
                                      struct err *err)
{
    const struct explanations *explanations = report->explanations;
    report_page_open(file, report->model_name, "explanations", explanations_style_begin);
    fputs("<header><h1>", file);
    html_text(file, report->model_name);
    fputs(": how faithful are its explanations?</h1>\n<ul class=\"meta\"><li>data ", file);
    html_text(file, report->data_path);
    fprintf(file, "</li><li>%zu inputs, %zu of them right</li><li>%s</li>",
            report->explanations->count, explanations_right(report->explanations),
            explanations_fill_text(report->explanations));
    fprintf(file, "<li>inference %.2f ms an input</li></ul></header>\n\n",
            explanations_mean_ms(report->explanations, report->explanations->inference_ms));
    if (put_methods(explanations, file, err))
        return err->code;
    put_curves(explanations, file);
    if (put_classes(explanations, file, err) || put_places(explanations, file, err))
        return err->code;
    report_page_section(
        file, "Examples",
        "Right answers, each explained for its class by each method; beside the name, what "
        "insertion minus deletion is for this input.");
    /* Heat maps over images, or shaded words, one method beside the other. An input that can no
     * longer be read is left out. */
    bool images = explanations->source.dataset->kind == ENGINE_IMAGE;
    unsigned count = explanations->gallery_count;
    struct pictures pictures = {0};
    if (!images && count > TEXTS_MAX)
        count = TEXTS_MAX;
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        put_exhibit(explanations, &explanations->gallery[i], &pictures, file, err);
    pictures_close(&pictures);
    if (err->code != ERR_OK)
        return err->code;
    report_page_end_section(file);
    fprintf(file, "<p class=\"foot\">attnd %s</p>\n</body></html>\n", ATTND_VERSION);
    if (fflush(file) != 0 || ferror(file))
        return err_set(err, ERR_IO, "the page cannot be written");
    return ERR_OK;
}
