/* cors.h - which pages of other origins may read answers: those that cors_origins lists, of routes
 * that change nothing. guard.h still refuses pages of other origins wherever something changes,
 * whatever the option says.
 *
 * A browser asks before it sends JSON or a key from another origin (OPTIONS, the preflight): that
 * is answered here, without a key, since a browser sends none with it. Every answer, also a
 * refusal, then says which origin may read it, and that caches must not mix them. No cookies are
 * allowed, since attnd has none.
 *
 * Source: the Fetch standard, section 3.2 (CORS protocol).
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_CORS_H
#define ATTND_SERVER_API_CORS_H

#include "server/serve/request.h"

#include <stdbool.h>

/* From the head, before the route's method is judged: answers a preflight of a path that there is.
 * `allow`: what the path's routes that change nothing answer to, "GET, HEAD". False: it is none, or
 * the option is empty. */
bool cors_preflight(struct request *request, const char *allow);

/* Adds to a reply that is filled in what a page of another origin needs; nothing if the option is
 * empty. Without memory the page cannot read the answer. */
void cors_add(struct request *request);

#endif
