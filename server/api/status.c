#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/serve/claim.h"

#include <string.h>

static enum http_next reply_text(struct request *request, const char *json)
{
    return reply_json(request, 200, json, strlen(json), "");
}

enum http_next status_alive(struct service *service, struct request *request)
{
    (void)service;
    return reply_text(request, "{\"status\":\"ok\"}");
}

enum http_next status_ready(struct service *service, struct request *request)
{
    int phase = atomic_load(&service->phase);
    if (phase == SERVICE_READY)
        return reply_text(request, "{\"status\":\"ready\"}");
    err_set(&request->err, ERR_NOT_READY,
            phase == SERVICE_STARTING ? "the models are being loaded" : "the server is draining");
    return reply_problem(request);
}

enum http_next status_metrics(struct service *service, struct request *request)
{
    size_t len = 0;
    if (claim_reply(service, request, metrics_expose_bytes(service->metrics)))
        return reply_problem(request);
    const char *text = metrics_expose(service->metrics, &request->exchange->arena, &len);
    if (text == NULL) {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the metrics");
        return reply_problem(request);
    }
    reply_fill(request, 200, "text/plain; version=0.0.4; charset=utf-8", text, len);
    return HTTP_REPLY;
}
