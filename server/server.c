/* server.c - see server.h. Owns every subsystem.
 *
 * Start order: log, memory, metrics, spans, audit, feedback, kept inputs, fits, queue, TLS, an
 * empty snapshot, collectors of metrics, HTTP, workers, models, shadows, prepare pool, reloader,
 * the thread of fits, digests. Until then SIGTERM ends the process at once (signals.h). HTTP comes
 * before the models so that a port in use is found before they are opened, and so that /healthz and
 * /readyz answer meanwhile. Stop is the exact reverse, with one rule that the HTTP library imposes:
 * it must not be stopped while an exchange is suspended. So the owners of suspended requests
 * (prepare pool, queue, workers) are stopped first, and each request is resumed, either answered
 * or, out of time, failed with 503. A fit that runs is ended before a drain waits.
 */
#include "server/server.h"
#include "server/api/repeats.h"
#include "server/cache/store.h"

#include "config/config_change.h"
#include "config/config_load.h"
#include "engine/base/clock.h"
#include "engine/base/cpu.h"
#include "engine/base/file.h"
#include "engine/base/openblas.h"
#include "engine/base/versions.h"
#include "server/addresses.h"
#include "server/api/handlers.h"
#include "server/api/repeats.h"
#include "server/api/routes.h"
#include "server/audit/audit_record.h"
#include "server/audit/audit_service.h"
#include "server/cache/store.h"
#include "server/feedback/feedback.h"
#include "server/fits/fits.h"
#include "server/http/tls.h"
#include "server/memory_plan.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/observe/log.h"
#include "server/observe/record.h"
#include "server/otlp/otlp_exporter.h"
#include "server/placement/placement.h"
#include "server/restore.h"
#include "server/review/review.h"
#include "server/scrape.h"
#include "server/serve/worker.h"
#include "server/signals.h"
#include "server/systemd.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_MS = 5,            /* how often a drain checks whether it is done */
    LAST_REPLIES_MS = 1000, /* for sending the replies that failed when time ran out */
};

struct server {
    const struct config *config; /* with what was changed at run time before (restore.h) */
    const struct config *read;   /* without */
    struct arena arena;          /* what the metrics' setup points to */
    struct service service;
    struct addresses addresses;
    struct workers *workers;
    const struct reload_source *source;
    struct plan plan;
    struct placement placement;
    struct memory_plan memory_plan;
    struct signals_start start;
};

static enum err_code choose_plan(struct server *server, struct err *err)
{
    const unsigned quota = cpu_quota_threads("");
    struct plan *plan = &server->plan;
    if (placement_make(&server->placement, plan, server->config, err))
        return err->code;
    if (server->placement.is_bound)
        log_event(LOG_INFO, "placement", LOG_NUMBER("workers", plan->workers),
                  LOG_NUMBER("threads_per_worker", plan->threads_per_worker),
                  LOG_NUMBER("copies", plan->copies));
    if (plan->workers > quota / plan->threads_per_worker)
        log_event(LOG_WARN, "oversubscribed", LOG_NUMBER("quota", quota),
                  LOG_NUMBER("workers", plan->workers),
                  LOG_NUMBER("threads_per_worker", plan->threads_per_worker));
    return ERR_OK;
}

static enum err_code open_memory(struct server *server, struct err *err)
{
    struct memory_plan *plan = &server->memory_plan;
    if (server_memory_plan(plan, server->config, &server->plan, err))
        return restore_blame(server->config, server->read, err);
    memory_plan_log(plan);
    memory_init(&server->service.memory, plan->max_bytes, plan->fixed_bytes, plan->model_bytes);
    return ERR_OK;
}

/* The snapshot until the models are open: no models, with the configuration's limits. */
static enum err_code open_snapshots(struct server *server, struct err *err)
{
    struct snapshot *empty;
    struct config copy;
    if (config_copy(&copy, server->config, err))
        return err->code;
    if (snapshot_create(&empty, 0, &copy, err)) {
        config_deinit(&copy);
        return err->code;
    }
    if (snapshot_read_keys(empty, NULL, err) ||
        snapshots_open(&server->service.snapshots, empty, err))
        snapshot_discard(empty);
    return err->code;
}

static enum err_code load_models(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct reloader_options options = {
        .source = *server->source,
        .snapshots = service->snapshots,
        .batcher = service->batcher,
        .memory = &service->memory,
        .metrics = service->metrics,
        .observers = &service->observers,
        .tls = server->service.tls,
        .pools = worker_pools(server->workers),
        .placement = &server->placement,
        .plan = server->plan,
    };
    if (reloader_open(&service->reloader, &options, err))
        return err->code;
    if (reloader_load(service->reloader, server->config, server->read, server->memory_plan.each,
                      err))
        return restore_blame(server->config, server->read, err);
    const struct snapshot *snapshot = snapshots_acquire(service->snapshots);
    metrics_set_backend(service->metrics, snapshot->models[0]->info->linear_backend,
                        openblas_core());
    snapshots_release(service->snapshots, snapshot);
    return ERR_OK;
}

static enum err_code open_audit(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    if (audit_service_open(&service->audit, server->config, err) || service->audit == NULL)
        return err->code;
    atomic_store(&server->start.audit, service->audit);
    observers_add(&service->observers, audit_observer(service->audit));
    return ERR_OK;
}

static enum err_code open_otlp(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct otlp_options options = {.endpoint = server->config->otlp_endpoint};
    if (otlp_exporter_open(&service->otlp, &options, err) == ERR_OK && service->otlp != NULL)
        observers_add(&service->observers, otlp_exporter_observer(service->otlp));
    return err->code;
}

/* The labels of before the start are read while the models are opened. */
static enum err_code open_feedback(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct feedback_options options = {.window = server->config->feedback_window,
                                             .keeps_labels = server->config->keep_inputs_bytes > 0,
                                             .audit = service->audit,
                                             .audit_dir = server->config->audit_dir};
    if (feedback_open(&service->feedback, &options, err))
        return err_prefix(err, "feedback: ");
    observers_add(&service->observers, feedback_observer(service->feedback));
    return ERR_OK;
}

/* The inputs that were kept before the start are read while the models are opened, too. */
static enum err_code open_review(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct review_options options = {.state_dir = server->config->state_dir,
                                           .bytes_max = server->config->keep_inputs_bytes,
                                           .memory = &service->memory,
                                           .feedback = service->feedback};
    return options.bytes_max > 0 ? review_open(&service->review, &options, err) : ERR_OK;
}

static enum err_code open_caches(struct server *server, struct err *err)
{
    const struct config *config = server->config;
    struct service *service = &server->service;
    const uint64_t life_ns = config->answers_s * 1000 * (uint64_t)CLOCK_NS_PER_MS;
    if (config->answers_bytes > 0 &&
        store_open(&service->answers, config->answers_bytes, life_ns, &service->memory, err))
        return err->code;
    return config->idempotency_bytes > 0
               ? repeats_open(&service->repeats, config->idempotency_bytes, config->idempotency_s,
                              &service->memory, err)
               : ERR_OK;
}

/* Labels and inputs are theirs; a place for what is made is asked for when something is. */
static enum err_code open_fits(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct fits_options options = {.state_dir = server->config->state_dir,
                                         .program = server->config->fit_program,
                                         .threads = server->config->fit_threads,
                                         .audit = service->audit,
                                         .feedback = service->feedback,
                                         .review = service->review,
                                         .snapshots = &service->snapshots};
    return options.state_dir[0] != '\0' ? fits_open(&service->fits, &options, err) : ERR_OK;
}

/* The arrays that the metrics' setup needs, from the route table. */
static enum err_code open_metrics(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const char **routes =
        arena_alloc_array(&server->arena, routes_path_count(), sizeof(const char *));
    bool *takes_model = arena_alloc_array(&server->arena, routes_path_count(), sizeof *takes_model);
    if (routes == NULL || takes_model == NULL)
        return err_no_memory(err, routes_path_count() * sizeof *routes);
    for (unsigned i = 0; i < routes_path_count(); i++) {
        routes[i] = routes_path(i);
        takes_model[i] = routes_path_takes_model(i);
    }
    struct metrics_setup setup = {
        .routes = routes,
        .route_count = routes_path_count(),
        .route_takes_model = takes_model,
        .queue_limit = server->config->queue_limit,
        .memory_max_bytes = server->memory_plan.max_bytes,
        .memory_fixed_bytes = server->memory_plan.fixed_bytes,
    };
    if (metrics_open(&service->metrics, &setup, err) ||
        drift_open(&service->drift, server->config->drift_window, err) ||
        label_shares_open(&service->label_shares, err))
        return err->code;
    observers_add(&service->observers, metrics_observer(service->metrics));
    observers_add(&service->observers, log_observer());
    observers_add(&service->observers, drift_observer(service->drift));
    observers_add(&service->observers, label_shares_observer(service->label_shares));
    return ERR_OK;
}

static enum err_code start_shadow(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    const struct shadow_options options = {.batcher = service->batcher,
                                           .workers = server->plan.workers,
                                           .memory = &service->memory,
                                           .observers = &service->observers};
    return shadow_start(&service->shadow, &options, err);
}

static enum err_code server_start(struct server *server, struct err *err)
{
    struct service *service = &server->service;
    request_ids_init(&service->ids);
    if (versions_check(err) || choose_plan(server, err))
        return err->code;
    if (server->config->model_count == 0)
        return err_set(err, ERR_UNUSABLE, "no model to serve; name one with --model NAME=DIR");
    if (signals_watch_start(&server->start, err) || open_memory(server, err) ||
        open_metrics(server, err) || open_otlp(server, err) || open_audit(server, err) ||
        open_feedback(server, err) || open_review(server, err) || open_fits(server, err) ||
        open_caches(server, err))
        return err->code;
    const struct config *config = server->config;
    if (batcher_open(&service->batcher, config->queue_limit, err))
        return err->code;
    batcher_limit_wait(service->batcher, config->queue_ms_max, server->plan.workers);
    if (tls_open(&service->tls, config->tls_cert_file, config->tls_key_file,
                 config->tls_client_ca_file, err))
        return err->code;
    if (open_snapshots(server, err))
        return err->code;
    scrape_register(service); /* HTTP brings the first scrape */
    if (addresses_start(&server->addresses, &server->service, server->plan.io_threads, err))
        return err->code;
    struct worker_options options = {
        .workers = server->plan.workers,
        .threads_per_worker = server->plan.threads_per_worker,
        .places = server->placement.pools,
        .rows_max = server->plan.batch_tokens,
        .batcher = server->service.batcher,
        .metrics = server->service.metrics,
    };
    if (worker_start(&server->workers, &options, err) || load_models(server, err) ||
        start_shadow(server, err))
        return err->code;
    struct prepare *prepare;
    if (prepare_start(&prepare, server->plan.prepare_threads, routes_work, service, err))
        return err->code;
    prepare_limit_wait(prepare, config->queue_ms_max);
    atomic_store(&service->prepare, prepare);
    if (reloader_start(service->reloader, err))
        return err->code;
    if (service->fits != NULL && fits_start(service->fits, service->reloader, err))
        return err->code;
    signals_watch_end(&server->start); /* from now on a stop is a drain */
    atomic_store(&service->phase, SERVICE_READY);
    addresses_accept(&server->addresses);
    return snapshots_start_digests(service->snapshots, err);
}

static void sleep_ms(unsigned ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * CLOCK_NS_PER_MS};
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

/* Waits until no exchange is left; false if the time ran out first. */
static bool await_idle(const struct addresses *addresses, unsigned timeout_ms)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)timeout_ms * CLOCK_NS_PER_MS;
    while (addresses_busy(addresses) > 0) {
        if (clock_now_ns() >= end_ns)
            return false;
        sleep_ms(POLL_MS);
    }
    return true;
}

/* Requests are answered as usual until the listener is closed and the last exchange is done or the
 * time is up. */
static void server_drain(struct server *server)
{
    struct snapshots *snapshots = server->service.snapshots;
    const struct snapshot *snapshot = snapshots_acquire(snapshots);
    const struct config *config = &snapshot->config;
    atomic_store(&server->service.phase, SERVICE_DRAINING);
    systemd_notify("STOPPING=1");
    addresses_drain(&server->addresses);
    fits_stop(server->service.fits);
    log_event(LOG_INFO, "draining", LOG_NUMBER("delay_ms", config->drain_delay_ms),
              LOG_NUMBER("timeout_ms", config->drain_timeout_ms));
    sleep_ms(config->drain_delay_ms);
    addresses_quiesce(&server->addresses);
    if (!await_idle(&server->addresses, config->drain_timeout_ms))
        log_event(LOG_WARN, "drain_timed_out",
                  LOG_NUMBER("requests", addresses_busy(&server->addresses)));
    snapshots_release(snapshots, snapshot);
}

static void server_stop(struct server *server)
{
    struct service *service = &server->service;
    /* Up to worker_join every suspended exchange is resumed: then none is, and none will be. */
    atomic_store(&service->phase, SERVICE_STOPPING);
    fits_stop(service->fits);
    reloader_stop(service->reloader);
    prepare_stop(atomic_load(&service->prepare));
    if (service->batcher != NULL) {
        batcher_close(service->batcher);
        struct row *rows[64]; /* those that no worker has taken get 503 */
        for (unsigned count; (count = batcher_flush(service->batcher, rows, 64)) > 0;)
            for (unsigned i = 0; i < count; i++) {
                err_set(&rows[i]->err, ERR_NOT_READY, "the server is stopping");
                request_row_done(rows[i]);
            }
    }
    worker_join(server->workers);
    addresses_quiesce(&server->addresses);
    await_idle(&server->addresses, LAST_REPLIES_MS);
    addresses_stop(&server->addresses);
    shadow_stop(service->shadow);
    fits_close(service->fits);
    repeats_close(service->repeats);
    store_close(service->answers);
    review_close(service->review);
    prepare_free(atomic_load(&service->prepare));
    snapshots_close(service->snapshots);
    reloader_free(service->reloader);
    worker_free(server->workers);
    placement_free(&server->placement);
    batcher_free(service->batcher);
    tls_close(server->service.tls);
    feedback_close(service->feedback);
    audit_service_close(service->audit);
    otlp_exporter_close(service->otlp);
    metrics_close(service->metrics);
    drift_close(service->drift);
    label_shares_close(service->label_shares);
    arena_deinit(&server->arena);
}

static bool is_first_of_name(const struct config *config, unsigned index)
{
    for (unsigned i = 0; i < index; i++)
        if (strcmp(config->models[i].name, config->models[index].name) == 0)
            return false;
    return true;
}

static void serve(struct server *server, FILE *ready, struct err *err)
{
    memory_tune_heap();
    arena_init(&server->arena);
    if (server_start(server, err) == ERR_OK) {
        const char *address = http_address(server->addresses.main);
        const unsigned port = http_port(server->addresses.main);
        bool bracket = strchr(address, ':') != NULL && address[0] != '[';
        fprintf(ready, "attnd: listening on %s://%s%s%s:%u (",
                server->service.tls != NULL ? "https" : "http", bracket ? "[" : "", address,
                bracket ? "]" : "", port);
        for (unsigned i = 0; i < server->config->model_count; i++)
            if (is_first_of_name(server->config, i))
                fprintf(ready, "%s%s", i > 0 ? ", " : "", server->config->models[i].name);
        fprintf(ready, ")\n");
        fflush(ready);
        systemd_notify("READY=1");
        log_event(LOG_INFO, "ready",
                  LOG_TEXT("scheme", server->service.tls != NULL ? "https" : "http"),
                  LOG_TEXT("address", address), LOG_NUMBER("port", port),
                  LOG_NUMBER("workers", server->plan.workers),
                  LOG_NUMBER("threads_per_worker", server->plan.threads_per_worker));
        addresses_log(&server->addresses, &server->service);
        signals_await_stop(&server->service);
        server_drain(server);
    }
    signals_watch_end(&server->start);
    server_stop(server);
}

/* One process has state_dir: two would write over each other's inputs, and remove each other's
 * fits. Where restarts overlap the one before is ending. */
static enum err_code lock_state(int *lock, const struct config *config, struct err *err)
{
    const char *dir = config->state_dir;
    if (dir[0] == '\0' || file_lock_dir(lock, dir, RESTORE_LOCK, 0, err) == ERR_OK)
        return ERR_OK;
    if (err->code == ERR_CONFLICT) {
        *err = (struct err){0};
        log_event(LOG_WARN, "state_dir_waits", LOG_TEXT("dir", dir),
                  LOG_NUMBER("ms", config_end_ms(config)));
        struct signals_start waiting = {.end = 0};
        if (!signals_watch_start(&waiting, err))
            file_lock_dir(lock, dir, RESTORE_LOCK, config_end_ms(config), err);
        signals_watch_end(&waiting);
    }
    err->code = err->code == ERR_IO ? ERR_UNUSABLE : err->code;
    return err->code != ERR_OK ? err_prefix(err, "state_dir: ") : ERR_OK;
}

enum err_code server_run(const struct config *config, const struct reload_source *source,
                         FILE *ready, struct err *err)
{
    struct config effective;
    int lock = -1;
    log_set_level(config->log_level);
    signals_block();
    if (http_check_library(err) == ERR_OK && lock_state(&lock, config, err) == ERR_OK &&
        restore_config(&effective, config, false, err) == ERR_OK) {
        struct server server = {
            .config = &effective, .read = config, .source = source, .service.config = &effective};
        serve(&server, ready, err);
        config_deinit(&effective);
    }
    if (lock >= 0)
        close(lock);
    if (err->code == ERR_OK)
        log_event(LOG_INFO, "stopped", LOG_TEXT("result", err_name(err->code)));
    else
        log_event(LOG_ERROR, "stopped", LOG_TEXT("result", err_name(err->code)),
                  LOG_TEXT("reason", err->text));
    return err->code;
}
