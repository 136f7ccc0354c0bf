/* stage.h - POST /predict between a fake HTTP edge and a fake engine: the real codec, queue,
 * workers and pool. Like fakes.h, which it includes, for one file of a test program.
 *
 *     struct stage stage;
 *     stage_open(&stage, 1);
 *     check_call(&stage, "{\"text\": \"abc\"}", 200, "\"label\"");
 *     stage_close(&stage);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_STAGE_H
#define ATTND_TESTS_UNIT_SERVER_STAGE_H

#include "server/api/handlers.h"
#include "server/api/routes.h"
#include "server/observe/log.h"
#include "server/observe/record.h"
#include "server/serve/worker.h"
#include "tests/support/suite.h"
#include "tests/unit/server/fakes.h"

#include <stdlib.h>

enum { QUEUE_LIMIT = 4 };

struct stage {
    struct config config;
    struct service service;
    struct http_app app;
    struct workers *workers;
    struct snapshot *snapshot; /* the first, whose live options a test may still change */
    struct plan plan;
};

static struct config_model configured[] = {{.name = "logs", .dir = "text"},
                                           {.name = "wafers", .dir = "image"}};

/* The options of a model of the stage: those of the server, with a session for each worker. */
static inline struct served_model_options stage_model_options(struct stage *stage, unsigned index,
                                                              unsigned workers)
{
    stage->plan =
        (struct plan){.workers = workers, .threads_per_worker = 1, .batch_tokens = 64, .copies = 1};
    return (struct served_model_options){.name = configured[index].name,
                                         .dir = configured[index].dir,
                                         .generation = 1,
                                         .plan = &stage->plan,
                                         .pools = worker_pools(stage->workers),
                                         .memory = &stage->service.memory,
                                         .metrics = stage->service.metrics};
}

/* Opens the models without a line in the log. */
static inline void stage_open_models(struct stage *stage, unsigned workers)
{
    struct err err = {0};
    struct config config = stage->config;
    log_set_level("warn");
    ck_assert_int_eq(snapshot_create(&stage->snapshot, 1, &config, &err), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct served_model_options options = stage_model_options(stage, i, workers);
        struct served_model *model;
        ck_assert_msg(!served_model_open(&model, &options, &err), "%s", err.text);
        snapshot_add(stage->snapshot, model);
    }
    ck_assert_int_eq(snapshots_open(&stage->service.snapshots, stage->snapshot, &err), ERR_OK);
    log_set_level("info");
}

static inline void stage_open(struct stage *stage, unsigned workers)
{
    struct err err = {0};
    static const char *routes[ROUTE_COUNT_MAX];
    *stage = (struct stage){.config = {.models = configured,
                                       .model_count = 2,
                                       .queue_limit = QUEUE_LIMIT,
                                       .inputs_max = QUEUE_LIMIT,
                                       .body_bytes_max = 1 << 20,
                                       .image_pixels_max = 1 << 30,
                                       .request_pixels_max = 1 << 30,
                                       .explain_bytes_max = 5 * FAKE_CAPTURE_BYTES}};
    struct service *service = &stage->service;
    service->config = &stage->config;
    memory_init(&service->memory, (size_t)4 << 30, 0, 0);
    request_ids_init(&service->ids);
    ck_assert_int_eq(batcher_open(&service->batcher, QUEUE_LIMIT, &err), ERR_OK);
    for (unsigned i = 0; i < routes_path_count(); i++)
        routes[i] = routes_path(i);
    struct metrics_setup setup = {.routes = routes,
                                  .route_count = routes_path_count(),
                                  .queue_limit = QUEUE_LIMIT,
                                  .linear_backend = "reference",
                                  .blas_core = "none"};
    ck_assert_int_eq(metrics_open(&service->metrics, &setup, &err), ERR_OK);
    observers_add(&service->observers, metrics_observer(service->metrics));
    observers_add(&service->observers, log_observer());
    struct worker_options options = {.workers = workers,
                                     .threads_per_worker = 1,
                                     .rows_max = 64,
                                     .batcher = service->batcher,
                                     .metrics = service->metrics};
    ck_assert_int_eq(worker_start(&stage->workers, &options, &err), ERR_OK);
    stage_open_models(stage, workers);
    struct prepare *prepare;
    ck_assert_int_eq(prepare_start(&prepare, 1, predict_pool, service, &err), ERR_OK);
    atomic_store(&service->prepare, prepare);
    atomic_store(&service->phase, SERVICE_READY);
    stage->app = routes_app(service);
}

/* A place that a request forgot to give back would be lost for good, and one that it gave back
 * twice would be one too many. */
static inline void check_places(struct batcher *batcher)
{
    struct err err = {0};
    if (batcher_reserve(batcher, QUEUE_LIMIT, &err) == ERR_OK) {
        ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_QUEUE_FULL);
        batcher_release(batcher, QUEUE_LIMIT);
        return;
    }
    ck_assert_int_ne(err.code, ERR_QUEUE_FULL);
}

static inline void stage_close(struct stage *stage)
{
    struct service *service = &stage->service;
    check_places(service->batcher);
    ck_assert_uint_eq(service->capture_bytes, 0);
    ck_assert_uint_eq(memory_taken(&service->memory), 0);
    prepare_stop(service->prepare);
    batcher_close(service->batcher);
    worker_join(stage->workers);
    prepare_free(service->prepare);
    snapshots_close(service->snapshots);
    worker_free(stage->workers);
    batcher_free(service->batcher);
    metrics_close(service->metrics);
    ck_assert_uint_eq(fake_sessions_open, 0);
    ck_assert_int_eq(fake_models_open, 0);
}

static inline void exchange_init(struct http_exchange *exchange, const char *body)
{
    *exchange = (struct http_exchange){.method = HTTP_POST,
                                       .path = "/predict",
                                       .head_ns = clock_now_ns(),
                                       .body_ns = clock_now_ns(),
                                       .body = body,
                                       .body_len = strlen(body),
                                       .body_bytes_max = CONFIG_BODY_BYTES_MAX,
                                       .has_length = true};
    arena_init(&exchange->arena);
}

static inline void exchange_done(struct stage *stage, struct http_exchange *exchange)
{
    stage->app.done(&stage->service, exchange);
    arena_deinit(&exchange->arena);
    memory_give(&stage->service.memory, exchange->memory_bytes);
}

/* A request of its own, without the way through the routes; the snapshot is borrowed. */
static inline struct request *stage_request(struct stage *stage, struct http_exchange *exchange)
{
    struct request *request = request_open(exchange, &stage->service, &stage->service.ids);
    request->snapshot = stage->snapshot;
    return request;
}

/* Enters each phase up to this one, as a request does that nothing keeps from it. */
static inline void enter_phases(struct request *request, enum request_phase last)
{
    while (request->phase < last)
        request_enter(request, (enum request_phase)(request->phase + 1));
}

/* Head and body; true if the exchange is suspended now. */
static inline bool send(struct stage *stage, struct http_exchange *exchange, const char *body)
{
    exchange_init(exchange, body);
    if (stage->app.head(&stage->service, exchange) == HTTP_REPLY)
        return false;
    return stage->app.begin(&stage->service, exchange) == HTTP_SUSPENDED;
}

/* The whole way of one call; the reply's status. */
static inline unsigned call(struct stage *stage, struct http_exchange *exchange, const char *body)
{
    if (send(stage, exchange, body)) {
        fake_await_resumed(exchange);
        stage->app.finish(&stage->service, exchange);
    }
    return exchange->reply.status;
}

static inline void check_call(struct stage *stage, const char *body, unsigned status,
                              const char *part)
{
    struct http_exchange exchange;
    ck_assert_uint_eq(call(stage, &exchange, body), status);
    ck_assert_msg(strstr(exchange.reply.body, part) != NULL, "%s lacks %s", exchange.reply.body,
                  part);
    ck_assert_ptr_nonnull(exchange.reply.request_id);
    exchange_done(stage, &exchange);
}

/* The metrics hold this line. */
static inline void check_metric(const struct stage *stage, const char *line)
{
    struct arena arena;
    size_t len;
    arena_init(&arena);
    const char *page = metrics_expose(stage->service.metrics, &arena, &len);
    ck_assert_msg(strstr(page, line) != NULL, "no %s", line);
    arena_deinit(&arena);
}

#endif
