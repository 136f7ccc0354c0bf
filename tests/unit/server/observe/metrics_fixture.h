/* metrics_fixture.h - the metrics of two routes and two models, one with scores, and their page as
 * a set of samples. For one file of a test program.
 *
 *     struct metrics *metrics = opened(&setup);
 *     metrics_batch(metrics, KERNEL, 1, 16);
 *     expect_sample(metrics, "attnd_batch_rows_count{model=\"kernel-bert\"}", 1);
 *     metrics_close(metrics);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_OBSERVE_METRICS_FIXTURE_H
#define ATTND_TESTS_UNIT_SERVER_OBSERVE_METRICS_FIXTURE_H

#include "server/observe/metrics_state.h"
#include "tests/support/exposition.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { PREDICT, HEALTHZ, ROUTES, WAFER = 0, KERNEL, MODELS };

static const char *const routes[ROUTES] = {"/predict", "/healthz"};
static const bool takes_model[ROUTES] = {true, false};
static const char *const wafer_labels[] = {"Center", "Scratch", "Center"};
static const char *const kernel_labels[] = {"a \"quoted\" \\ label\nin two lines", "Donut"};
static const struct engine_info wafer_info = {.kind = ENGINE_IMAGE,
                                              .version = "1",
                                              .dtype = "f32",
                                              .kernels = "avx512",
                                              .scores = "softmax",
                                              .labels = wafer_labels,
                                              .label_count = 3};
static const struct engine_info kernel_info = {.kind = ENGINE_TEXT,
                                               .version = "2",
                                               .dtype = "int8",
                                               .kernels = "avx512-vnni",
                                               .scores = "none",
                                               .labels = kernel_labels,
                                               .label_count = 2};
static const struct metrics_model models[MODELS] = {{"wafer-vit", &wafer_info, 0.25, 1},
                                                    {"kernel-bert", &kernel_info, 1.5, 1}};

static const struct metrics_setup setup = {.routes = routes,
                                           .route_takes_model = takes_model,
                                           .route_count = ROUTES,
                                           .queue_limit = 1024,
                                           .linear_backend = "openblas",
                                           .blas_core = "SkylakeX"};

/* 7 and its slot. */
static double depth(void *context, unsigned slot)
{
    (void)context;
    return 7 + slot;
}

static void collect_depth(void *context, enum metric_id id, struct metrics_text *out)
{
    metrics_expose_models(context, out, id, depth, NULL);
}

static inline unsigned added(struct metrics *metrics, const struct metrics_model *model)
{
    unsigned slot = METRICS_SLOTS;
    struct err err = {0};
    ck_assert_msg(metrics_add_model(metrics, model, &slot, &err) == ERR_OK, "%s", err.text);
    metrics_serve_model(metrics, slot, model->generation);
    return slot;
}

static inline struct metrics *opened_with(const struct metrics_setup *with,
                                          const struct metrics_model *list, unsigned count)
{
    struct metrics *metrics;
    struct err err = {0};
    ck_assert_msg(metrics_open(&metrics, with, &err) == ERR_OK, "%s", err.text);
    metrics_register(metrics, (enum metric_id[]){METRIC_QUEUE_DEPTH}, 1,
                     (struct metrics_collector){.context = metrics, .collect = collect_depth});
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_eq(added(metrics, &list[i]), i);
    return metrics;
}

/* Both models, each under the slot of its index. */
static inline struct metrics *opened(const struct metrics_setup *with)
{
    return opened_with(with, models, MODELS);
}

static inline struct exposition *scrape(struct metrics *metrics)
{
    struct arena arena;
    size_t len = 0;
    char problem[EXPOSITION_PROBLEM_BYTES];
    arena_init(&arena);
    const char *text = metrics_expose(metrics, &arena, &len);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), len);
    struct exposition *page = exposition_parse(text, len, problem);
    ck_assert_msg(page != NULL, "%s", problem);
    arena_deinit(&arena);
    return page;
}

#define ck_assert_sample(page, series, value)                                                      \
    ck_assert_double_eq_tol(exposition_value(page, series), value, 1e-9)

/* Expects a sample of a fresh page. */
static inline void expect_sample(struct metrics *metrics, const char *series, double value)
{
    struct exposition *page = scrape(metrics);
    ck_assert_msg(fabs(exposition_value(page, series) - value) < 1e-9, "%s: %g, not %g", series,
                  exposition_value(page, series), value);
    exposition_free(page);
}

#endif
