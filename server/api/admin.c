/* admin.c - changes the served models and options by a request. guard.h says whose. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/json/codec_models.h"

enum http_next admin_reload_begin(struct service *service, struct request *request)
{
    struct reloader_order *order = arena_alloc_array(&request->exchange->arena, 1, sizeof *order);
    if (order == NULL) {
        err_no_memory(&request->err, sizeof *order);
        reply_problem(request);
        return HTTP_REPLY;
    }
    order->request = request;
    request->state = order;
    http_suspend(request->exchange);
    if (reloader_submit(service->reloader, order, &request->err))
        http_resume(request->exchange);
    return HTTP_SUSPENDED;
}

void admin_reload_finish(struct service *service, struct request *request)
{
    const struct reloader_order *order = request->state;
    size_t len = 0;
    (void)service;
    const char *json = request->err.code == ERR_OK
                           ? codec_encode_reload(&order->result, &request->exchange->arena, &len)
                           : NULL;
    if (request->err.code == ERR_OK && json == NULL)
        err_set(&request->err, ERR_NO_MEMORY, "reloaded, but out of memory for the reply");
    if (json != NULL)
        reply_fill(request, 200, "application/json", json, len);
    else
        reply_problem(request);
}
