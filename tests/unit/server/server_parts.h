/* server_parts.h - everything that server.c starts and stops, as functions that only write down
 * that they were called, in what phase and with what. Defines the functions of registry.h,
 * batcher.h, metrics.h, metrics_observer.h, http.h, worker.h, prepare.h, routes.h, plan.h and
 * memory_plan.h that server.c calls, so include it in one file of a test program.
 *
 * `parts.capture` holds a word for each call. A part named by `parts.fails` cannot be started. The
 * clock stands but for what is slept.
 */
#ifndef ATTND_TESTS_UNIT_SERVER_SERVER_PARTS_H
#define ATTND_TESTS_UNIT_SERVER_SERVER_PARTS_H

#include "engine/base/clock.h"
#include "server/api/handlers.h"
#include "server/api/routes.h"
#include "server/http/http.h"
#include "server/memory_plan.h"
#include "server/observe/metrics_observer.h"
#include "server/serve/worker.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PARTS_MODELS = 2, PARTS_PORT = 4711 };

static struct {
    char capture[2048];
    const char *fails; /* a word of the capture; NULL: none */
    enum err_code failure;
    void (*started)(void); /* called once all is started; NULL: nothing is */
    int signals[2];        /* raised then; 0: none */
    unsigned busy_polls;   /* so often a connection is busy */
    unsigned waiting[3];   /* rows that each flush finds */
    unsigned rows_failed;  /* with the code and text that they must have */
    uint64_t slept_ns;
    struct service *service; /* server.c's, once it is known */
    struct metrics_setup setup;
    struct http_options http;
    struct worker_options workers;
    unsigned plan_quota, io_threads, prepare_threads, wait_ms_max, takers, prepare_wait_ms_max;
    unsigned queue_limit, queue_models;
    bool (*pool)(void *context, struct request *request);
} parts;

static struct engine_info parts_infos[PARTS_MODELS] = {{.linear_backend = "reference"},
                                                       {.linear_backend = "other"}};
static struct registry_model parts_models[PARTS_MODELS] = {
    {.name = "logs", .info = &parts_infos[0], .load_seconds = 0.5},
    {.name = "wafers", .info = &parts_infos[1], .load_seconds = 1.5}};
static struct row parts_rows[64];

/* Something for the pointers that the parts hand out; nobody looks into it. */
static union {
    max_align_t align;
    char name[16];
} parts_made[8];
enum { PART_REGISTRY, PART_BATCHER, PART_METRICS, PART_HTTP, PART_WORKERS, PART_PREPARE };

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

struct plan plan_choose(unsigned quota, const struct config *config)
{
    parts.plan_quota = quota;
    return (struct plan){.workers = config->workers, .threads_per_worker = 1, .batch_tokens = 99};
}

enum err_code memory_plan_make(struct memory_plan *out, const struct config *config,
                               const struct plan *plan, unsigned io_threads, struct err *err)
{
    parts.io_threads = io_threads;
    *out = (struct memory_plan){.max_bytes = 5000, .fixed_bytes = 3000};
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

enum err_code registry_open(struct registry **out, const struct config *config,
                            unsigned batch_tokens, struct err *err)
{
    if (parts_call(batch_tokens == 99 && config->model_count > 0 ? "registry" : "bad", err))
        return err->code;
    *out = (void *)&parts_made[PART_REGISTRY];
    return ERR_OK;
}

unsigned registry_count(const struct registry *registry)
{
    (void)registry;
    return PARTS_MODELS;
}

struct registry_model *registry_at(struct registry *registry, unsigned index)
{
    (void)registry;
    return &parts_models[index];
}

enum err_code registry_start_digests(struct registry *registry, struct metrics *metrics,
                                     struct err *err)
{
    bool right = (void *)registry == &parts_made[PART_REGISTRY] &&
                 (void *)metrics == &parts_made[PART_METRICS];
    if (parts.started != NULL)
        parts.started();
    for (size_t i = 0; i < sizeof parts.signals / sizeof parts.signals[0]; i++)
        if (parts.signals[i] != 0)
            raise(parts.signals[i]);
    return parts_call(right ? "digests" : "bad-digests", err);
}

void registry_stop_digests(struct registry *registry)
{
    (void)registry;
    parts_call("-digests", NULL);
}

void registry_close(struct registry *registry)
{
    parts_call(registry != NULL ? "-registry" : "-", NULL);
}

enum err_code batcher_open(struct batcher **out, unsigned limit, unsigned model_count,
                           struct err *err)
{
    parts.queue_limit = limit;
    parts.queue_models = model_count;
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

unsigned batcher_depth(struct batcher *batcher, unsigned model_index)
{
    return (void *)batcher == &parts_made[PART_BATCHER] ? 40 + model_index : 0;
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
    parts.service = setup->context;
    if (parts_call("metrics", err))
        return err->code;
    *out = (void *)&parts_made[PART_METRICS];
    return ERR_OK;
}

void metrics_close(struct metrics *metrics)
{
    (void)metrics;
    parts_call("-metrics", NULL);
}

struct observer metrics_observer(struct metrics *metrics)
{
    return (struct observer){.context = metrics};
}

/* ---- HTTP ---- */

unsigned routes_count(void)
{
    return 2;
}

const char *routes_pattern(unsigned index)
{
    return index == 0 ? "/zero" : "/one";
}

bool routes_takes_model(unsigned index)
{
    return index == 1;
}

struct http_app routes_app(struct service *service)
{
    return (struct http_app){.context = service};
}

bool predict_pool(void *context, struct request *request)
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

enum err_code http_start(struct http_server **out, const struct http_options *options,
                         const struct http_app *app, struct err *err)
{
    parts.http = *options;
    if (parts_call(app->context == parts.service ? "http" : "bad-http", err))
        return err->code;
    *out = (void *)&parts_made[PART_HTTP];
    return ERR_OK;
}

unsigned http_port(const struct http_server *server)
{
    (void)server;
    return PARTS_PORT;
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

void worker_stop(struct workers *workers)
{
    parts_call(workers != NULL ? "-workers" : "-", NULL);
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
