#include "server/api/cors.h"

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

/* The reply's own headers and these, whose names end with NULL. */
static void add_headers(struct request *request, const struct http_field *fields, size_t count)
{
    const struct http_field *own = request->exchange->reply.more;
    size_t had = 0;
    while (own != NULL && own[had].name != NULL)
        had++;
    struct http_field *all =
        arena_alloc_array(&request->exchange->arena, had + count + 1, sizeof *all);
    if (all == NULL)
        return;
    if (had > 0)
        memcpy(all, own, had * sizeof *all);
    memcpy(all + had, fields, count * sizeof *all);
    request->exchange->reply.more = all;
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
                                        {"Access-Control-Max-Age", SECONDS}};
    reply_fill(request, 204, NULL, "", 0);
    if (methods != NULL)
        add_headers(request, fields, sizeof fields / sizeof fields[0]);
    return true;
}

void cors_add(struct request *request)
{
    const struct http_field fields[] = {{"Vary", "Origin"},
                                        {"Access-Control-Allow-Origin", listed_origin(request)},
                                        {"Access-Control-Expose-Headers", EXPOSED}};
    const bool changes = request->route != NULL && route_changes_state(request->route);
    if (origins_of(request)[0] != '\0')
        add_headers(request, fields, fields[1].value != NULL && !changes ? 3 : 1);
}
