/* codec_review.h - what GET /review takes and answers.
 *
 *     {"inputs": [{"id", "index", "time", "model": {"name", "version"}, "label", "score",
 *                  "decision", "sampled", "media_type", "bytes", "digest", "context"?}],
 *      "next": 41}                        null: there are no older ones
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_REVIEW_H
#define ATTND_SERVER_JSON_CODEC_REVIEW_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/review/review.h"

#include <stddef.h>

struct json_t; /* jansson's */

/* One option of the query: `decision`, `limit`, `before`. ERR_UNUSABLE with its name. */
enum err_code codec_review_option(struct review_filter *filter, const char *name, const char *value,
                                  struct err *err);

/* One input, as the list has it. A new reference; NULL without memory. */
struct json_t *codec_review_input(const struct kept_input *input);

/* NULL if there is no memory. */
const char *codec_review_encode(const struct review_page *page, struct arena *arena, size_t *len);

#endif
