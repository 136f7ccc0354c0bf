#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/serve/claim.h"

#include <string.h>

static enum http_next reply_json(struct request *request, const char *json)
{
    reply_fill(request, 200, "application/json", json, strlen(json));
    return HTTP_REPLY;
}

enum http_next status_alive(struct service *service, struct request *request)
{
    (void)service;
    return reply_json(request, "{\"status\":\"ok\"}");
}

enum http_next status_ready(struct service *service, struct request *request)
{
    int phase = atomic_load(&service->phase);
    if (phase == SERVICE_READY)
        return reply_json(request, "{\"status\":\"ready\"}");
    err_set(&request->err, ERR_NOT_READY,
            phase == SERVICE_STARTING ? "the models are being loaded" : "the server is draining");
    reply_problem(request);
    return HTTP_REPLY;
}

enum http_next status_metrics(struct service *service, struct request *request)
{
    size_t len = 0;
    if (claim_reply(service, request, metrics_expose_bytes(service->metrics))) {
        reply_problem(request);
        return HTTP_REPLY;
    }
    const char *text = metrics_expose(service->metrics, &request->exchange->arena, &len);
    if (text == NULL) {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the metrics");
        reply_problem(request);
    } else {
        reply_fill(request, 200, "text/plain; version=0.0.4; charset=utf-8", text, len);
    }
    return HTTP_REPLY;
}
