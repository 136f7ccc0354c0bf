/* reply.h - fills the reply of an exchange from its request.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_REPLY_H
#define ATTND_SERVER_API_REPLY_H

#include "server/serve/request.h"

/* The bytes of a body are the arena's, or static. */
void reply_fill(struct request *request, unsigned status, const char *content_type,
                const char *body, size_t len);

/* The same for a part of a 200 that goes on, while the request stays in its phase. */
void reply_part(struct request *request, const char *content_type, const char *body, size_t len);

/* A 200 that a client may keep: with its tag and the headers of `more` (their names end with NULL),
 * or, for who has it, a 304. ERR_NO_MEMORY, and there is no reply yet. */
enum err_code reply_tagged(struct request *request, const char *content_type, const char *body,
                           size_t len, const struct http_field *more);

/* The fields of `first` and then those of `more`, each ended by a NULL name; `first` may be NULL.
 * The list is the arena's. NULL: out of memory. */
const struct http_field *reply_fields(const struct http_field *first, const struct http_field *more,
                                      struct arena *arena);

/* request->err as application/problem+json, with Retry-After where the status calls for it. */
enum http_next reply_problem(struct request *request);

/* How a handler ends: `json` with the status, or the request's error. Without json and without an
 * error the reply is ERR_NO_MEMORY with the text `no_memory`. */
enum http_next reply_json(struct request *request, unsigned status, const char *json, size_t len,
                          const char *no_memory);

#endif
