#include "learn/eval/report/report_mistakes.h"

#include "learn/eval/report/html.h"
#include "learn/eval/report/html_image.h"

enum { TEXT_LINES_MAX = 6, LINE_CHARACTERS_MAX = 160 };

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

static enum err_code show(const struct report *report, const struct verdict *mistake,
                          struct pictures *pictures, FILE *file, struct err *err)
{
    static const struct html_excerpt excerpt = {TEXT_LINES_MAX, LINE_CHARACTERS_MAX};
    const struct dataset_item *item = &report->dataset->items[mistake->item];
    struct err unreadable = {0};
    struct html_image shown;
    fputs("<figure>", file);
    if (report->dataset->kind == ENGINE_IMAGE)
        html_image(file, pictures, item->input, &shown, &unreadable);
    caption(report, mistake, file);
    if (report->dataset->kind == ENGINE_TEXT) {
        fputs("<pre>", file);
        html_excerpt(file, item->input, item->input_len, &excerpt);
        if (item->pair != NULL) {
            fputs("&#8213;&#8213;&#8213;\n", file);
            html_excerpt(file, item->pair, item->pair_len, &excerpt);
        }
        fputs("</pre>", file);
    }
    fputs("</figure>\n", file);
    if (err_is_of_system(unreadable.code))
        return err_set(err, unreadable.code, "%s", unreadable.text);
    return ERR_OK;
}

enum err_code report_mistakes_print(const struct report *report, FILE *file, struct err *err)
{
    const struct findings *findings = report->findings;
    bool images = report->dataset->kind == ENGINE_IMAGE;
    unsigned count = findings->mistake_count, most = images ? FINDINGS_MISTAKES_MAX : 12;
    struct pictures pictures = {0};
    fprintf(file, "<div class=\"%s\">\n", images ? "images" : "texts");
    for (unsigned i = 0; i < count && i < most && err->code == ERR_OK; i++)
        show(report, &findings->mistakes[i], &pictures, file, err);
    pictures_close(&pictures);
    fputs("</div>\n", file);
    return err->code;
}
