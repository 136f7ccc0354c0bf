/* cors.c - which pages of other origins may read answers: those that cors_origins lists, of routes
 * that change nothing. guard.h still refuses pages of other origins wherever something changes,
 * whatever the option says.
 *
 * A browser asks before it sends JSON or a key from another origin (OPTIONS, the preflight): that
 * is answered here, without a key, since a browser sends none with it. Every answer, also a
 * refusal, then says which origin may read it, and that caches must not mix them. No cookies are
 * allowed, since attnd has none.
 *
 * Source: the Fetch standard, section 3.2 (CORS protocol). */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/serve/snapshots.h"

#include <string.h>

#define HEADERS                                                                                    \
    "Authorization, Content-Type, Content-Encoding, If-None-Match, X-Request-Id, traceparent"
#define EXPOSED "ETag, Retry-After, X-Request-Id, traceparent"
#define SECONDS "600"

static const char *origins_of(const struct request *request)
{
    const char *origins = request->snapshot->config.cors_origins;
    return origins != NULL ? origins : "";
}

/* The request's origin, if it is one of the list (which the configuration has checked). */
static const char *listed_origin(const struct request *request)
{
    const char *origin = http_header(request->exchange, "Origin");
    const size_t len = origin != NULL ? strlen(origin) : 0;
    for (const char *at = origins_of(request); len > 0 && *at != '\0';) {
        const size_t part = strcspn(at, ",");
        if (part == len && memcmp(at, origin, len) == 0)
            return origin;
        at += part + (at[part] == ',');
    }
    return NULL;
}

/* Adds to the reply's own headers. */
static void add_headers(struct request *request, const struct http_field *fields)
{
    struct http_reply *reply = &request->exchange->reply;
    const struct http_field *all = reply_fields(reply->more, fields, &request->exchange->arena);
    if (all != NULL)
        reply->more = all;
}

bool cors_preflight(struct request *request, const char *allow)
{
    const struct http_exchange *exchange = request->exchange;
    if (origins_of(request)[0] == '\0' || exchange->method != HTTP_OPTIONS ||
        http_header(exchange, "Access-Control-Request-Method") == NULL)
        return false;
    request->err = (struct err){0};
    if (listed_origin(request) == NULL || allow[0] == '\0') {
        err_set(&request->err, ERR_FORBIDDEN,
                allow[0] != '\0' ? "cors_origins does not list the origin of this page"
                                 : "routes that change something do not answer pages of another "
                                   "origin");
        reply_problem(request);
        return true;
    }
    const char *methods = arena_copy(&request->exchange->arena, allow, strlen(allow));
    const struct http_field fields[] = {{"Access-Control-Allow-Methods", methods},
                                        {"Access-Control-Allow-Headers", HEADERS},
                                        {"Access-Control-Max-Age", SECONDS},
                                        {NULL, NULL}};
    reply_fill(request, 204, NULL, "", 0);
    if (methods != NULL)
        add_headers(request, fields);
    return true;
}

void cors_add(struct request *request)
{
    const bool changes = request->route != NULL && route_changes_state(request->route);
    const char *origin = changes ? NULL : listed_origin(request);
    const struct http_field fields[] = {
        {"Vary", "Origin"},
        {origin != NULL ? "Access-Control-Allow-Origin" : NULL, origin},
        {"Access-Control-Expose-Headers", EXPOSED},
        {NULL, NULL}};
    if (origins_of(request)[0] != '\0')
        add_headers(request, fields);
}
