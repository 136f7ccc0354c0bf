/* memory_plan.c - see memory_plan.h.
 *
 * Three costs are constants, measured on x86-64 with glibc 2.36 (2026-11):
 *
 *     process      12 MiB resident with the smallest shipped model but without its weights and
 *                  workspace: 8 of program and libraries, 4 of heaps and stacks. Doubled for what
 *                  is only touched under load: OpenBLAS's buffers, the heaps of more threads.
 *     thread       its stack as deep as a decoder and the JSON parser touch it
 *     connection   the library's pool (http.c), its and our structures, the arena's first block of
 *                  a request in progress, and the kernel's socket; with TLS what GnuTLS keeps of a
 *                  client (http.h)
 */
#include "server/memory_plan.h"

#include "engine/engine.h"
#include "server/api/routes.h"
#include "server/bounds/memory.h"
#include "server/feedback/feedback.h"
#include "server/http/http.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/otlp/otlp_exporter.h"
#include "server/review/review.h"
#include "server/serve/served_model.h"
#include "wire/limits.h"

enum {
    PROCESS_BYTES = 24 * 1024 * 1024,
    THREAD_BYTES = 256 * 1024,
    CONNECTION_BYTES = HTTP_CONNECTION_BYTES + 20 * 1024 + 4 * 1024,
    QUEUE_PLACE_BYTES = 128, /* an entry, and its part of each worker's batch */
};

static const struct {
    const char *name, *options;
} rows[MEMORY_ITEMS] = {
    [MEMORY_PROCESS] = {"process", ""},
    [MEMORY_MODELS] = {"models", "models"},
    [MEMORY_SESSIONS] = {"sessions", "workers, threads_per_worker, batch_tokens_max"},
    [MEMORY_CONNECTIONS] = {"connections", "connections_max"},
    [MEMORY_QUEUE] = {"queue", "queue_limit"},
    [MEMORY_METRICS] = {"metrics", "models, drift_window"},
    [MEMORY_FEEDBACK] = {"feedback", "feedback_window"},
};

static void add(struct memory_plan *plan, enum memory_item item, size_t bytes)
{
    plan->items[item] = memory_sum(plan->items[item], bytes);
    plan->fixed_bytes = memory_sum(plan->fixed_bytes, bytes);
}

static enum err_code add_models(struct memory_plan *out, const struct config *config,
                                const struct plan *plan, struct err *err)
{
    size_t labels = 0;
    for (unsigned i = 0; i < config->model_count; i++) {
        struct engine_cost cost;
        const struct engine_options options = {.dtype = config->models[i].dtype,
                                               .writes_texts = true};
        if (engine_measure(&cost, config->models[i].dir, &options, plan->batch_tokens,
                           plan->threads_per_worker, err))
            return err_prefix(err, "model %s: ", config->models[i].name);
        add(out, MEMORY_MODELS,
            memory_sum(memory_product(cost.model_bytes, plan->copies), served_model_labels(&cost)));
        add(out, MEMORY_SESSIONS, memory_product(cost.session_bytes, plan->workers));
        out->each[i] = served_model_sum(&cost, plan);
        labels += cost.label_count;
    }
    out->model_bytes = memory_sum(out->items[MEMORY_MODELS], out->items[MEMORY_SESSIONS]);
    add(out, MEMORY_METRICS, metrics_bytes(routes_path_count(), config->model_count, labels));
    add(out, MEMORY_METRICS, drift_bytes(config->drift_window));
    add(out, MEMORY_METRICS, label_shares_bytes());
    return ERR_OK;
}

static size_t connections(const struct config *config)
{
    const bool has_admin = config->admin_listen != NULL && config->admin_listen[0] != '\0';
    return memory_sum(config->connections_max, has_admin ? LIMIT_ADMIN_CONNECTIONS : 0);
}

enum err_code memory_plan_make(struct memory_plan *out, const struct config *config,
                               const struct plan *plan, unsigned io_threads, struct err *err)
{
    struct ram_limit limit = ram_limit("");
    if (config->memory_max != 0)
        limit = (struct ram_limit){.bytes = config->memory_max, .source = "memory_max"};
    *out = (struct memory_plan){.max_bytes = limit.bytes, .source = limit.source};
    size_t threads = memory_product(plan->workers, plan->threads_per_worker);
    threads = memory_sum(threads, io_threads);
    add(out, MEMORY_PROCESS, memory_sum(PROCESS_BYTES, memory_product(threads, THREAD_BYTES)));
    /* a socket of administration in the file system speaks no TLS, and is counted as if it did */
    const bool has_tls = config->tls_cert_file != NULL && config->tls_cert_file[0] != '\0';
    const size_t connection_bytes = CONNECTION_BYTES + (has_tls ? (size_t)HTTP_TLS_BYTES : 0);
    add(out, MEMORY_CONNECTIONS, memory_product(connections(config), connection_bytes));
    add(out, MEMORY_QUEUE, memory_product(config->queue_limit, QUEUE_PLACE_BYTES));
    add(out, MEMORY_FEEDBACK,
        feedback_bytes(config->feedback_window, config->keep_inputs_bytes > 0));
    add(out, MEMORY_PROCESS, otlp_exporter_bytes(config->otlp_endpoint));
    add(out, MEMORY_FEEDBACK, review_bytes(config->keep_inputs_bytes));
    if (add_models(out, config, plan, err))
        return err->code;
    if (memory_sum(out->fixed_bytes, MEMORY_REQUESTS_MIN) > out->max_bytes) {
        char sum[400];
        int len = 0;
        for (int i = 0; i < MEMORY_ITEMS; i++) {
            len += snprintf(sum + len, sizeof sum - (size_t)len, "%s%s %zu", i > 0 ? " + " : "",
                            rows[i].name, out->items[i]);
            if (rows[i].options[0] != '\0')
                len += snprintf(sum + len, sizeof sum - (size_t)len, " (%s)", rows[i].options);
        }
        return err_set(err, ERR_UNUSABLE,
                       "memory: %zu bytes (%s) are too few for %s, and %d for requests; raise "
                       "memory_max or lower what is in brackets",
                       out->max_bytes, out->source, sum, MEMORY_REQUESTS_MIN);
    }
    return ERR_OK;
}

void memory_plan_print(const struct memory_plan *plan, FILE *file)
{
    fprintf(file, "%-12s %15s  %s\n", "memory", "bytes", "set by");
    for (int i = 0; i < MEMORY_ITEMS; i++)
        fprintf(file, "%-12s %15zu%s%s\n", rows[i].name, plan->items[i],
                rows[i].options[0] != '\0' ? "  " : "", rows[i].options);
    fprintf(file, "%-12s %15zu  what is left\n", "requests", plan->max_bytes - plan->fixed_bytes);
    fprintf(file, "%-12s %15zu  %s\n", "sum", plan->max_bytes, plan->source);
}

void memory_plan_log(const struct memory_plan *plan)
{
    struct log_field fields[MEMORY_ITEMS + 3] = {
        LOG_NUMBER("max_bytes", plan->max_bytes),
        LOG_TEXT("source", plan->source),
        LOG_NUMBER("requests", plan->max_bytes - plan->fixed_bytes),
    };
    for (int i = 0; i < MEMORY_ITEMS; i++)
        fields[3 + i] = (struct log_field)LOG_NUMBER(rows[i].name, plan->items[i]);
    log_fields(LOG_INFO, "memory_plan", fields, MEMORY_ITEMS + 3);
}
