/* routes.h - the static table of the server's routes, and the application behind http.h.
 *
 * A route's `head` may refuse from the headers alone, `begin` answers or suspends once the body is
 * whole, `finish` fills the reply after a suspension. Every exchange, also one that http.c refuses,
 * passes through here, so that each becomes one record for the observers.
 *
 * Threads: the table is constant.
 */
#ifndef ATTND_SERVER_API_ROUTES_H
#define ATTND_SERVER_API_ROUTES_H

#include "server/api/route.h"

enum { ROUTES_ALLOW_BYTES = 32 };

/* The route of a path; ERR_NOT_FOUND, or ERR_METHOD with the value of the Allow header. */
enum err_code routes_find(const struct route **out, char allow[ROUTES_ALLOW_BYTES],
                          const char *path, enum http_method method, struct err *err);

/* The rows of the table, in order. */
unsigned routes_count(void);
const struct route *routes_at(unsigned index);

/* Their paths, in order, each once: the metrics' routes. */
unsigned routes_path_count(void);
const char *routes_path(unsigned index);
bool routes_path_takes_model(unsigned index); /* whether its requests are counted under a model */
unsigned routes_path_of(const struct route *route);

/* Work of the prepare pool for a request, by its route; for prepare_start. */
bool routes_work(void *context, struct request *request);

/* The functions for http_start. */
struct http_app routes_app(struct service *service);

#endif
