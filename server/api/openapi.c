#include "server/openapi/openapi.h"
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/routes.h"
#include "server/serve/claim.h"

static const char *verb_of(enum http_method method)
{
    static const char *const verbs[] = {[HTTP_GET] = "get",
                                        [HTTP_POST] = "post",
                                        [HTTP_PATCH] = "patch",
                                        [HTTP_DELETE] = "delete"};
    return verbs[method];
}

/* The rows of the route table that the document describes. NULL if there is no memory. */
static struct openapi_route *routes_of(struct arena *arena)
{
    struct openapi_route *rows = arena_alloc_array(arena, routes_count(), sizeof *rows);
    for (unsigned i = 0; rows != NULL && i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        rows[i] = (struct openapi_route){.pattern = route->pattern,
                                         .method = verb_of(route->method),
                                         .has_body = route->has_body,
                                         .is_body_optional = route->is_body_optional,
                                         .changes_state = route_changes_state(route),
                                         .scope = scope_name(route->scope),
                                         .says = &route->says};
    }
    return rows;
}

static enum err_code fill(struct service *service, struct request *request)
{
    static const struct http_field none[] = {{NULL, NULL}};
    struct arena *arena = &request->exchange->arena;
    size_t len = 0;
    if (claim_reply(service, request, OPENAPI_BYTES))
        return request->err.code;
    const struct openapi_source source = {routes_of(arena), routes_count(), request->snapshot};
    const char *json = source.routes != NULL ? openapi_document(&source, arena, &len) : NULL;
    if (json == NULL)
        return err_set(&request->err, ERR_NO_MEMORY, "out of memory for the document");
    return reply_tagged(request, "application/json", json, len, none);
}

enum http_next openapi_one(struct service *service, struct request *request)
{
    if (fill(service, request))
        reply_problem(request);
    return HTTP_REPLY;
}
