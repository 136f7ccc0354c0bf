/* models.h - served models over the fake engine, without requests: the memory, the metrics and the
 * pools that they take. Like fakes.h, which it includes, for one file of a test program.
 *
 *     struct models models;
 *     models_open(&models, 2);
 *     struct served_model *model = models_make(&models, "logs", "text", 1);
 *     served_model_release(model);
 *     models_close(&models);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_MODELS_H
#define ATTND_TESTS_UNIT_SERVER_MODELS_H

#include "server/observe/log.h"
#include "server/serve/snapshots.h"
#include "tests/support/suite.h"
#include "tests/unit/server/fakes.h"

enum { MODELS_WORKERS_MAX = 4, MODELS_THREADS = 2, MODELS_TOKENS = 48, MODELS_BYTES = 700 };

struct models {
    struct memory memory;
    struct metrics *metrics;
    struct thread_pool *pools[MODELS_WORKERS_MAX];
    unsigned workers;
    struct plan plan;
};

static inline void models_open(struct models *models, unsigned workers)
{
    static const char *const routes[] = {"/predict"};
    const struct metrics_setup setup = {.routes = routes, .route_count = 1};
    struct err err = {0};
    *models = (struct models){.workers = workers,
                              .plan = {.workers = workers,
                                       .threads_per_worker = MODELS_THREADS,
                                       .batch_tokens = MODELS_TOKENS,
                                       .copies = 1}};
    memory_init(&models->memory, (size_t)64 << 20, 0, 0);
    ck_assert_int_eq(metrics_open(&models->metrics, &setup, &err), ERR_OK);
    for (unsigned i = 0; i < workers; i++)
        ck_assert_int_eq(thread_pool_open(&models->pools[i], MODELS_THREADS, &err), ERR_OK);
    log_set_level("warn");
}

/* Every model must have been closed. */
static inline void models_close(struct models *models)
{
    ck_assert_uint_eq(atomic_load(&models->memory.held), 0);
    ck_assert_uint_eq(fake_sessions_open, 0);
    ck_assert_int_eq(fake_models_open, 0);
    for (unsigned i = 0; i < models->workers; i++)
        thread_pool_close(models->pools[i]);
    metrics_close(models->metrics);
}

static inline struct served_model_options models_options(struct models *models, const char *name,
                                                         const char *dir, unsigned generation)
{
    return (struct served_model_options){.name = name,
                                         .dir = dir,
                                         .generation = generation,
                                         .plan = &models->plan,
                                         .pools = models->pools,
                                         .bytes = MODELS_BYTES,
                                         .memory = &models->memory,
                                         .metrics = models->metrics};
}

/* Opens with memory that is held for it. */
static inline enum err_code models_try(struct models *models, struct served_model **out,
                                       const struct served_model_options *options, struct err *err)
{
    ck_assert_int_eq(memory_hold(&models->memory, options->bytes, err), ERR_OK);
    return served_model_open(out, options, err);
}

static inline struct served_model *models_make(struct models *models, const char *name,
                                               const char *dir, unsigned generation)
{
    struct served_model_options options = models_options(models, name, dir, generation);
    struct served_model *model;
    struct err err = {0};
    ck_assert_msg(!models_try(models, &model, &options, &err), "%s", err.text);
    return model;
}

/* The page has this text, or not. */
static inline bool models_tell(const struct models *models, const char *text)
{
    struct arena arena;
    size_t len;
    arena_init(&arena);
    bool found = strstr(metrics_expose(models->metrics, &arena, &len), text) != NULL;
    arena_deinit(&arena);
    return found;
}

#endif
