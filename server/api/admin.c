/* admin.c - changes the served models and options by a request. guard.h says whose. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/json/codec_models.h"

enum http_next admin_reload_begin(struct service *service, struct request *request)
{
    http_suspend(request->exchange);
    if (!reloader_submit(service->reloader, request, &request->err))
        return HTTP_SUSPENDED;
    http_resume(request->exchange);
    return HTTP_SUSPENDED;
}

void admin_reload_finish(struct service *service, struct request *request)
{
    size_t len = 0;
    (void)service;
    const char *json = request->err.code == ERR_OK
                           ? codec_encode_reload(request->reload, &request->exchange->arena, &len)
                           : NULL;
    if (request->err.code == ERR_OK && json == NULL)
        err_set(&request->err, ERR_NO_MEMORY, "reloaded, but out of memory for the reply");
    if (json != NULL)
        reply_fill(request, 200, "application/json", json, len);
    else
        reply_problem(request);
}
