/* query.h - the arguments of a request target: behind `?`, separated by `&`.
 *
 * The HTTP library could parse them, but it ignores that its memory cannot hold them, and then
 * neither answers such a request nor ends it. So they are hidden from it (http_head.h) and parsed
 * here.
 *
 *     struct query query;
 *     if (query_parse(&query, "/predict?top_k=3&raw", &arena, &err)) ... 413
 *     query_find(&query, "raw")->value == NULL
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_HTTP_QUERY_H
#define ATTND_SERVER_HTTP_QUERY_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

/* Both percent-decoded, with a blank for each `+`. */
struct query_argument {
    const char *name;
    const char *value; /* NULL if there is no `=` */
};

struct query {
    struct query_argument *arguments;
    size_t count;
};

/* The target's percent-encoding must have been checked (framing_path). ERR_TOO_LARGE for more than
 * LIMIT_QUERY_ARGUMENTS. All memory comes from the arena. */
enum err_code query_parse(struct query *out, const char *target, struct arena *arena,
                          struct err *err);

/* The first of that name, or NULL. */
const struct query_argument *query_find(const struct query *query, const char *name);

#endif
