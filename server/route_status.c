#include "server/claim.h"
#include "server/routes.h"

#include <string.h>

static enum http_next reply_json(struct request *request, const char *json)
{
    request_reply(request, 200, "application/json", json, strlen(json));
    return HTTP_REPLY;
}

enum http_next route_status_alive(struct service *service, struct request *request)
{
    (void)service;
    return reply_json(request, "{\"status\":\"ok\"}");
}

enum http_next route_status_ready(struct service *service, struct request *request)
{
    int phase = atomic_load(&service->phase);
    if (phase == SERVICE_READY)
        return reply_json(request, "{\"status\":\"ready\"}");
    err_set(&request->err, ERR_NOT_READY,
            phase == SERVICE_STARTING ? "the models are being loaded" : "the server is draining");
    request_reply_problem(request);
    return HTTP_REPLY;
}

enum http_next route_status_metrics(struct service *service, struct request *request)
{
    size_t len = 0;
    if (claim_reply(service, request, metrics_expose_bytes(service->metrics))) {
        request_reply_problem(request);
        return HTTP_REPLY;
    }
    const char *text = metrics_expose(service->metrics, &request->exchange->arena, &len);
    if (text == NULL) {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the metrics");
        request_reply_problem(request);
    } else {
        request_reply(request, 200, "text/plain; version=0.0.4; charset=utf-8", text, len);
    }
    return HTTP_REPLY;
}

enum err_code route_status_reload(struct service *service, struct request *request)
{
    (void)service;
    return err_set(&request->err, ERR_NOT_IMPLEMENTED,
                   "reloading is not implemented; restart the server to change its configuration");
}
