/* report_remarks.h - what a person should know who reads a report's figures: each a plain sentence
 * with what to do about it.
 *
 *     report_remarks_print(report, stdout);
 *     report_remarks_each(report, add_to_list, list, &err);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_REMARKS_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_REMARKS_H

#include "learn/eval/report/report.h"

/* A line each, after "note: "; failures show in ferror(file). */
void report_remarks_print(const struct report *report, FILE *file);

/* `take` is called with each, a sentence without its full stop, which ends with the call. Of a
 * model that there is nothing to say of it is not called. ERR_NO_MEMORY. */
enum err_code report_remarks_each(const struct report *report,
                                  void (*take)(void *context, const char *remark), void *context,
                                  struct err *err);

#endif
