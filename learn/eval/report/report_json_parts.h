/* report_json_parts.h - members of the report's JSON form that only some runs have. Each is a new
 * reference; NULL if there is no memory. Threads: as report.h. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_JSON_PARTS_H

#include "learn/eval/report/report.h"

struct json_t; /* jansson's */

/* Of report->expectation, which is there. */
struct json_t *report_expected_json(const struct report *report);
/* Of report->sizes, which is there. */
struct json_t *report_sizes_json(const struct report *report);
/* Of report->unseen, which is there. */
struct json_t *report_strange_json(const struct report *report);

#endif
