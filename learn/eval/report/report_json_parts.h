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
/* The object with one more member, the array with one more item. Both arguments are taken. NULL:
 * one of them is NULL, or there is no memory. */
struct json_t *report_json_put(struct json_t *object, const char *key, struct json_t *value);
struct json_t *report_json_append(struct json_t *array, struct json_t *value);
/* Prints and takes the object; NULL is one for which there was no memory. `what` cannot be printed:
 * ERR_IO. */
enum err_code report_json_print(struct json_t *object, const char *what, FILE *file,
                                struct err *err);

/* JSON of report->expectation, which must not be NULL. */
struct json_t *report_expected_json(const struct report *report);
/* JSON of report->sizes, which must not be NULL. */
struct json_t *report_sizes_json(const struct report *report);
/* JSON of report->unseen, which must not be NULL. */
struct json_t *report_strange_json(const struct report *report);

#endif
