/* codec_feedback.h - bodies of POST /feedback, and what its routes answer.
 *
 *     {"id": "die-7", "label": "Donut", "index"?, "source"?, "new"?} or {"feedback": [{...}, ...]}
 *     {"accepted": 1, "results": [{"id", "index", "label", "predicted", "correct", "replaced"?}]}
 *     of sets "labels" for "label", and "predicted_labels", "replaced_labels" in the reply
 *     of texts "output", and "predicted_output", "edits", "replaced_output"
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_FEEDBACK_H
#define ATTND_SERVER_JSON_CODEC_FEEDBACK_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/feedback/feedback.h"

#include <stddef.h>

struct json_t; /* jansson's */

struct feedback_call {
    bool is_list; /* answered item by item, each failure a problem of its own */
    struct feedback_item *items;
    unsigned count;
};

enum { CODEC_FEEDBACK_INDEX_MAX = 65535 };

/* Errors of the body are returned (ERR_MALFORMED, ERR_UNUSABLE, ERR_TOO_LARGE, ERR_NO_MEMORY) with
 * the JSON path; those of one of several labels are kept in it, that of the only one is returned.
 * The strings are the arena's. */
enum err_code codec_feedback_parse(struct feedback_call *out, const char *body, size_t len,
                                   unsigned inputs_max, struct arena *arena, struct err *err);

/* Upper bound of what parsing, judging and answering a body of len bytes takes. */
size_t codec_feedback_bytes(size_t len, unsigned inputs_max);

/* Upper bound of what the texts among the items take beside that. */
size_t codec_feedback_texts_bytes(const struct feedback_item *items, unsigned count);

/* The JSON path of an item: "$" or "$.feedback[3]". */
enum { CODEC_FEEDBACK_PLACE_BYTES = 32 };
void codec_feedback_place(const struct feedback_call *call, unsigned index,
                          char out[CODEC_FEEDBACK_PLACE_BYTES]);

/* The body of a 200; NULL if there is no memory. An item with an error becomes a problem. */
const char *codec_feedback_encode(const struct feedback_call *call, struct arena *arena,
                                  size_t *len);

/* The reply to a label that was taken back: {"id", "index", "removed", "predicted"}, of a set
 * "removed_labels", of a text "removed_output". */
const char *codec_feedback_encode_removed(const struct feedback_item *item, struct arena *arena,
                                          size_t *len);

/* "accuracy" of a model: {"value", "low", "high", "n", "by_decision", "weighted", "per_class"?,
 * "confusion"?}; of texts also "error_rate"; `weighted` is {"value", "low", "high", "n"} or
 * null. A new reference; NULL without memory. */
struct json_t *codec_feedback_accuracy(const struct feedback_accuracy *accuracy,
                                       bool with_confusion);

#endif
