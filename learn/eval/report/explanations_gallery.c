#include "learn/eval/report/explanations_gallery.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/html_image.h"

#include <stdlib.h>

enum { TEXTS_MAX = 5 };

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

static void put_caption(const struct explanations *explanations,
                        const struct explanations_exhibit *exhibit, FILE *file)
{
    const struct engine_info *info = engine_describe(explanations->source.model);
    fputs("<h3>", file);
    html_text(file, info->labels[exhibit->explained->winner]);
    fputs("</h3><p class=\"about\">", file);
    html_text(file, explanations->source.dataset->items[exhibit->explained->item].name);
    fputs("</p>\n", file);
}

static void put_method(const struct explanations_exhibit *exhibit, unsigned method, FILE *file)
{
    const struct explanations_areas *areas = &exhibit->explained->methods[method];
    fprintf(file, "<figcaption><b>%s</b> %.2f</figcaption>", explanations_method_name(method),
            areas->insertion[SCORE_PROBABILITY] - areas->deletion[SCORE_PROBABILITY]);
}

/* ---- images ---- */

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

static enum err_code put_map(const struct explanations *explanations,
                             const struct explanations_exhibit *exhibit, unsigned method,
                             float *relevance, struct pictures *pictures, FILE *file,
                             struct err *err)
{
    const struct dataset_item *item =
        &explanations->source.dataset->items[exhibit->explained->item];
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

/* ---- texts ---- */

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

static void put_text(const struct explanations *explanations,
                     const struct explanations_exhibit *exhibit, unsigned method, float *relevance,
                     FILE *file)
{
    scale(exhibit, method, relevance);
    fputs("<figure>", file);
    put_method(exhibit, method, file);
    fputs("<pre class=\"shaded\">", file);
    put_words(&explanations->source.dataset->items[exhibit->explained->item], exhibit, relevance,
              file);
    fputs("</pre></figure>\n", file);
}

/* ---- both ---- */

static enum err_code put_exhibit(const struct explanations *explanations,
                                 const struct explanations_exhibit *exhibit,
                                 struct pictures *pictures, FILE *file, struct err *err)
{
    bool images = explanations->source.dataset->kind == ENGINE_IMAGE;
    struct err unreadable = {0};
    float *relevance = calloc(exhibit->explained->parts, sizeof *relevance);
    if (relevance == NULL)
        return err_no_memory(err, exhibit->explained->parts * sizeof *relevance);
    put_caption(explanations, exhibit, file);
    fprintf(file, "<div class=\"%s\">\n", images ? "images" : "texts");
    for (unsigned method = 0; method < EXPLANATIONS_METHODS && unreadable.code == ERR_OK;
         method++) {
        if (method == METHOD_RANDOM)
            continue;
        if (images)
            put_map(explanations, exhibit, method, relevance, pictures, file, &unreadable);
        else
            put_text(explanations, exhibit, method, relevance, file);
    }
    fputs("</div>\n", file);
    free(relevance);
    if (err_is_of_system(unreadable.code))
        return err_set(err, unreadable.code, "%s", unreadable.text);
    return ERR_OK;
}

enum err_code explanations_gallery(const struct explanations *explanations, FILE *file,
                                   struct err *err)
{
    bool images = explanations->source.dataset->kind == ENGINE_IMAGE;
    unsigned count = explanations->gallery_count;
    struct pictures pictures = {0};
    if (!images && count > TEXTS_MAX)
        count = TEXTS_MAX;
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        put_exhibit(explanations, &explanations->gallery[i], &pictures, file, err);
    pictures_close(&pictures);
    return err->code;
}
