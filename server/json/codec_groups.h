/* codec_groups.h - what GET /review/groups takes and answers.
 *
 *     {"model": "wafer-vit",
 *      "groups": [{"size": 12, "label": "Scratch", "decisions": {"auto": 0, "review": 12, ...},
 *                  "items": [as GET /review],
 *                  "nearest": [{"label": "Donut", "similarity": 0.91, "id", "index"}]}],
 *      "groups_total": 31, "inputs": 203, "ungrouped_total": 0, "forgotten": 0,
 *      "labels": [{"label": "Donut", "count": 10}]}
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_GROUPS_H
#define ATTND_SERVER_JSON_CODEC_GROUPS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/review/review_groups.h"

#include <stddef.h>

/* One option of the query: `model`, `decision`, `limit`. The value stays the query's. ERR_UNUSABLE
 * with its name. */
enum err_code codec_groups_option(struct review_question *question, const char *name,
                                  const char *value, struct err *err);

/* `found` as review_groups_read filled it. NULL if there is no memory. */
const char *codec_groups_encode(const char *model, const struct review_found *found,
                                struct arena *arena, size_t *len);

#endif
