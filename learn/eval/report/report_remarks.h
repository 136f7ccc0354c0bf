/* report_remarks.h - remarks for a person who reads a report's figures: each is a plain sentence
 * that says what to do.
 *
 *     report_remarks_print(report, stdout);
 *     report_remarks_each(report, add_to_list, list, &err);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_REMARKS_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_REMARKS_H

#include "learn/eval/report/report.h"

/* Prints one line for each remark, after "note: "; failures show in ferror(file). */
void report_remarks_print(const struct report *report, FILE *file);

/* Calls `take` with each remark, a sentence without its full stop; the text is valid during the
 * call. Without remarks it is not called. ERR_NO_MEMORY. */
enum err_code report_remarks_each(const struct report *report,
                                  void (*take)(void *context, const char *remark), void *context,
                                  struct err *err);

#endif
