/* codec.h - request bodies -> struct predict_call. Members are checked here and nowhere else.
 * codec.c reads JSON bodies, codec_raw.c raw ones.
 *
 * A long string is the bulk of a large request. The codec cuts such strings out of the body before
 * the JSON parser sees it; an image's base64 is decoded once, straight into the arena.
 *
 * The parser's tree does not outlive codec_parse_json: all that a call points to lies in the arena,
 * in the body or is static, whether the call could be read or not.
 *
 * Threads: no state; the arena and the structs are the caller's.
 */
#ifndef ATTND_WIRE_CODEC_H
#define ATTND_WIRE_CODEC_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"
#include "wire/call.h"

#include <stdbool.h>
#include <stddef.h>

struct codec_names;
struct codec_query;

struct codec_limits {
    unsigned inputs_max;
    /* NULL: none. Looked at while images are decoded from base64, when all of the call but its
     * inputs has been read. */
    struct interrupt *interrupt;
    const struct codec_query *query;   /* options beside the body; NULL: none */
    const struct codec_names *members; /* that the body may have; NULL: codec_names_call */
    bool is_search; /* a call for near inputs alone: codec_names_search, `k` of them */
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

/* ---- a body of lines ---- */

/* Sets a call to one of a list whose lines are answered one by one; its options are those of the
 * query (codec_parse_option), its items are read by codec_parse_line. */
void codec_lines_init(struct predict_call *out);

/* One line, an object as in `inputs`. Faults are recorded in the item. The line must stay in place
 * as long as the item. */
void codec_parse_line(struct predict_item *out, const char *line, size_t len,
                      struct interrupt *interrupt, struct arena *arena);

/* Upper bounds of what a line of len bytes keeps and, in *tree, of what it takes while it is read.
 */
size_t codec_line_bytes(size_t len, size_t *tree);

/* ---- raw bodies ---- */

/* One option of a raw body's query string: `model`, `top_k` (number or all), `id`, `deadline_ms`,
 * `explain`, `explain_layer`, `overlay`, `attention_stats`, `long_text`, `prompt_name`,
 * `dimensions`, `encoding`, `normalize`, `candidate_labels` (one more label each time, or a JSON
 * array of all), `hypothesis_template`, `keep`, `similar`, `context.lot` and the other members of a
 * context, or, of a call with WISH_SIMILAR, `k` and the options of codec_names_search. Any other
 * name is an error that names
 * the nearest. value may be NULL (an error). A later option of the same name, but for labels,
 * replaces the earlier one. After the last, codec_check_options looks at what they ask for
 * together. */
enum err_code codec_parse_option(struct predict_call *call, const char *name, const char *value,
                                 struct arena *arena, struct err *err);

enum err_code codec_check_options(const struct predict_call *call, struct err *err);

enum { CODEC_SIMILAR_DEFAULT = 5 }; /* near inputs of a search that does not say how many */

enum { CODEC_RAW_BYTES = 4096 }; /* what it takes, with its row and its options */

/* A raw body: one item of the given kind, its bytes borrowed; a text is valid UTF-8. Options follow
 * (codec_parse_option). */
enum err_code codec_parse_raw(struct predict_call *out, enum engine_kind kind, const char *body,
                              size_t len, struct arena *arena, struct err *err);

#endif
