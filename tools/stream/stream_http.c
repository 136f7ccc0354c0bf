#include "tools/stream/stream_http.h"

#include "server/http/http.h"
#include "wire/problem.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS_MAX = 16,
    TIMEOUT_MS = 10000,
    MEMORY_BYTES = 16 * 1024 * 1024,
    STATUS_OK = 200,
    STATUS_ERROR = 500,
    STATUS_NOT_READY = 503,
};

struct stream_http {
    const struct stream_metrics *metrics;
    struct http_app app;
    struct memory memory;
    struct http_server *server;
};

static void answer(struct http_exchange *exchange, unsigned status, const char *type,
                   const char *body, size_t len)
{
    exchange->reply =
        (struct http_reply){.status = status, .content_type = type, .body = body, .body_len = len};
}

static void answer_text(struct http_exchange *exchange, unsigned status, const char *text)
{
    answer(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void answer_page(const struct stream_http *http, struct http_exchange *exchange)
{
    char *bytes = NULL;
    const char *copy = NULL;
    size_t len;
    FILE *file = open_memstream(&bytes, &len);
    if (file != NULL) {
        stream_metrics_write(http->metrics, file);
        if (fclose(file) == 0)
            copy = arena_copy(&exchange->arena, bytes, len);
        free(bytes);
    }
    if (copy == NULL)
        answer_text(exchange, STATUS_ERROR, "out of memory\n");
    else
        answer(exchange, STATUS_OK, "text/plain; version=0.0.4; charset=utf-8", copy, len);
}

/* Bodies are not looked at: all routes are GET. */
static enum http_next head(void *context, struct http_exchange *exchange)
{
    const struct stream_http *http = context;
    exchange->body_bytes_max = 0;
    if (exchange->method != HTTP_GET && exchange->method != HTTP_HEAD) {
        answer_text(exchange, problem_status(ERR_METHOD), "only GET and HEAD\n");
        exchange->reply.allow = "GET, HEAD";
    } else if (strcmp(exchange->path, "/metrics") == 0) {
        answer_page(http, exchange);
    } else if (strcmp(exchange->path, "/healthz") == 0) {
        answer_text(exchange, STATUS_OK, "ok\n");
    } else if (strcmp(exchange->path, "/readyz") == 0) {
        bool is_ready = atomic_load(&http->metrics->is_ready);
        answer_text(exchange, is_ready ? STATUS_OK : STATUS_NOT_READY,
                    is_ready ? "ready\n" : "not ready\n");
    } else {
        answer_text(exchange, problem_status(ERR_NOT_FOUND),
                    "there are /metrics, /healthz and /readyz\n");
    }
    return HTTP_REPLY;
}

static enum http_next begin(void *context, struct http_exchange *exchange)
{
    return head(context, exchange);
}

/* Does nothing: no exchange is suspended, and an exchange has no data of its own. */
static void nothing(void *context, struct http_exchange *exchange)
{
    (void)context;
    (void)exchange;
}

static void refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    const char *text = arena_copy(&exchange->arena, err->text, strlen(err->text));
    (void)context;
    answer_text(exchange, problem_status(err->code), text != NULL ? text : "refused\n");
}

enum err_code stream_http_start(struct stream_http **out, const char *address, unsigned port,
                                const struct stream_metrics *metrics, struct err *err)
{
    struct stream_http *http = *out = calloc(1, sizeof *http);
    if (http == NULL)
        return err_no_memory(err, sizeof *http);
    http->metrics = metrics;
    http->app = (struct http_app){.context = http,
                                  .head = head,
                                  .begin = begin,
                                  .finish = nothing,
                                  .refuse = refuse,
                                  .done = nothing};
    memory_init(&http->memory, MEMORY_BYTES, 0, 0);
    const struct http_options options = {.address = address,
                                         .port = port,
                                         .io_threads = 1,
                                         .connections_max = CONNECTIONS_MAX,
                                         .header_timeout_ms = TIMEOUT_MS,
                                         .body_timeout_ms = TIMEOUT_MS,
                                         .body_bytes_max = 1,
                                         .memory = &http->memory};
    return http_start(&http->server, &options, &http->app, err);
}

unsigned stream_http_port(const struct stream_http *http)
{
    return http_port(http->server);
}

void stream_http_stop(struct stream_http *http)
{
    if (http == NULL)
        return;
    if (http->server != NULL)
        http_stop(http->server);
    free(http);
}
