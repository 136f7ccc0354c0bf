#include "tools/stream/stream_metrics.h"

#include "server/http/http.h"
#include "wire/problem.h"

#include <stdlib.h>
#include <string.h>

static const unsigned bounds[STREAM_BUCKETS] = {1, 4, 16, 64, 256, 1024, 4096, 16384};

void stream_metrics_batch(struct stream_metrics *metrics, unsigned messages)
{
    unsigned b = 0;
    while (b < STREAM_BUCKETS && messages > bounds[b])
        b++;
    atomic_fetch_add(&metrics->batch_buckets[b], 1);
    atomic_fetch_add(&metrics->batch_messages, messages);
    atomic_fetch_add(&metrics->commits, 1);
}

static void family(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP attnd_stream_%s %s\n# TYPE attnd_stream_%s %s\n", name, help, name, type);
}

static void number(FILE *file, const char *name, const char *labels, double value)
{
    fprintf(file, "attnd_stream_%s%s %.17g\n", name, labels, value);
}

void stream_metrics_write(const struct stream_metrics *metrics, FILE *file)
{
    family(file, "messages_total", "counter", "Messages answered and committed, by outcome.");
    number(file, "messages_total", "{outcome=\"verdict\"}", (double)metrics->verdicts);
    number(file, "messages_total", "{outcome=\"problem\"}", (double)metrics->problems);
    number(file, "messages_total", "{outcome=\"dead_letter\"}", (double)metrics->dead_letters);
    family(file, "message_bytes_total", "counter", "Bytes of their values.");
    number(file, "message_bytes_total", "", (double)metrics->bytes);
    family(file, "dropped_total", "counter",
           "Messages read that went to another member with their partition before they were "
           "committed.");
    number(file, "dropped_total", "", (double)metrics->dropped);
    unsigned long long sum = 0;
    char label[40];
    family(file, "batch_messages", "histogram", "Messages of a committed batch.");
    for (unsigned b = 0; b < STREAM_BUCKETS; b++) {
        sum += metrics->batch_buckets[b];
        snprintf(label, sizeof label, "{le=\"%u\"}", bounds[b]);
        number(file, "batch_messages_bucket", label, (double)sum);
    }
    sum += metrics->batch_buckets[STREAM_BUCKETS];
    number(file, "batch_messages_bucket", "{le=\"+Inf\"}", (double)sum);
    number(file, "batch_messages_sum", "", (double)metrics->batch_messages);
    number(file, "batch_messages_count", "", (double)sum);
    family(file, "stage_seconds_total", "counter", "Time of batches, by stage.");
    number(file, "stage_seconds_total", "{stage=\"compute\"}", (double)metrics->compute_us / 1e6);
    number(file, "stage_seconds_total", "{stage=\"commit\"}", (double)metrics->commit_us / 1e6);
    family(file, "transactions_total", "counter", "Transactions, by how they ended.");
    number(file, "transactions_total", "{result=\"commit\"}", (double)metrics->commits);
    number(file, "transactions_total", "{result=\"abort\"}", (double)metrics->aborts);
    family(file, "lag_messages", "gauge", "Messages of the assigned partitions not read yet.");
    number(file, "lag_messages", "", (double)metrics->kafka.lag);
    family(file, "partitions", "gauge", "Partitions that are assigned.");
    number(file, "partitions", "", (double)metrics->kafka.partitions);
    family(file, "rebalances_total", "counter", "Times that partitions were given or taken away.");
    number(file, "rebalances_total", "", (double)metrics->kafka.rebalances);
    family(file, "ready", "gauge", "Whether it reads: 1, or 0 at the start and while it drains.");
    number(file, "ready", "", metrics->is_ready ? 1 : 0);
    family(file, "build_info", "gauge", "The version.");
    number(file, "build_info", "{version=\"" ATTND_VERSION "\"}", 1);
}

/* ---- the page over HTTP ---- */

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

/* Bodies are not looked at: all routes are GET. */
static enum http_next head(void *context, struct http_exchange *exchange)
{
    const struct stream_http *http = context;
    exchange->body_bytes_max = 0;
    if (exchange->method != HTTP_GET && exchange->method != HTTP_HEAD) {
        answer_text(exchange, problem_status(ERR_METHOD), "only GET and HEAD\n");
        exchange->reply.allow = "GET, HEAD";
    } else if (strcmp(exchange->path, "/metrics") == 0) {
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
