/* report_page.h - the frame of every page of attnd-eval and attnd-train: a head that forbids
 * loading anything and running scripts, one style sheet, sections.
 *
 *     report_page_open(file, "wafer-vit", "evaluation", "");
 *     report_page_section(file, "Classes", "What the table says.");
 *     report_page_end_section(file);
 *     fputs("</body></html>\n", file);
 *
 * Failures show in ferror(file). Threads: one for each file.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_PAGE_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_PAGE_H

#include <stdio.h>

/* Writes the page up to <body>. `model_name` is untrusted text. `kind` and `more_style`, rules
 * after the common ones, are this program's. */
void report_page_open(FILE *file, const char *model_name, const char *kind, const char *more_style);

/* title and about are this program's markup. */
void report_page_section(FILE *file, const char *title, const char *about);
void report_page_end_section(FILE *file);

#endif
