/* codec.h - request bodies -> struct predict_call, and replies -> JSON; members are checked here
 * and nowhere else. codec.c reads JSON bodies, codec_raw.c raw ones, codec_reply.c writes; no other
 * server file includes jansson.
 *
 * A long string is the bulk of a large request. The codec cuts such strings out of the body before
 * the JSON parser sees it; an image's base64 is decoded once, straight into the arena.
 *
 * The parser's tree does not outlive codec_parse_json: all that a call points to lies in the arena,
 * in the body or is static, whether the call could be read or not.
 *
 * Threads: no state; the arena and the structs are the caller's.
 */
#ifndef ATTND_SERVER_PROTOCOL_CODEC_H
#define ATTND_SERVER_PROTOCOL_CODEC_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"
#include "server/serve/request.h"

#include <stdbool.h>
#include <stddef.h>

struct codec_query;

struct codec_limits {
    unsigned inputs_max;
    /* NULL: none. Looked at while images are decoded from base64, when all of the call but its
     * inputs has been read. */
    struct interrupt *interrupt;
    const struct codec_query *query; /* options beside the body; NULL: none */
};

/* An `application/json` body, which must stay in place as long as the call: a long text is not
 * copied unless it holds escapes. An `id` that can be used is in *out whatever else is wrong with
 * the call. Errors of the envelope are returned (ERR_MALFORMED, ERR_UNUSABLE, ERR_TOO_LARGE) with
 * the JSON path; errors of one of several inputs are recorded in that item, and those of a call's
 * only `text` or `image` are returned. */
enum err_code codec_parse_json(struct predict_call *out, const char *body, size_t len,
                               const struct codec_limits *limits, struct arena *arena,
                               struct err *err);

/* Upper bound of what codec_parse_json takes for a body of len bytes: its tree, its items, strings
 * that are not as they came, and decoded base64. */
size_t codec_parse_bytes(size_t len, const struct codec_limits *limits);

/* One option of a raw body's query string: `model`, `top_k` (number or all), `id`, `deadline_ms`,
 * `explain`, `explain_layer`, `overlay`, `attention_stats`, `long_text`, `candidate_labels` (one
 * more label each time, or a JSON array of all), `hypothesis_template`, `keep`, `context.lot` and
 * the other members of a context; any other name is an error that names the nearest. value may be
 * NULL (an error). A later option of the same name, but for labels, replaces the earlier one. After
 * the last, codec_check_options looks at what they ask for together. */
enum err_code codec_parse_option(struct predict_call *call, const char *name, const char *value,
                                 struct arena *arena, struct err *err);

enum err_code codec_check_options(const struct predict_call *call, struct err *err);

enum { CODEC_RAW_BYTES = 4096 }; /* what it takes, with its row and its options */

/* A raw body: one item of the given kind, its bytes borrowed; a text is valid UTF-8. Options follow
 * (codec_parse_option). */
enum err_code codec_parse_raw(struct predict_call *out, enum engine_kind kind, const char *body,
                              size_t len, struct arena *arena, struct err *err);

struct drift_figures;
struct label_shares_figures;
struct feedback_accuracy;
struct protocol_timing;
struct reload_result;

/* The body of a 200: the answer of the only row (which must have one: a row that failed is a
 * problem, no 200), or {"results": [...]} for an envelope, a row that failed being a problem in its
 * place. An id that is not UTF-8 is left out. Written in steps, since it may be long:
 *
 *     struct codec_reply *reply = codec_reply_begin(&call, id, rows, 0, &arena);
 *     while (codec_reply_row(reply) > 0) ...
 *     text = codec_reply_end(reply, &timing, &len);
 *
 * What it is made of must outlive it. begin: text_bytes as codec_reply_bytes has it, 0 for a short
 * one; NULL if there is no memory. row: encodes one more and returns how many are left. end: also
 * the rows that are left; NUL-terminated, in the arena, *len without the NUL; NULL if there was not
 * enough memory. */
struct codec_reply;
struct codec_reply *codec_reply_begin(const struct predict_call *call, const char *id,
                                      const struct row *rows, size_t text_bytes,
                                      struct arena *arena);
unsigned codec_reply_row(struct codec_reply *reply);
const char *codec_reply_end(struct codec_reply *reply, const struct protocol_timing *timing,
                            size_t *len);

/* Upper bounds without explanations, of rows that have their models and labels: of the text, and,
 * returned, of that with the tree of the largest row. */
size_t codec_reply_bytes(const struct predict_call *call, const char *id, const struct row *rows,
                         size_t *text);

/* application/problem+json (RFC 9457) for err; instance may be NULL. */
const char *codec_encode_problem(const struct err *err, const char *instance, struct arena *arena,
                                 size_t *len);

/* {"generation", "changed": [...], "restart": [...]?}: POST /admin/reload. */
const char *codec_encode_reload(const struct reload_result *result, struct arena *arena,
                                size_t *len);

/* One row of GET /models. */
struct model_row {
    const char *name, *version, *digest; /* digest NULL: not yet known */
    const struct engine_info *info;
    bool is_default;
    /* Limits of a request, the same for all models. */
    size_t inputs_max, body_bytes_max, image_pixels_max, request_pixels_max;
    const struct feedback_accuracy *accuracy; /* NULL: no labels are taken */
    bool with_confusion;                      /* of the accuracy */
    const struct version_row *versions;       /* [version_count] NULL: not asked for */
    unsigned version_count;
    const struct drift_figures *drift;               /* NULL: the model has no reference */
    bool with_label_shares;                          /* else they are not asked for */
    const struct label_shares_figures *label_shares; /* NULL: the model is none that has them */
};
/* {"models": [...]} and one model alone. */
const char *codec_encode_models(const struct model_row *rows, unsigned count, struct arena *arena,
                                size_t *len);
const char *codec_encode_model(const struct model_row *row, struct arena *arena, size_t *len);

#endif
