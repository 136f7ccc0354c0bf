#include "engine/eval/report_mistakes.h"

#include "engine/base/file.h"
#include "engine/eval/html.h"
#include "engine/vision/image.h"
#include "engine/vision/png.h"
#include "engine/vision/resize.h"

#include <stdlib.h>

enum {
    SIDE_MAX = 128,
    BYTES_MAX = 64 * 1024 * 1024,
    PIXELS_MAX = 64 * 1024 * 1024,
    TEXT_LINES_MAX = 6,
    LINE_CHARACTERS_MAX = 160
};

static void caption(const struct report *report, const struct verdict *mistake, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    fputs("<figcaption class=\"mistake\"><b>", file);
    html_text(file, info->labels[mistake->label]);
    fprintf(file, "</b> %.3f, is <b>", (double)mistake->score);
    html_text(file, info->labels[report->classes[mistake->item]]);
    fputs("</b><br>", file);
    html_text(file, report->dataset->items[mistake->item].name);
    fputs("</figcaption>", file);
}

/* ---- images ---- */

static unsigned shrunk(unsigned side, unsigned longest)
{
    unsigned small = (unsigned)((uint64_t)side * SIDE_MAX / longest);
    return small > 0 ? small : 1;
}

static enum err_code read_small(const char *path, struct arena *arena, struct image *out,
                                struct err *err)
{
    const struct image_options options = {.pixels_max = PIXELS_MAX};
    struct image image = {0};
    char *bytes;
    size_t len;
    if (file_read(&bytes, &len, path, BYTES_MAX, err))
        return err->code;
    image_decode(&image, bytes, len, &options, arena, err);
    free(bytes);
    if (err->code != ERR_OK)
        return err->code;
    unsigned longest = image.width > image.height ? image.width : image.height;
    *out = image;
    if (longest > SIDE_MAX)
        resize_rgb(&image, shrunk(image.width, longest), shrunk(image.height, longest),
                   RESAMPLE_BILINEAR, arena, out, err);
    return err->code;
}

static enum err_code show_image(const char *path, FILE *file, struct err *err)
{
    struct arena arena;
    struct image image;
    char *png;
    size_t len;
    arena_init(&arena);
    if (!read_small(path, &arena, &image, err) && !png_encode(&png, &len, &image, err)) {
        fputs("<img alt=\"\" src=\"", file);
        html_data_uri(file, "image/png", png, len);
        fputs("\">", file);
        free(png);
    }
    arena_deinit(&arena);
    return err->code;
}

/* ---- both ---- */

static enum err_code show(const struct report *report, const struct verdict *mistake, FILE *file,
                          struct err *err)
{
    static const struct html_excerpt excerpt = {TEXT_LINES_MAX, LINE_CHARACTERS_MAX};
    const struct dataset_item *item = &report->dataset->items[mistake->item];
    struct err unreadable = {0};
    fputs("<figure>", file);
    if (report->dataset->kind == ENGINE_IMAGE)
        show_image(item->input, file, &unreadable);
    caption(report, mistake, file);
    if (report->dataset->kind == ENGINE_TEXT) {
        fputs("<pre>", file);
        html_excerpt(file, item->input, item->input_len, &excerpt);
        fputs("</pre>", file);
    }
    fputs("</figure>\n", file);
    if (unreadable.code == ERR_NO_MEMORY)
        return err_set(err, unreadable.code, "%s", unreadable.text);
    return ERR_OK;
}

enum err_code report_mistakes_print(const struct report *report, FILE *file, struct err *err)
{
    const struct findings *findings = report->findings;
    bool images = report->dataset->kind == ENGINE_IMAGE;
    unsigned count = findings->mistake_count, most = images ? FINDINGS_MISTAKES_MAX : 12;
    fprintf(file, "<div class=\"%s\">\n", images ? "images" : "texts");
    for (unsigned i = 0; i < count && i < most && err->code == ERR_OK; i++)
        show(report, &findings->mistakes[i], file, err);
    fputs("</div>\n", file);
    return err->code;
}
