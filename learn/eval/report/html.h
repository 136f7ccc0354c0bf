/* html.h - escapes untrusted text and bytes for an HTML page.
 *
 *     html_text(file, label);                       // <script> becomes &lt;script&gt;
 *     html_data_uri(file, "image/png", bytes, len); // data:image/png;base64,...
 *
 * Labels, logs and file names are untrusted. The output is well-formed UTF-8 in which no byte is
 * markup, both in an element and in a quoted attribute. Invalid UTF-8 and invisible characters
 * become U+FFFD. Failures show in ferror(file). Threads: one for each file.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_HTML_H
#define ATTND_LEARN_EVAL_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

void html_text(FILE *file, const char *text);
void html_text_bytes(FILE *file, const char *text, size_t len);

/* At most lines_max lines of a text, each cut to line_characters_max characters. An ellipsis marks
 * what is left out. */
struct html_excerpt {
    unsigned lines_max, line_characters_max;
};
void html_excerpt(FILE *file, const char *text, size_t len, const struct html_excerpt *limits);

void html_data_uri(FILE *file, const char *media_type, const void *bytes, size_t len);

#endif
