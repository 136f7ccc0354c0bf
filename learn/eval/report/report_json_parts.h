/* report_json_parts.h - parts of the reports' JSON form. Each is a new reference; NULL if there is
 * no memory. Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H

#include "learn/eval/report/report.h"

struct json_t; /* jansson's */

/* NAN and infinite numbers become null, since JSON has none. */
struct json_t *report_json_real(double value);
/* An array of objects whose measure has this name. */
struct json_t *report_epochs_json(const struct report_epoch *epochs, unsigned count,
                                  const char *measure);
/* Moves all members into `object`. False if there was no memory, also for either of the two. */
bool report_json_add(struct json_t *object, struct json_t *members);

/* JSON of report->expectation, which must not be NULL. */
struct json_t *report_expected_json(const struct report *report);
/* JSON of report->sizes, which must not be NULL. */
struct json_t *report_sizes_json(const struct report *report);
/* JSON of report->unseen, which must not be NULL. */
struct json_t *report_strange_json(const struct report *report);

#endif
