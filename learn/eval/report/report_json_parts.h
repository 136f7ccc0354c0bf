/* report_json_parts.h - members of the report's JSON form that only some runs have. Each is a new
 * reference; NULL if there is no memory. Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H

#include "learn/eval/report/report.h"

struct json_t; /* jansson's */

/* JSON of report->expectation, which must not be NULL. */
struct json_t *report_expected_json(const struct report *report);
/* JSON of report->sizes, which must not be NULL. */
struct json_t *report_sizes_json(const struct report *report);
/* JSON of report->unseen, which must not be NULL. */
struct json_t *report_strange_json(const struct report *report);

#endif
