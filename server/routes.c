/* routes.c - see routes.h. The table stands first; below it are the five functions that http.h asks
 * for. They do for every route what no handler should repeat: the request's memory and id, 404 and
 * 405, the problem reply of a refusal, the counters and the log line. */
#include "server/routes.h"

#include "engine/base/clock.h"
#include "server/explain.h"
#include "server/log.h"

#include <string.h>

static const struct route table[] = {
    {"/predict", HTTP_POST, "/predict", route_predict_head, route_predict_begin,
     route_predict_finish, true},
    {"/healthz", HTTP_GET, "/healthz", NULL, route_status_alive, NULL, false},
    {"/readyz", HTTP_GET, "/readyz", NULL, route_status_ready, NULL, false},
    {"/metrics", HTTP_GET, "/metrics", NULL, route_status_metrics, NULL, false},
    {"/models", HTTP_GET, "/models", NULL, route_models_list, NULL, false},
    {"/models/", HTTP_GET, "/models/{name}", NULL, route_models_one, NULL, false},
    {"/", HTTP_GET, "/", NULL, route_page_file, NULL, false},
    {"/ui/", HTTP_GET, "/ui/{file}", NULL, route_page_file, NULL, false},
    {"/admin/reload", HTTP_POST, "/admin/reload", route_status_reload, NULL, NULL, true},
};

enum { ROUTES = sizeof table / sizeof table[0] };

static bool path_matches(const struct route *route, const char *path)
{
    size_t len = strlen(route->path);
    if (len == 1 || route->path[len - 1] != '/')
        return strcmp(path, route->path) == 0;
    return strncmp(path, route->path, len) == 0 && path[len] != '\0' &&
           strchr(path + len, '/') == NULL;
}

enum err_code routes_find(const struct route **out, const char **allow, const char *path,
                          enum http_method method, struct err *err)
{
    *out = NULL;
    *allow = NULL;
    unsigned at = 0;
    while (at < ROUTES && !path_matches(&table[at], path))
        at++;
    if (at == ROUTES)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    *out = &table[at];
    if (table[at].method == wanted)
        return ERR_OK;
    *allow = table[at].method == HTTP_GET ? "GET, HEAD" : "POST";
    return err_set(err, ERR_METHOD, "%s answers only %s", table[at].label, *allow);
}

unsigned routes_count(void)
{
    return ROUTES;
}

const char *routes_label(unsigned index)
{
    return table[index].label;
}

bool routes_takes_model(unsigned index)
{
    return table[index].finish != NULL;
}

static int metrics_route(const struct request *request)
{
    return request->route == NULL ? METRICS_OTHER_ROUTE : (int)(request->route - table);
}

/* The one model that all rows of the request use, if there is one. */
static int metrics_model(const struct request *request)
{
    const struct registry_model *model = NULL;
    for (unsigned i = 0; request->rows != NULL && i < request->call.item_count; i++) {
        const struct registry_model *other = request->rows[i].model;
        if (other != NULL && model != NULL && other != model)
            return METRICS_NO_MODEL;
        model = other != NULL ? other : model;
    }
    return model == NULL ? METRICS_NO_MODEL : (int)model->index;
}

/* The exchange's request, made on first sight. Without memory for one, a bare 500 is the reply. */
static struct request *open_request(struct service *service, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    if (request == NULL)
        request = request_open(exchange, &service->ids);
    if (request != NULL && !request->counted) {
        request->counted = true;
        metrics_request_begin(service->metrics);
    }
    if (request == NULL)
        exchange->reply = (struct http_reply){
            .status = 500, .content_type = "text/plain", .body = "out of memory\n", .body_len = 14};
    return request;
}

static enum http_next problem(struct service *service, struct request *request)
{
    metrics_rejected(service->metrics, request->err.code);
    request_reply_problem(request);
    return HTTP_REPLY;
}

static enum http_next app_head(void *context, struct http_exchange *exchange)
{
    struct service *service = context;
    struct request *request = open_request(service, exchange);
    if (request == NULL)
        return HTTP_REPLY;
    const char *allow;
    if (routes_find(&request->route, &allow, exchange->path, exchange->method, &request->err)) {
        problem(service, request);
        exchange->reply.allow = allow;
        return HTTP_REPLY;
    }
    const struct route *route = request->route;
    exchange->body_bytes_max = route->has_body ? service->config->body_bytes_max : 0;
    if (route->head != NULL && route->head(service, request))
        return problem(service, request);
    return HTTP_CONTINUE;
}

static enum http_next app_begin(void *context, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    return request->route->begin(context, request);
}

static void app_finish(void *context, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    request->route->finish(context, request);
}

static void app_refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    struct service *service = context;
    struct request *request = open_request(service, exchange);
    if (request == NULL)
        return;
    request->err = *err;
    problem(service, request);
}

static void log_request(const struct request *request, double ms)
{
    struct http_exchange *exchange = request->exchange;
    if (!log_enabled(LOG_DEBUG))
        return;
    log_event(LOG_DEBUG, "request", LOG_TEXT("id", exchange->reply.request_id),
              LOG_TEXT("route", request->route != NULL ? request->route->label : "other"),
              LOG_NUMBER("status", exchange->reply.status),
              LOG_NUMBER("inputs", request->call.item_count), LOG_NUMBER("ms", ms),
              LOG_TEXT("context", request->call.context));
}

static void app_done(void *context, struct http_exchange *exchange)
{
    struct service *service = context;
    struct request *request = exchange->state;
    if (request == NULL)
        return;
    uint64_t now = clock_now_ns();
    double ms = exchange->head_ns != 0 ? clock_ms_between(exchange->head_ns, now) : 0;
    metrics_request_end(service->metrics, metrics_route(request), metrics_model(request),
                        exchange->reply.status, ms / 1000);
    log_request(request, ms);
    explain_release(service, request);
}

struct http_app routes_app(struct service *service)
{
    return (struct http_app){
        .context = service,
        .head = app_head,
        .begin = app_begin,
        .finish = app_finish,
        .refuse = app_refuse,
        .done = app_done,
    };
}
