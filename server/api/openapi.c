#include "server/openapi/openapi.h"
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/routes.h"
#include "server/serve/claim.h"

/* The rows of the route table that the document describes. NULL if there is no memory. */
static struct openapi_route *routes_of(struct arena *arena)
{
    static const char *const verbs[] = {
        [HTTP_GET] = "get", [HTTP_POST] = "post", [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete"};
    struct openapi_route *rows = arena_alloc_array(arena, routes_count(), sizeof *rows);
    for (unsigned i = 0; rows != NULL && i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        rows[i] = (struct openapi_route){.pattern = route->pattern,
                                         .method = verbs[route->method],
                                         .has_body = route->has_body,
                                         .is_body_optional = route->is_body_optional,
                                         .changes_state = route_changes_state(route),
                                         .scope = scope_name(route->scope),
                                         .says = &route->says};
    }
    return rows;
}

enum http_next openapi_one(struct service *service, struct request *request)
{
    static const struct http_field none[] = {{NULL, NULL}};
    struct arena *arena = &request->exchange->arena;
    size_t len = 0;
    if (claim_reply(service, request, OPENAPI_BYTES))
        return reply_problem(request);
    const struct openapi_source source = {routes_of(arena), routes_count(), request->snapshot};
    const char *json = source.routes != NULL ? openapi_document(&source, arena, &len) : NULL;
    if (json == NULL)
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the document");
    if (json == NULL || reply_tagged(request, "application/json", json, len, none))
        return reply_problem(request);
    return HTTP_REPLY;
}
