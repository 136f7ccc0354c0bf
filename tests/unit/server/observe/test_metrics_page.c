/* The whole page, byte by byte, of one route and one model after traffic in which no two counts are
 * the same; and what a page of sums cannot show. */
#include "server/api/repeats.h"
#include "server/audit/audit_service.h"
#include "server/feedback/feedback.h"
#include "server/fits/fits.h"
#include "server/observe/metrics_state.h"
#include "server/observe/metrics_text.h"
#include "server/otlp/otlp_exporter.h"
#include "server/review/review.h"
#include "tests/support/golden_file.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const labels[] = {"a", "b \"q\" \\ \n end", "a", "c"};
static const struct engine_info info = {.version = "3",
                                        .dtype = "int8",
                                        .kernels = "avx2",
                                        .scores = "softmax",
                                        .labels = labels,
                                        .label_count = 4,
                                        .ood_method = "energy"};
static const struct metrics_model models[] = {{"m\"1", &info, 0.125, 5}};
static const char *const routes[] = {"/predict"};

static const struct metrics_setup setup = {.routes = routes,
                                           .route_count = 1,
                                           .queue_limit = 1024,
                                           .memory_max_bytes = 123456789012345,
                                           .memory_fixed_bytes = 1000,
                                           .linear_backend = "openblas",
                                           .blas_core = "SkylakeX"};

/* The samples of what the service knows, in the order of the page. */
static const struct told {
    enum metric_id id;
    const char *values[2];
    double number;
} told[] = {
    {METRIC_QUEUE_DEPTH, {"m\"1"}, 7},
    {METRIC_MEMORY_RESERVED, {NULL}, 21},
    {METRIC_READY, {NULL}, 0},
    {METRIC_AUTH_FAILURES, {"missing"}, 0},
    {METRIC_AUTH_FAILURES, {"unknown"}, 0},
    {METRIC_AUTH_FAILURES, {"expired"}, 0},
    {METRIC_AUTH_FAILURES, {"scope"}, 0},
    {METRIC_AUTH_FAILURES, {"rate"}, 0},
    {METRIC_AUTH_FAILURES, {"concurrency"}, 0},
    {METRIC_DRIFT, {"m\"1", "label"}, 0.25},
    {METRIC_DRIFT, {"m\"1", "ood"}, 1.5},
};

static void tell(void *context, enum metric_id id, struct metrics_text *out)
{
    (void)context;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (told[i].id == id)
            metrics_text_value(out, id, told[i].values, told[i].number);
}

/* The subsystems are off. */
static struct service nothing_kept;

static void register_all(struct metrics *metrics)
{
    static const enum metric_id ids[] = {METRIC_QUEUE_DEPTH, METRIC_MEMORY_RESERVED, METRIC_READY,
                                         METRIC_AUTH_FAILURES, METRIC_DRIFT};
    metrics_register(metrics, ids, sizeof ids / sizeof *ids,
                     (struct metrics_collector){.collect = tell});
    static struct audit_scrape no_audit;
    audit_service_register(&no_audit, metrics);
    otlp_exporter_register(NULL, metrics);
    feedback_register(NULL, metrics);
    review_register(NULL, metrics);
    fits_register(NULL, metrics);
    nothing_kept.metrics = metrics;
    repeats_register(&nothing_kept);
}

static struct metrics *opened_with(const struct metrics_setup *with,
                                   const struct metrics_model *model)
{
    struct metrics *metrics;
    struct err err = {0};
    unsigned slot;
    ck_assert_msg(metrics_open(&metrics, with, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(metrics_add_model(metrics, model, &slot, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(slot, 0);
    metrics_serve_model(metrics, slot, model->generation);
    return metrics;
}

static struct metrics *opened(const struct metrics_setup *with)
{
    return opened_with(with, models);
}

/* Each bound is met so often: bucket i counts i + 1. */
static void observe_requests(struct metrics *metrics)
{
    const struct metric *duration = &metric_table[METRIC_REQUEST_DURATION];
    for (unsigned i = 0; i <= duration->bound_count; i++)
        for (unsigned times = 0; times <= i; times++) {
            double seconds = i < duration->bound_count ? duration->bounds[i] : 100;
            metrics_request_begin(metrics);
            metrics_request_end(metrics, 0, 0, metric_statuses[i], seconds);
            metrics_stage(metrics, 0, (enum metrics_stage)(i % STAGE_COUNT), seconds);
        }
    for (unsigned i = 0; i < 3; i++)
        metrics_request_begin(metrics);
    metrics_request_end(metrics, METRICS_OTHER_ROUTE, METRICS_NO_MODEL, 404, 0.3);
}

static void observe_predictions(struct metrics *metrics)
{
    const struct metric *score = &metric_table[METRIC_PREDICTION_SCORE];
    for (unsigned i = 0; i < score->bound_count; i++)
        for (unsigned times = 0; times <= i; times++)
            metrics_prediction(metrics, 0, i % 4, (enum decision)(i % DECISION_COUNT),
                               score->bounds[i]);
    const struct metric *ood = &metric_table[METRIC_OOD_SCORE];
    for (unsigned i = 0; i <= ood->bound_count; i++)
        for (unsigned times = 0; times <= i; times++)
            metrics_ood_score(metrics, 0, i < ood->bound_count ? ood->bounds[i] : 20000.25);
    for (unsigned i = 0; i < 11; i++)
        metrics_batch(metrics, 0, 1u << i, 8u << (i + 1));
    metrics_batch(metrics, 0, 3, 17);
}

static void observe_errors(struct metrics *metrics)
{
    for (int code = 0; code < ERR_CODE_COUNT; code++)
        for (int times = 0; times <= code; times++)
            metrics_rejected(metrics, (enum err_code)code);
    for (int times = 0; times < 4; times++)
        metrics_client_gone(metrics);
    metrics_set_digest(metrics, 0, 5, "sha256:first");
    metrics_set_digest(metrics, 0, 5, "sha256:2");
    for (int times = 0; times < 5; times++)
        metrics_reload(metrics, times < 3);
}

/* Leaves out what is another on each machine and in each version. */
static void mask(struct golden_file *golden)
{
    static const char *const of_process[] = {"\nprocess_cpu_seconds_total ",
                                             "\nprocess_open_fds ",
                                             "\nprocess_max_fds ",
                                             "\nprocess_virtual_memory_bytes ",
                                             "\nprocess_resident_memory_bytes ",
                                             "\nprocess_start_time_seconds "};
    golden_file_mask(golden, "attnd_build_info{version=\"", "\"");
    for (size_t i = 0; i < sizeof of_process / sizeof of_process[0]; i++)
        golden_file_mask(golden, of_process[i], "\n");
}

START_TEST(metrics_page_is_what_it_was)
{
    struct metrics *metrics = opened(&setup);
    struct golden_file golden;
    struct arena arena;
    size_t len = 0;
    register_all(metrics);
    observe_requests(metrics);
    observe_predictions(metrics);
    observe_errors(metrics);
    arena_init(&arena);
    golden_file_open(&golden);
    const char *page = metrics_expose(metrics, &arena, &len);
    ck_assert_uint_eq(strlen(page), len);
    ck_assert_uint_eq(fwrite(page, 1, len, golden.file), len);
    mask(&golden);
    golden_file_expect(&golden, "tests/data/metrics/page.txt");
    arena_deinit(&arena);
    metrics_close(metrics);
}
END_TEST

static double sample(struct metrics *metrics, const char *series)
{
    struct arena arena;
    size_t len = 0;
    arena_init(&arena);
    const char *at = strstr(metrics_expose(metrics, &arena, &len), series);
    ck_assert_msg(at != NULL, "no %s", series);
    double value = strtod(at + strlen(series), NULL);
    arena_deinit(&arena);
    return value;
}

START_TEST(a_scrape_adds_up_the_counts_of_every_core)
{
    struct metrics *metrics = opened(&setup);
    struct metrics_series *none = metrics->none;
    size_t cell = none->first[METRIC_CLIENTS_GONE];
    for (unsigned shard = 0; shard < METRIC_SHARDS; shard++)
        none->cells[shard * none->cell_count + cell] += 1u << shard;
    ck_assert_double_eq(sample(metrics, "\nattnd_clients_gone_total "), (1 << METRIC_SHARDS) - 1);
    metrics_close(metrics);
}
END_TEST

START_TEST(shards_lie_on_cache_lines_of_their_own)
{
    struct metrics *metrics = opened(&setup);
    const struct metrics_series *const all[] = {metrics->none, metrics->slots[0]};
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq((uintptr_t)all[i]->cells % 64, 0);
        ck_assert_uint_eq(all[i]->cell_count * sizeof(uint64_t) % 64, 0);
        size_t used = all[i]->first[METRIC_PREDICTIONS] + (i == 0 ? 0 : 4 * DECISION_COUNT);
        ck_assert(all[i]->cell_count >= used && all[i]->cell_count - used < 8);
    }
    metrics_close(metrics);
}
END_TEST

/* Only the predictions of a regression are counted: its numbers are no shares. */
START_TEST(the_scores_of_a_regression_are_not_observed)
{
    struct engine_info free_numbers = info;
    const struct metrics_model model = {"r", &free_numbers, 0, 1};
    static const char *const kinds[] = {"none", "sigmoid", "softmax", NULL};
    for (int i = 0; i < 4; i++) {
        free_numbers.scores = kinds[i];
        struct metrics *metrics = opened_with(&setup, &model);
        struct arena arena;
        size_t len = 0;
        arena_init(&arena);
        metrics_prediction(metrics, 0, 0, DECISION_AUTO, 0.5);
        const char *page = metrics_expose(metrics, &arena, &len);
        const char *score = strstr(page, "\nattnd_prediction_score_count{model=\"r\"} 1\n");
        ck_assert_int_eq(score != NULL, i > 0);
        arena_deinit(&arena);
        metrics_close(metrics);
    }
}
END_TEST

/* The last of its kind that is counted, and the first that is not. */
START_TEST(metrics_ignore_values_out_of_range)
{
    struct metrics *metrics = opened(&setup);
    uint64_t sum = 0;
    metrics_stage(metrics, 1, STAGE_PARSE, 1);
    metrics_stage(metrics, 0, STAGE_COUNT, 1);
    metrics_prediction(metrics, 1, 0, DECISION_AUTO, 1);
    metrics_prediction(metrics, 0, 4, DECISION_AUTO, 1);
    metrics_prediction(metrics, 0, 0, DECISION_COUNT, 1);
    metrics_ood_score(metrics, 1, 1);
    metrics_batch(metrics, 1, 1, 1);
    metrics_rejected(metrics, ERR_OK);
    metrics_rejected(metrics, ERR_CODE_COUNT);
    const struct metrics_series *const all[] = {metrics->none, metrics->slots[0]};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < all[k]->cell_count * METRIC_SHARDS; i++)
            sum += all[k]->cells[i];
    ck_assert_uint_eq(sum, 0);
    metrics_set_digest(metrics, 1, 5, "sha256:none");
    metrics_request_end(metrics, 2, 2, 200, 1);
    metrics_request_end(metrics, -1, -1, 200, 1);
    ck_assert_double_eq(sample(metrics, "\nattnd_requests_total{route=\"other\",model=\"\",code="
                                        "\"200\"} "),
                        2);
    metrics_close(metrics);
}
END_TEST

/* The bytes that the memory plan sets aside: shards of cells, generously, and the copies of the
 * labels. */
START_TEST(the_bytes_of_all_series_are_foreseen)
{
    const size_t fixed = 64 * 1024, cell = METRIC_SHARDS * sizeof(uint64_t);
    ck_assert_uint_eq(metrics_bytes(0, 0, 0), fixed + 2 * 32 * cell);
    ck_assert_uint_eq(metrics_bytes(9, 0, 0), fixed + 10 * 2 * 32 * cell);
    ck_assert_uint_eq(metrics_bytes(0, 1, 0), fixed + (2 * 2 + STAGE_COUNT + 4) * 32 * cell);
    ck_assert_uint_eq(metrics_bytes(0, 0, 7),
                      fixed + (2 * 32 + 7 * DECISION_COUNT) * cell + 7 * (size_t)256);
}
END_TEST

SUITE("metrics_page", the_bytes_of_all_series_are_foreseen, metrics_page_is_what_it_was,
      a_scrape_adds_up_the_counts_of_every_core, shards_lie_on_cache_lines_of_their_own,
      the_scores_of_a_regression_are_not_observed, metrics_ignore_values_out_of_range)
