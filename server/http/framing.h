/* framing.h - finds the end of a request's body from its head, or refuses the head.
 *
 * Two HTTP implementations that disagree about a body's end allow request smuggling (RFC 9112,
 * section 11.2). So anything that another HTTP implementation might read differently is refused
 * here, before a byte of the body is taken. Pure functions over what the HTTP library parsed.
 *
 *     struct framing framing;
 *     if (framing_check(&framing, "POST", "HTTP/1.1", fields, count, &err)) ... 400, close
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_HTTP_FRAMING_H
#define ATTND_SERVER_HTTP_FRAMING_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A header or trailer line; both strings are also NUL-terminated. */
struct framing_field {
    const char *name;
    size_t name_len;
    const char *value;
    size_t value_len;
};

enum framing_body { FRAMING_NO_BODY, FRAMING_LENGTH, FRAMING_CHUNKED };

struct framing {
    enum framing_body body;
    uint64_t length;       /* FRAMING_LENGTH: above zero; UINT64_MAX: that or more */
    bool has_length;       /* a length or chunks, also if there are no bytes */
    bool expects_continue; /* the client sends its body only after "100 Continue" */
};

/* ERR_MALFORMED. A POST without a length has no body (RFC 9112, section 6.3). */
enum err_code framing_check(struct framing *out, const char *method, const char *version,
                            const struct framing_field *fields, size_t count, struct err *err);

/* Trailers must not contain framing or routing fields (RFC 9110, section 6.5.1). ERR_MALFORMED. */
enum err_code framing_check_trailers(const struct framing_field *fields, size_t count,
                                     struct err *err);

/* Writes the percent-decoded path of a request target (query cut off, scheme and authority of an
 * absolute form too) to path, which has room for strlen(target) + 1 bytes. ERR_MALFORMED for a
 * target of no known form, a fragment, a byte that does not belong there, bad percent-encoding,
 * %00, and in the path an encoded slash or unreserved byte (RFC 3986, section 2.3). */
enum err_code framing_path(char *path, const char *method, const char *target, struct err *err);

/* The byte that "%XY" stands for; 0, which is refused everywhere, if it is not one. */
char framing_decode_escape(const char *escape);

/* ---- the query ---- */

/* The arguments of a request target: behind `?`, separated by `&`. The HTTP library could parse
 * them, but it ignores that its memory cannot hold them, and then neither answers such a request
 * nor ends it. So they are hidden from it (http_head.h) and parsed here.
 *
 *     struct query query;
 *     if (query_parse(&query, "/predict?top_k=3&raw", &arena, &err)) ... 413
 *     query.arguments[1].name is "raw", its value NULL
 */

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

#endif
