/* codec_check.h - what a value must satisfy, whether it is a JSON member or an option of a query
 * string. Private to the codec. Every error is ERR_UNUSABLE and starts with the place: `path` is
 * the object's ("$", "$.context": "$.context.lot") or CODEC_CHECK_QUERY ("?id"). Threads: no state.
 */
#ifndef ATTND_WIRE_CODEC_CHECK_H
#define ATTND_WIRE_CODEC_CHECK_H

#include "wire/call.h"
#include "wire/codec_names.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    CODEC_DEADLINE_MS_MAX = 86400000,   /* a day */
    CODEC_QUESTION_TOKENS_MAX = 100000, /* of max_seq_len and others; a model tells its own */
    CODEC_LAYER_MAX = 1000,             /* of explain_layer; a model tells its own */
};

#define CODEC_CHECK_QUERY "?" /* the path of options */

bool codec_check_listed(const char *name, const struct codec_names *known);

/* The error of a name that is none of the known ones; `what` is "member" or "option". */
enum err_code codec_check_unknown(const char *path, const char *key, const char *what,
                                  const struct codec_names *known, struct err *err);

struct json_t; /* jansson's */

/* An object of a request has none but the known members. */
enum err_code codec_check_members(const struct json_t *object, const char *path,
                                  const struct codec_names *known, struct err *err);

/* At most bytes_max bytes without control characters; the label is valid UTF-8. */
enum err_code codec_check_label(const char *label, size_t len, size_t bytes_max, const char *path,
                                const char *key, struct err *err);

/* The member path.key of an object, checked like a label, into the arena; *out stays if there is
 * none. */
enum err_code codec_check_text(const struct json_t *object, const char *path, const char *key,
                               size_t bytes_max, struct arena *arena, const char **out,
                               struct err *err);

/* codec_inputs.c: how many elements the member "inputs" of a JSON body has, without a parser: of a
 * body with more tokens than the parser takes. 0 if there is no such array at the top of the
 * object; of what is not JSON, any number. */
size_t codec_inputs_count(const char *text, size_t len);

/* The word of an `explain`. */
enum err_code codec_check_method(const char *word, size_t len, const char *path,
                                 enum explain_method *out, struct err *err);

/* The word of `aggregation`, `encoding`, `chunks` or `long_text`, into its place in the call. */
enum err_code codec_check_word(struct predict_call *call, const char *key, const char *word,
                               size_t len, const char *path, struct err *err);

/* Options of explanations are refused without one. */
enum err_code codec_check_explain(const struct predict_call *call, const char *path,
                                  struct err *err);

#endif
