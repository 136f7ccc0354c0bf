/* admin.c - changes the served models and options by a request. guard.h says whose. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/json/codec_models.h"

enum http_next admin_reload_begin(struct service *service, struct request *request)
{
    struct reloader_order *order = arena_alloc_array(&request->exchange->arena, 1, sizeof *order);
    if (order == NULL) {
        err_no_memory(&request->err, sizeof *order);
        return reply_problem(request);
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
    reply_json(request, 200, json, len, "reloaded, but out of memory for the reply");
}
