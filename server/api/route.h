/* route.h - one row of the table of routes: a pattern of paths, a method, what it says of itself,
 * and its handlers.
 *
 *     {"/models/{name}", HTTP_GET, .says = {"getModel", "One model", .schema = "Model"},
 *      .begin = models_one}
 *     const char *name = request_value(request, "name");
 *
 * Threads: routes are constant.
 */
#ifndef ATTND_SERVER_API_ROUTE_H
#define ATTND_SERVER_API_ROUTE_H

#include "server/auth/keys.h"
#include "server/openapi/openapi.h"
#include "server/protocol/protocol.h"

struct route {
    const char *pattern;     /* "{name}" is one element of the path; also the metrics' label */
    enum http_method method; /* HTTP_GET also answers HEAD */
    enum scope scope;        /* what a key must have, if there are keys; SCOPE_OPEN: none */
    struct openapi_operation says;
    const struct protocol *protocol; /* of one that asks for predictions; else NULL */
    /* May refuse from the headers, by request->err. NULL: never refuses. */
    enum err_code (*head)(struct service *service, struct request *request);
    enum http_next (*begin)(struct service *service, struct request *request);
    void (*finish)(struct service *service, struct request *request); /* NULL: never suspends */
    /* The next part of a reply in parts, as http_app has it. NULL: replies have no parts. */
    enum http_next (*more)(struct service *service, struct request *request);
    /* On a thread of the prepare pool, to which `begin` gave the request; as prepare_start has it,
     * of which `context` is the service. NULL: it never goes there. */
    bool (*work)(void *context, struct request *request);
    bool has_body;
    bool is_body_optional; /* it may also have none */
    bool is_everywhere;    /* also on the address for administration, if there is one */
    bool is_safe; /* a POST that changes nothing; of any other guard.h decides who may send it */
};

/* True if requests to the route change the server's state. */
bool route_changes_state(const struct route *route);

/* True if the address serves the route. If there is an address for administration, it alone serves
 * the admin routes, and the other address serves the rest: a firewall can then close either one.
 * Routes with is_everywhere are on both: monitors ask for readiness and metrics where clients have
 * no access. */
bool route_is_at(const struct route *route, bool has_admin_address, bool is_admin_address);

/* All of them. */
enum { ROUTE_COUNT_MAX = 64 };
extern const struct route route_table[]; /* [route_count] */
extern const unsigned route_count;

#endif
