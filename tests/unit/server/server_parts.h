/* server_parts.h - everything that server.c starts and stops, as functions that only write down
 * that they were called, in what phase and with what. Defines config_copy and the functions of
 * snapshots.h, reloader.h, batcher.h, metrics.h, metrics_text.h, record.h, http.h,
 * worker.h, prepare.h, routes.h, plan.h, review.h, fits.h, repeats.h and memory_plan.h that
 * server.c calls, so include it in one file of a test program.
 *
 * `parts.capture` holds a word for each call. A part named by `parts.fails` cannot be started. The
 * clock stands but for what is slept.
 */
#ifndef ATTND_TESTS_UNIT_SERVER_SERVER_PARTS_H
#define ATTND_TESTS_UNIT_SERVER_SERVER_PARTS_H

#include "config/config_load.h"
#include "engine/base/clock.h"
#include "server/api/handlers.h"
#include "server/api/repeats.h"
#include "server/api/routes.h"
#include "server/fits/fits.h"
#include "server/http/http.h"
#include "server/memory_plan.h"
#include "server/observe/metrics_text.h"
#include "server/observe/record.h"
#include "server/restore.h"
#include "server/review/review.h"
#include "server/serve/versions.h"
#include "server/serve/worker.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PARTS_MODELS = 2, PARTS_SLOTS = 4, PARTS_PORT = 4711 };

static struct {
    char capture[2048];
    const char *fails; /* a word of the capture; NULL: none */
    enum err_code failure;
    void (*started)(void); /* called once all is started; NULL: nothing is */
    int signals[2];        /* raised then; 0: none */
    unsigned looks;        /* at the queue's progress */
    unsigned busy_polls;   /* so often a connection is busy */
    unsigned waiting[3];   /* rows that each flush finds */
    unsigned rows_failed;  /* with the code and text that they must have */
    uint64_t slept_ns;
    struct service *service; /* server.c's, once it is known */
    struct metrics_setup setup;
    struct metrics_collector collectors[METRIC_TOTAL];
    double told, of_slots[PARTS_SLOTS]; /* the number that a collector wrote last, and by slot */
    struct http_options http;
    struct worker_options workers;
    unsigned io_threads, prepare_threads, wait_ms_max, takers, prepare_wait_ms_max;
    unsigned queue_limit;
    struct reloader_options reloader;
    unsigned first_generation, first_inputs_max; /* of the snapshot that the server begins with */
    unsigned snapshots_held;                     /* acquired and not released */
    size_t loaded_bytes[2];                      /* the arguments of reloader_load */
    struct config drain; /* the delays in force when a drain begins; all 0: as configured */
    const char *linear_backend, *blas_core; /* metrics_set_backend */
    bool (*pool)(void *context, struct request *request);
} parts;

static struct engine_info parts_infos[PARTS_MODELS] = {{.linear_backend = "reference"},
                                                       {.linear_backend = "other"}};
/* The slots of the models are not their places. */
static struct served_model parts_models[PARTS_MODELS] = {
    {.name = "logs", .info = &parts_infos[0], .slot = 3},
    {.name = "wafers", .info = &parts_infos[1], .slot = 1}};
static struct served_model *parts_list[PARTS_MODELS] = {&parts_models[0], &parts_models[1]};
static struct snapshot parts_snapshot = {.models = parts_list, .model_count = PARTS_MODELS};
static struct row parts_rows[64];

/* Something for the pointers that the parts hand out; nobody looks into it. */
static union {
    max_align_t align;
    char name[16];
} parts_made[10];
enum {
    PART_SNAPSHOTS,
    PART_RELOADER,
    PART_BATCHER,
    PART_METRICS,
    PART_HTTP,
    PART_WORKERS,
    PART_PREPARE,
    PART_POOLS,
    PART_SHADOW,
    PART_FITS
};

/* One more word, with the service's phase if there is a service: "http0". */
static enum err_code parts_call(const char *word, struct err *err)
{
    size_t len = strlen(parts.capture);
    if (parts.service != NULL)
        snprintf(parts.capture + len, sizeof parts.capture - len, "%s%d ", word,
                 atomic_load(&parts.service->phase));
    else
        snprintf(parts.capture + len, sizeof parts.capture - len, "%s ", word);
    if (err != NULL && parts.fails != NULL && strcmp(parts.fails, word) == 0)
        return err_set(err, parts.failure, "%s failed", word);
    return ERR_OK;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(1000 + parts.slept_ns / CLOCK_NS_PER_S),
                              .tv_nsec = (long)(parts.slept_ns % CLOCK_NS_PER_S)};
    return 0;
}

/* Every other rest is interrupted halfway. */
int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    static bool again;
    uint64_t ns = (uint64_t)wanted->tv_sec * CLOCK_NS_PER_S + (uint64_t)wanted->tv_nsec;
    again = !again;
    uint64_t left = again ? ns / 2 : 0;
    parts.slept_ns += ns - left;
    if (left > 0)
        *rest = (struct timespec){.tv_sec = (time_t)(left / CLOCK_NS_PER_S),
                                  .tv_nsec = (long)(left % CLOCK_NS_PER_S)};
    return left > 0 ? -1 : 0;
}

/* ---- plans ---- */

enum err_code restore_config(struct config *out, const struct config *read, bool is_check,
                             struct err *err)
{
    (void)is_check, (void)err;
    *out = *read;
    return ERR_OK;
}

enum err_code restore_blame(const struct config *out, const struct config *read, struct err *err)
{
    (void)out;
    (void)read;
    return err->code;
}

static struct placement_pool parts_places[64]; /* not bound */

enum err_code placement_make(struct placement *out, struct plan *plan, const struct config *config,
                             struct err *err)
{
    (void)err;
    *out = (struct placement){.copies = 1, .pools = parts_places};
    *plan = (struct plan){.workers = config->workers,
                          .threads_per_worker = 1,
                          .batch_tokens = 99,
                          .io_threads = 2,
                          .prepare_threads = 3,
                          .copies = 1};
    return ERR_OK;
}

void placement_free(struct placement *placement)
{
    (void)placement;
}

enum err_code memory_plan_make(struct memory_plan *out, const struct config *config,
                               const struct plan *plan, unsigned io_threads, struct err *err)
{
    parts.io_threads = io_threads;
    *out = (struct memory_plan){
        .max_bytes = 5000, .fixed_bytes = 3000, .model_bytes = 1000, .each = {600, 400}};
    return parts_call(plan->batch_tokens == 99 && config != NULL ? "plan" : "bad-plan", err);
}

void memory_plan_log(const struct memory_plan *plan)
{
    parts_call(plan->max_bytes == 5000 ? "log-plan" : "bad-plan", NULL);
}

void memory_plan_print(const struct memory_plan *plan, FILE *file)
{
    fprintf(file, "the table of %zu\n", plan->max_bytes);
}

/* ---- models, queue, metrics ---- */

/* The strings stay the caller's: a test's configuration need not be one that could be served. */
enum err_code config_copy(struct config *out, const struct config *from, struct err *err)
{
    if (parts_call("copy", err))
        return err->code;
    *out = *from;
    out->arena = (struct arena){0};
    return ERR_OK;
}

enum err_code snapshot_create(struct snapshot **out, unsigned generation, struct config *config,
                              struct err *err)
{
    parts.first_generation = generation;
    parts.first_inputs_max = config->inputs_max;
    if (parts_call("snapshot", err))
        return err->code;
    parts_snapshot.config = *config;
    *config = (struct config){0};
    *out = &parts_snapshot;
    return ERR_OK;
}

enum err_code snapshot_read_keys(struct snapshot *snapshot, const struct snapshot *before,
                                 struct err *err)
{
    bool right = snapshot == &parts_snapshot && before == NULL;
    return parts_call(right ? "keys" : "bad-keys", err);
}

void snapshot_discard(struct snapshot *snapshot)
{
    config_deinit(&snapshot->config);
    parts_call("discard", NULL);
}

enum err_code snapshots_open(struct snapshots **out, struct snapshot *first, struct err *err)
{
    if (parts_call(first == &parts_snapshot ? "snapshots" : "bad-snapshots", err))
        return err->code;
    *out = (void *)&parts_made[PART_SNAPSHOTS];
    return ERR_OK;
}

void snapshots_close(struct snapshots *snapshots)
{
    if (snapshots != NULL)
        config_deinit(&parts_snapshot.config);
    parts_call(snapshots != NULL ? "-snapshots" : "-", NULL);
}

const struct snapshot *snapshots_acquire(struct snapshots *snapshots)
{
    parts.snapshots_held++;
    return (void *)snapshots == &parts_made[PART_SNAPSHOTS] ? &parts_snapshot : NULL;
}

void snapshots_release(struct snapshots *snapshots, const struct snapshot *snapshot)
{
    (void)snapshots;
    parts.snapshots_held -= snapshot == &parts_snapshot;
}

enum err_code snapshots_start_digests(struct snapshots *snapshots, struct err *err)
{
    bool right = (void *)snapshots == &parts_made[PART_SNAPSHOTS];
    if (parts.started != NULL)
        parts.started();
    if (parts.drain.drain_timeout_ms != 0) {
        parts_snapshot.config.drain_delay_ms = parts.drain.drain_delay_ms;
        parts_snapshot.config.drain_timeout_ms = parts.drain.drain_timeout_ms;
    }
    for (size_t i = 0; i < sizeof parts.signals / sizeof parts.signals[0]; i++)
        if (parts.signals[i] != 0)
            raise(parts.signals[i]);
    return parts_call(right ? "digests" : "bad-digests", err);
}

enum err_code reloader_open(struct reloader **out, const struct reloader_options *options,
                            struct err *err)
{
    parts.reloader = *options;
    if (parts_call("reloader", err))
        return err->code;
    *out = (void *)&parts_made[PART_RELOADER];
    return ERR_OK;
}

enum err_code reloader_load(struct reloader *reloader, const struct config *config,
                            const struct config *read, const size_t *bytes, struct err *err)
{
    bool right =
        (void *)reloader == &parts_made[PART_RELOADER] && config != read && config->model_count > 0;
    memcpy(parts.loaded_bytes, bytes, sizeof parts.loaded_bytes);
    return parts_call(right ? "load" : "bad-load", err);
}

enum err_code reloader_start(struct reloader *reloader, struct err *err)
{
    bool right = (void *)reloader == &parts_made[PART_RELOADER];
    return parts_call(right ? "reload" : "bad-reload", err);
}

void reloader_signal(struct reloader *reloader)
{
    parts_call((void *)reloader == &parts_made[PART_RELOADER] ? "hangup" : "bad-hangup", NULL);
}

void reloader_stop(struct reloader *reloader)
{
    parts_call(reloader != NULL ? "stop-reload" : "-", NULL);
}

void reloader_free(struct reloader *reloader)
{
    parts_call(reloader != NULL ? "-reloader" : "-", NULL);
}

enum err_code batcher_open(struct batcher **out, unsigned limit, struct err *err)
{
    parts.queue_limit = limit;
    if (parts_call("batcher", err))
        return err->code;
    *out = (void *)&parts_made[PART_BATCHER];
    return ERR_OK;
}

void batcher_limit_wait(struct batcher *batcher, unsigned wait_ms_max, unsigned takers)
{
    (void)batcher;
    parts.wait_ms_max = wait_ms_max;
    parts.takers = takers;
}

unsigned batcher_depth(struct batcher *batcher, const struct served_model *model)
{
    return (void *)batcher == &parts_made[PART_BATCHER] ? 40 + (unsigned)(model - parts_models) : 0;
}

/* A row waits; batches are taken twice, and then no more. The sixth look ends the server. */
struct batcher_progress batcher_progress(struct batcher *batcher)
{
    (void)batcher;
    if (++parts.looks == 6)
        raise(SIGTERM);
    return (struct batcher_progress){.waiting = 1, .batches = parts.looks < 2 ? parts.looks : 2};
}

unsigned batcher_flush(struct batcher *batcher, struct row **rows, unsigned max)
{
    static unsigned flushes;
    (void)batcher;
    unsigned count = flushes < 3 ? parts.waiting[flushes++] : 0;
    count = count < max ? count : max;
    for (unsigned i = 0; i < count; i++) {
        parts_rows[i].err = (struct err){0};
        rows[i] = &parts_rows[i];
    }
    parts_call("flush", NULL);
    return count;
}

void batcher_close(struct batcher *batcher)
{
    (void)batcher;
    parts_call("close", NULL);
}

void batcher_free(struct batcher *batcher)
{
    parts_call(batcher != NULL ? "-batcher" : "-", NULL);
}

enum err_code metrics_open(struct metrics **out, const struct metrics_setup *setup, struct err *err)
{
    parts.setup = *setup;
    parts.service = (void *)((char *)out - offsetof(struct service, metrics));
    if (parts_call("metrics", err))
        return err->code;
    *out = (void *)&parts_made[PART_METRICS];
    return ERR_OK;
}

void metrics_close(struct metrics *metrics)
{
    parts_call(metrics != NULL ? "-metrics" : "-", NULL);
}

void metrics_set_backend(struct metrics *metrics, const char *linear_backend, const char *blas_core)
{
    bool right = (void *)metrics == &parts_made[PART_METRICS];
    parts.linear_backend = linear_backend;
    parts.blas_core = blas_core;
    parts_call(right ? "backend" : "bad-backend", NULL);
}

void metrics_register(struct metrics *metrics, const enum metric_id *ids, unsigned count,
                      struct metrics_collector collector)
{
    bool right = (void *)metrics == &parts_made[PART_METRICS];
    for (unsigned i = 0; right && i < count; i++)
        parts.collectors[ids[i]] = collector;
}

void metrics_expose_models(const struct metrics *metrics, struct metrics_text *out,
                           enum metric_id id, double (*value)(void *context, unsigned slot),
                           void *context)
{
    (void)metrics;
    (void)out;
    (void)id;
    for (unsigned slot = 0; slot < PARTS_SLOTS; slot++)
        parts.of_slots[slot] = value(context, slot);
}

void metrics_text_value(struct metrics_text *text, enum metric_id id, const char *const *values,
                        double number)
{
    (void)text;
    (void)id;
    (void)values;
    parts.told = number;
}

void metrics_text_values(struct metrics_text *text, enum metric_id id, const char *const *values,
                         const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metrics_text_value(text, id, &values[i], (double)numbers[i]);
}

struct observer metrics_observer(struct metrics *metrics)
{
    return (struct observer){.context = metrics};
}

/* ---- HTTP ---- */

unsigned routes_path_count(void)
{
    return 2;
}

const char *routes_path(unsigned index)
{
    return index == 0 ? "/zero" : "/one";
}

bool routes_path_takes_model(unsigned index)
{
    return index == 1;
}

struct http_app routes_app(struct service *service)
{
    return (struct http_app){.context = service};
}

bool routes_work(void *context, struct request *request)
{
    (void)context;
    (void)request;
    return true;
}

void request_ids_init(struct request_ids *ids)
{
    (void)ids;
    parts_call("ids", NULL);
}

void request_row_done(struct row *row)
{
    parts.rows_failed +=
        row->err.code == ERR_NOT_READY && strcmp(row->err.text, "the server is stopping") == 0;
}

enum err_code http_check_library(struct err *err)
{
    const bool fails = parts.fails != NULL && strcmp(parts.fails, "library") == 0;
    return fails ? err_set(err, parts.failure, "library failed") : ERR_OK;
}

enum err_code http_start(struct http_server **out, const struct http_options *options,
                         const struct http_app *app, struct err *err)
{
    bool right = app->context == parts.service && parts.collectors[METRIC_READY].collect != NULL;
    parts.http = *options;
    if (parts_call(right ? "http" : "bad-http", err)) /* which brings the first scrape */
        return err->code;
    *out = (void *)&parts_made[PART_HTTP];
    return ERR_OK;
}

unsigned http_port(const struct http_server *server)
{
    (void)server;
    return PARTS_PORT;
}

const char *http_address(const struct http_server *server)
{
    (void)server;
    return parts.http.address;
}

void http_accept(struct http_server *server)
{
    (void)server;
}

void http_drain(struct http_server *server)
{
    (void)server;
    parts_call("drain", NULL);
}

void http_quiesce(struct http_server *server)
{
    (void)server;
    parts_call("quiesce", NULL);
}

unsigned http_busy(const struct http_server *server)
{
    (void)server;
    if (parts.busy_polls == 0)
        return 0;
    parts.busy_polls--;
    return 3;
}

void http_stop(struct http_server *server)
{
    (void)server;
    parts_call("-http", NULL);
}

/* ---- threads ---- */

enum err_code worker_start(struct workers **out, const struct worker_options *options,
                           struct err *err)
{
    parts.workers = *options;
    if (parts_call("workers", err))
        return err->code;
    *out = (void *)&parts_made[PART_WORKERS];
    return ERR_OK;
}

struct thread_pool *const *worker_pools(const struct workers *workers)
{
    bool right = (const void *)workers == &parts_made[PART_WORKERS];
    return right ? (void *)&parts_made[PART_POOLS] : NULL;
}

void worker_join(struct workers *workers)
{
    parts_call(workers != NULL ? "join" : "-", NULL);
}

void worker_free(struct workers *workers)
{
    parts_call(workers != NULL ? "-workers" : "-", NULL);
}

const char *version_role_name(enum version_role role)
{
    return role == VERSION_PRIMARY ? "primary" : "split";
}

enum version_role versions_role(const struct snapshot *snapshot, unsigned index)
{
    (void)snapshot;
    return index == 0 ? VERSION_PRIMARY : VERSION_SPLIT;
}

double versions_share(const struct snapshot *snapshot, unsigned index)
{
    (void)snapshot;
    return index == 0 ? 0.75 : 0.25;
}

/* The review is NULL without keep_inputs_bytes. */
enum err_code review_open(struct review **out, const struct review_options *options,
                          struct err *err)
{
    (void)options;
    *out = NULL;
    return parts_call("review", err);
}

void review_close(struct review *review)
{
    if (review != NULL)
        parts_call("-review", NULL);
}

void review_register(struct review *review, struct metrics *metrics)
{
    (void)review;
    (void)metrics;
}

enum err_code fits_open(struct fits **out, const struct fits_options *options, struct err *err)
{
    bool right = options->snapshots == &parts.service->snapshots && options->review == NULL;
    if (parts_call(right ? "fits" : "bad-fits", err))
        return err->code;
    *out = (void *)&parts_made[PART_FITS];
    return ERR_OK;
}

enum err_code fits_start(struct fits *fits, struct reloader *reloader, struct err *err)
{
    bool right = (void *)fits == &parts_made[PART_FITS] && reloader == parts.service->reloader;
    return parts_call(right ? "start-fits" : "bad-start-fits", err);
}

void fits_stop(struct fits *fits)
{
    if (fits != NULL)
        parts_call("stop-fits", NULL);
}

void fits_close(struct fits *fits)
{
    if (fits != NULL)
        parts_call("-fits", NULL);
}

/* No answer is kept unless an option asks for it. */
enum err_code repeats_open(struct repeats **out, size_t bytes_max, unsigned life_s,
                           struct memory *memory, struct err *err)
{
    (void)bytes_max;
    (void)life_s;
    (void)memory;
    *out = NULL;
    return err->code;
}

void repeats_close(struct repeats *repeats)
{
    (void)repeats;
}

void repeats_register(struct service *service)
{
    (void)service;
}

void fits_register(struct fits *fits, struct metrics *metrics)
{
    (void)fits;
    (void)metrics;
}

enum err_code shadow_start(struct shadow **out, const struct shadow_options *options,
                           struct err *err)
{
    bool right = (void *)options->batcher == &parts_made[PART_BATCHER] &&
                 options->workers == parts.workers.workers;
    if (parts_call(right ? "shadow" : "bad-shadow", err))
        return err->code;
    *out = (void *)&parts_made[PART_SHADOW];
    return ERR_OK;
}

void shadow_stop(struct shadow *shadow)
{
    parts_call(shadow != NULL ? "-shadow" : "-", NULL);
}

enum err_code prepare_start(struct prepare **out, unsigned threads,
                            bool (*work)(void *context, struct request *request), void *context,
                            struct err *err)
{
    parts.prepare_threads = threads;
    parts.pool = work;
    if (parts_call(context == parts.service ? "prepare" : "bad-prepare", err))
        return err->code;
    *out = (void *)&parts_made[PART_PREPARE];
    return ERR_OK;
}

void prepare_limit_wait(struct prepare *prepare, unsigned wait_ms_max)
{
    (void)prepare;
    parts.prepare_wait_ms_max = wait_ms_max;
}

void prepare_stop(struct prepare *prepare)
{
    parts_call(prepare != NULL ? "stop-prepare" : "-", NULL);
}

void prepare_free(struct prepare *prepare)
{
    parts_call(prepare != NULL ? "-prepare" : "-", NULL);
}

#endif
