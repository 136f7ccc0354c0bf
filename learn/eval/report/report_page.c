#include "learn/eval/report/report_page.h"

#include "engine/embed.h"
#include "learn/eval/report/html.h"

/* The style: one accent colour on greys, the reader's own fonts, digits of equal width. Wide tables
 * scroll by themselves on a phone. Print looks as the screen does, on white. */
EMBED(report_page_style, "learn/eval/report/report_page.css")

void report_page_open(FILE *file, const char *model_name, const char *kind, const char *more_style)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:\">\n<title>",
          file);
    html_text(file, model_name);
    fprintf(file, " - %s</title>\n<style>\n%s%s</style></head>\n<body>\n", kind,
            report_page_style_begin, more_style);
}

void report_page_section(FILE *file, const char *title, const char *about)
{
    fprintf(file, "<section><h2>%s</h2>\n<p class=\"about\">%s</p>\n", title, about);
}

void report_page_end_section(FILE *file)
{
    fputs("</section>\n\n", file);
}
