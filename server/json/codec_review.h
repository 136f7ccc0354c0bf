/* codec_review.h - what GET /review and GET /review/groups take and answer.
 *
 *     {"inputs": [{"id", "index", "time", "model": {"name", "version"}, "label", "score",
 *                  "decision", "reason"?, "sampled", "media_type", "bytes", "digest",
 *                  "right_label"?, "context"?}],
 *      "next": 41}                        null: there are no older ones
 *     of a text "output", "confidence" and "right_output"; if "output" is null perhaps "rejected"
 *
 *     {"model": "wafer-vit",
 *      "groups": [{"size": 12, "label": "Scratch", "decisions": {"auto": 0, "review": 12, ...},
 *                  "items": [as above],
 *                  "nearest": [{"label": "Donut", "similarity": 0.91, "id", "index"}]}],
 *      "groups_total": 31, "inputs": 203, "ungrouped_total": 0, "forgotten": 0,
 *      "labels": [{"label": "Donut", "count": 10}]}
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_REVIEW_H
#define ATTND_SERVER_JSON_CODEC_REVIEW_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/review/review.h"
#include "server/review/review_groups.h"

#include <stddef.h>

struct json_t; /* jansson's */

/* One option of the query: `decision`, `limit`, `before`, `model`. The value stays the query's.
 * ERR_UNUSABLE with its name. */
enum err_code codec_review_option(struct review_filter *filter, const char *name, const char *value,
                                  struct err *err);

/* One input, as the list has it. A new reference; NULL without memory. */
struct json_t *codec_review_input(const struct kept_input *input);

/* NULL if there is no memory. */
const char *codec_review_encode(const struct review_page *page, struct arena *arena, size_t *len);

/* ---- codec_groups.c ---- */

/* One option of the query: `model`, `decision`, `limit`. The value stays the query's. ERR_UNUSABLE
 * with its name. */
enum err_code codec_groups_option(struct review_question *question, const char *name,
                                  const char *value, struct err *err);

/* `found` as review_groups_read filled it. NULL if there is no memory. */
const char *codec_groups_encode(const char *model, const struct review_found *found,
                                struct arena *arena, size_t *len);

#endif
