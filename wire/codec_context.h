/* codec_context.h - `context`: where in the fab an input comes from. It is checked, kept as JSON
 * text and goes back as it came.
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_WIRE_CODEC_CONTEXT_H
#define ATTND_WIRE_CODEC_CONTEXT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "wire/elide.h"

#include <stdbool.h>

struct json_t; /* jansson's */

/* The context of a call keeps every double exactly. The context of an item goes through the tree of
 * the reply, whose reals have ANSWER_DIGITS digits. A number that needs more digits is refused
 * there; the client can send it as a string. */
enum codec_context_place { CODEC_CONTEXT_OF_CALL, CODEC_CONTEXT_OF_ITEM };

/* The value of `context` at the JSON path, and its lot; NULL or null: both stay. ERR_UNUSABLE with
 * the path, ERR_NO_MEMORY. */
enum err_code codec_context_read(struct json_t *context, const char *path,
                                 const struct elided *elided, enum codec_context_place place,
                                 struct arena *arena, const char **out, const char **lot,
                                 struct err *err);

/* One member from a query: `context.lot=A1`, name being "lot". A later one of the same name
 * replaces the earlier. Coordinates that are numbers become numbers. */
enum err_code codec_context_set(const char **context, const char **lot, const char *name,
                                const char *value, struct arena *arena, struct err *err);

/* Puts the members of `asked`, a context as codec_context_set makes it or NULL, into another one,
 * which may be NULL. ERR_UNUSABLE if that one has another value of a member. */
enum err_code codec_context_merge(const char **context, const char **lot, const char *asked,
                                  struct arena *arena, struct err *err);

/* True if a context as codec_context_set makes it, or NULL, has the member. */
bool codec_context_has(const char *context, const char *name);

#endif
