/* test_metrics.c - what is counted, and what a scrape tells of it. Models that come and go are in
 * test_metrics_models.c, the page byte by byte in test_metrics_page.c. */
#include "tests/unit/server/observe/metrics_fixture.h"

#include "wire/problem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

START_TEST(metrics_exist_at_zero_before_traffic)
{
    static const char *const zeros[] = {
        "attnd_requests_total{route=\"/predict\",model=\"wafer-vit\",code=\"200\"}",
        "attnd_requests_total{route=\"/predict\",model=\"\",code=\"200\"}",
        "attnd_requests_total{route=\"/predict\",model=\"wafer-vit\",code=\"500\"}",
        "attnd_requests_total{route=\"/predict\",model=\"\",code=\"429\"}",
        "attnd_requests_total{route=\"/predict\",model=\"\",code=\"504\"}",
        "attnd_requests_total{route=\"/healthz\",model=\"\",code=\"200\"}",
        "attnd_requests_total{route=\"/healthz\",model=\"\",code=\"500\"}",
        "attnd_requests_total{route=\"other\",model=\"\",code=\"404\"}",
        "attnd_stage_duration_seconds_bucket{model=\"wafer-vit\",stage=\"parse\",le=\"0.0005\"}",
        "attnd_stage_duration_seconds_bucket{model=\"wafer-vit\",stage=\"encode\",le=\"30\"}",
        "attnd_predictions_total{model=\"wafer-vit\",label=\"Scratch\",decision=\"auto\"}",
        "attnd_predictions_total{model=\"wafer-vit\",label=\"Scratch\",decision=\"review\"}",
        "attnd_predictions_total{model=\"kernel-bert\",label=\"Donut\",decision=\"unknown\"}",
        "attnd_truncated_total{model=\"kernel-bert\"}",
        "attnd_prediction_score_bucket{model=\"wafer-vit\",le=\"1\"}",
        "attnd_batch_rows_sum{model=\"wafer-vit\"}",
        "attnd_batch_tokens_bucket{model=\"kernel-bert\",le=\"16384\"}",
        "attnd_requests_in_flight",
        "attnd_rejected_total{reason=\"queue_full\"}",
        "attnd_rejected_total{reason=\"deadline_passed\"}",
        "attnd_clients_gone_total",
    };
    struct metrics *metrics = opened(&setup);
    struct exposition *page = scrape(metrics);
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        ck_assert_msg(exposition_value(page, zeros[i]) == 0, "%s", zeros[i]);
    ck_assert_sample(page, "attnd_queue_depth{model=\"kernel-bert\"}", 8);
    ck_assert_sample(page, "attnd_queue_limit", 1024);
    ck_assert_sample(page, "attnd_model_load_duration_seconds{model=\"kernel-bert\"}", 1.5);
    ck_assert_sample(page,
                     "attnd_build_info{version=\"" ATTND_VERSION
                     "\",linear_backend=\"openblas\",blas_core=\"SkylakeX\"}",
                     1);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_do_not_invent_combinations_at_zero)
{
    struct metrics *metrics = opened(&setup);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_requests_total{route=\"/predict\",model=\"\",code=\"401\"}", -1);
    ck_assert_sample(page, "attnd_requests_total{route=\"/healthz\",model=\"\",code=\"422\"}", -1);
    ck_assert_sample(page, "attnd_requests_total{route=\"other\",model=\"\",code=\"200\"}", -1);
    ck_assert_sample(page, "attnd_truncated_total{model=\"wafer-vit\"}", -1); /* of images */
    ck_assert_sample(
        page, "attnd_requests_total{route=\"/healthz\",model=\"wafer-vit\",code=\"200\"}", -1);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_count{route=\"other\",model=\"wafer-vit\"}", -1);
    ck_assert_sample(page, "attnd_prediction_score_count{model=\"kernel-bert\"}", -1);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_count{route=\"/predict\",model=\"wafer-vit\"}", -1);
    ck_assert_sample(page, "attnd_request_duration_seconds_count{route=\"/predict\",model=\"\"}",
                     -1);
    ck_assert_uint_lt(exposition_samples(page), 520);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_count_requests_by_route_model_and_code)
{
    struct metrics *metrics = opened(&setup);
    for (int i = 0; i < 7; i++)
        metrics_request_begin(metrics);
    metrics_request_end(metrics, PREDICT, WAFER, 200, 0.004);
    metrics_request_end(metrics, PREDICT, WAFER, 200, 0.005);
    metrics_request_end(metrics, PREDICT, METRICS_NO_MODEL, 422, 0.0001);
    metrics_request_end(metrics, METRICS_OTHER_ROUTE, METRICS_NO_MODEL, 404, 0.0001);
    metrics_request_end(metrics, 99, 99, 299, 100);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_requests_in_flight", 2);
    ck_assert_sample(
        page, "attnd_requests_total{route=\"/predict\",model=\"wafer-vit\",code=\"200\"}", 2);
    ck_assert_sample(page, "attnd_requests_total{route=\"/predict\",model=\"\",code=\"422\"}", 1);
    ck_assert_sample(page, "attnd_requests_total{route=\"other\",model=\"\",code=\"404\"}", 1);
    ck_assert_sample(page, "attnd_requests_total{route=\"other\",model=\"\",code=\"other\"}", 1);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_sum{route=\"/predict\",model=\"wafer-vit\"}", 0.009);
    ck_assert_sample(page,
                     "attnd_request_duration_seconds_bucket{route=\"/predict\",model=\"wafer-vit\","
                     "le=\"0.005\"}",
                     2);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_bucket{route=\"other\",model=\"\",le=\"30\"}", 0);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_bucket{route=\"other\",model=\"\",le=\"+Inf\"}", 1);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

/* Refusals are quick, and would make answers look quick. */
START_TEST(metrics_do_not_time_refusals)
{
    static const unsigned timed[] = {200, 304, 500, 501, 504, 299},
                          refusals[] = {400, 404, 422, 429, 499, 503};
    struct metrics *metrics = opened(&setup);
    for (size_t i = 0; i < 6; i++) {
        metrics_request_end(metrics, PREDICT, WAFER, timed[i], 1);
        metrics_request_end(metrics, PREDICT, WAFER, refusals[i], 1);
    }
    struct exposition *page = scrape(metrics);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_count{route=\"/predict\",model=\"wafer-vit\"}", 6);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_count_truncated_texts)
{
    struct metrics *metrics = opened(&setup);
    metrics_truncated(metrics, KERNEL);
    metrics_truncated(metrics, KERNEL);
    metrics_truncated(metrics, 99);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_truncated_total{model=\"kernel-bert\"}", 2);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_know_every_status_an_error_can_have)
{
    struct metrics *metrics = opened(&setup);
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++)
        metrics_request_end(metrics, PREDICT, WAFER, problem_status((enum err_code)code), 0);
    struct exposition *page = scrape(metrics);
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        char series[128];
        snprintf(series, sizeof series,
                 "attnd_requests_total{route=\"/predict\",model=\"wafer-vit\",code=\"%u\"}",
                 problem_status((enum err_code)code));
        ck_assert_msg(exposition_value(page, series) >= 1, "%s", series);
    }
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_count_predictions_and_merge_labels_of_one_name)
{
    struct metrics *metrics = opened(&setup);
    metrics_prediction(metrics, WAFER, 0, DECISION_AUTO, 0.5);
    metrics_prediction(metrics, WAFER, 2, DECISION_AUTO, 1.0000001);
    metrics_prediction(metrics, WAFER, 1, DECISION_REVIEW, NAN);
    metrics_prediction(metrics, KERNEL, 0, DECISION_UNKNOWN, -7.5);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(
        page, "attnd_predictions_total{model=\"wafer-vit\",label=\"Center\",decision=\"auto\"}", 2);
    ck_assert_sample(
        page, "attnd_predictions_total{model=\"wafer-vit\",label=\"Scratch\",decision=\"review\"}",
        1);
    ck_assert_sample(page,
                     "attnd_predictions_total{model=\"kernel-bert\",label=\"a \\\"quoted\\\" \\\\ "
                     "label\\nin two lines\",decision=\"unknown\"}",
                     1);
    ck_assert_sample(page, "attnd_prediction_score_bucket{model=\"wafer-vit\",le=\"0.5\"}", 2);
    ck_assert_sample(page, "attnd_prediction_score_bucket{model=\"wafer-vit\",le=\"1\"}", 3);
    ck_assert_sample(page, "attnd_prediction_score_sum{model=\"wafer-vit\"}", 1.5);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

/* Energies may be negative, and their sum with them. */
START_TEST(metrics_observe_how_unlike_the_known_an_input_is)
{
    struct engine_info with_ood = wafer_info;
    with_ood.ood_method = "energy";
    const struct metrics_model both[MODELS] = {{"wafer-vit", &with_ood, 0.25, 1},
                                               {"kernel-bert", &kernel_info, 1.5, 1}};
    struct metrics *metrics = opened_with(&setup, both, MODELS);
    metrics_ood_score(metrics, WAFER, -31.5);
    metrics_ood_score(metrics, WAFER, -30);
    metrics_ood_score(metrics, WAFER, 0.25);
    metrics_ood_score(metrics, WAFER, NAN);
    metrics_ood_score(metrics, WAFER, 1);
    metrics_ood_score(metrics, WAFER, 20000);
    metrics_ood_score(metrics, KERNEL, 1); /* it has no such score */
    metrics_ood_score(metrics, MODELS, 1);
    struct exposition *page = scrape(metrics);
    static const struct {
        const char *bound;
        double count;
    } buckets[] = {{"-30", 2},  {"-10", 2}, {"-1", 2},    {"0", 3},   {"1", 5},
                   {"3000", 5}, {"30", 5},  {"10000", 5}, {"+Inf", 6}};
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        char series[96];
        snprintf(series, sizeof series, "attnd_ood_score_bucket{model=\"wafer-vit\",le=\"%s\"}",
                 buckets[i].bound);
        ck_assert_sample(page, series, buckets[i].count);
    }
    ck_assert_sample(page, "attnd_ood_score_sum{model=\"wafer-vit\"}", 20000 - 31.5 - 30 + 1.25);
    ck_assert_sample(page, "attnd_ood_score_count{model=\"wafer-vit\"}", 6);
    ck_assert_sample(page, "attnd_ood_score_count{model=\"kernel-bert\"}", -1);
    exposition_free(page);
    metrics_close(metrics);
    metrics = opened_with(&setup, both, MODELS);
    metrics_ood_score(metrics, WAFER, -7.5);
    page = scrape(metrics);
    ck_assert_sample(page, "attnd_ood_score_sum{model=\"wafer-vit\"}", -7.5);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_observe_batches_and_stages)
{
    struct metrics *metrics = opened(&setup);
    metrics_batch(metrics, KERNEL, 1, 16);
    metrics_batch(metrics, KERNEL, 300, 17);
    metrics_stage(metrics, KERNEL, STAGE_QUEUE, 0.0005);
    metrics_stage(metrics, KERNEL, STAGE_QUEUE, -1);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_batch_rows_bucket{model=\"kernel-bert\",le=\"256\"}", 1);
    ck_assert_sample(page, "attnd_batch_rows_sum{model=\"kernel-bert\"}", 301);
    ck_assert_sample(page, "attnd_batch_tokens_bucket{model=\"kernel-bert\",le=\"16\"}", 1);
    ck_assert_sample(page, "attnd_batch_tokens_sum{model=\"kernel-bert\"}", 33);
    ck_assert_sample(
        page, "attnd_stage_duration_seconds_sum{model=\"kernel-bert\",stage=\"queue\"}", 0.0005);
    ck_assert_sample(
        page,
        "attnd_stage_duration_seconds_bucket{model=\"kernel-bert\",stage=\"queue\",le=\"0.0005\"}",
        2);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_ignore_indices_out_of_range)
{
    struct metrics *metrics = opened(&setup);
    struct exposition *before = scrape(metrics);
    metrics_stage(metrics, MODELS, STAGE_QUEUE, 1);
    metrics_stage(metrics, WAFER, STAGE_COUNT, 1);
    metrics_prediction(metrics, (unsigned)-1, 0, DECISION_AUTO, 1);
    metrics_prediction(metrics, WAFER, 3, DECISION_AUTO, 1);
    metrics_prediction(metrics, WAFER, 0, DECISION_COUNT, 1);
    metrics_batch(metrics, MODELS, 1, 1);
    metrics_rejected(metrics, ERR_CODE_COUNT);
    metrics_rejected(metrics, ERR_OK);
    metrics_set_digest(metrics, MODELS, 1, "sha256:00");
    struct exposition *after = scrape(metrics);
    ck_assert_uint_eq(exposition_samples(before), exposition_samples(after));
    ck_assert_sample(after, "attnd_batch_rows_count{model=\"kernel-bert\"}", 0);
    ck_assert_sample(after, "attnd_prediction_score_count{model=\"wafer-vit\"}", 0);
    exposition_free(before);
    exposition_free(after);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_show_a_digest_once_it_is_known)
{
    static const char empty[] = "attnd_model_info{model=\"wafer-vit\",version=\"1\",digest=\"\","
                                "dtype=\"f32\",kernels=\"avx512\"}";
    struct metrics *metrics = opened(&setup);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, empty, 1);
    exposition_free(page);
    metrics_set_digest(metrics, WAFER, 1, "sha256:old");
    metrics_set_digest(metrics, WAFER, 1, "sha256:ab");
    page = scrape(metrics);
    ck_assert_sample(page, empty, -1);
    ck_assert_sample(page,
                     "attnd_model_info{model=\"wafer-vit\",version=\"1\",digest=\"sha256:ab\","
                     "dtype=\"f32\",kernels=\"avx512\"}",
                     1);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_report_the_process_as_client_libraries_do)
{
    struct metrics *metrics = opened(&setup);
    struct exposition *page = scrape(metrics);
    FILE *held[5];
    struct stat status;
    double fds = exposition_value(page, "process_open_fds");
    double resident = exposition_value(page, "process_resident_memory_bytes");
    double start = exposition_value(page, "process_start_time_seconds");
    ck_assert_double_ge(exposition_value(page, "process_cpu_seconds_total"), 0);
    ck_assert_double_ge(fds, 3);
    ck_assert_double_ge(exposition_value(page, "process_max_fds"), fds);
    ck_assert_double_gt(resident, 100 * 1024);
    ck_assert_double_gt(exposition_value(page, "process_virtual_memory_bytes"), resident);
    ck_assert_double_le(fabs((double)time(NULL) - start), 120);
    exposition_free(page);
    for (int i = 0; i < 5; i++)
        held[i] = tmpfile();
    if (stat("/proc/self/fd", &status) == 0 && status.st_size == 0)
        usleep(1100 * 1000); /* before Linux 6.2 they are counted once a second */
    page = scrape(metrics);
    ck_assert_double_eq(exposition_value(page, "process_start_time_seconds"), start);
    ck_assert_double_eq(exposition_value(page, "process_open_fds"), fds + 5);
    exposition_free(page);
    for (int i = 0; i < 5; i++)
        fclose(held[i]);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_open_without_models_or_routes)
{
    const struct metrics_setup bare = {.queue_limit = 1};
    struct metrics *metrics = opened_with(&bare, NULL, 0);
    metrics_request_begin(metrics);
    metrics_request_end(metrics, 0, 0, 200, 1);
    metrics_rejected(metrics, ERR_SLOW);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_rejected_total{reason=\"timeout\"}", 1);
    exposition_free(page);
    metrics_close(metrics);
    metrics_close(NULL);
}
END_TEST

START_TEST(metrics_outgrow_the_first_buffer_of_a_scrape)
{
    enum { LABELS = 3000 };
    static char names[LABELS][24];
    static const char *labels[LABELS];
    for (int i = 0; i < LABELS; i++) {
        snprintf(names[i], sizeof names[i], "class %d", i);
        labels[i] = names[i];
    }
    const struct engine_info info = {.version = "1", .labels = labels, .label_count = LABELS};
    const struct metrics_model model = {"large", &info, 1, 1};
    struct metrics *metrics = opened_with(&setup, &model, 1);
    metrics_prediction(metrics, 0, LABELS - 1, DECISION_AUTO, 0.5);
    struct exposition *page = scrape(metrics);
    ck_assert_uint_gt(exposition_samples(page), LABELS);
    ck_assert_sample(
        page, "attnd_predictions_total{model=\"large\",label=\"class 2999\",decision=\"auto\"}", 1);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

enum { WRITERS = 8, ROUNDS = 40000 };

struct hammer {
    struct metrics *metrics;
    int number;
    atomic_int *running;
};

static void *hammer(void *argument)
{
    struct hammer *self = argument;
    struct metrics *metrics = self->metrics;
    for (int i = 0; i < ROUNDS; i++) {
        metrics_request_begin(metrics);
        metrics_stage(metrics, WAFER, (enum metrics_stage)(i % STAGE_COUNT), i * 1e-5);
        metrics_prediction(metrics, WAFER, (unsigned)i % 3, DECISION_AUTO, (i % 100) / 100.0);
        metrics_batch(metrics, KERNEL, 1 + (unsigned)i % 9, 1 + (unsigned)i % 2000);
        metrics_rejected(metrics, ERR_QUEUE_FULL);
        if (i % 1000 == 0)
            metrics_set_digest(metrics, WAFER, 1, self->number % 2 ? "sha256:a" : "sha256:b");
        metrics_request_end(metrics, PREDICT, i % 2, 200, i * 1e-6);
    }
    atomic_fetch_sub(self->running, 1);
    return NULL;
}

START_TEST(metrics_hold_their_invariants_in_every_scrape_under_load)
{
    struct metrics *metrics = opened(&setup);
    atomic_int running = WRITERS;
    pthread_t threads[WRITERS];
    struct hammer hammers[WRITERS];
    double seen = 0;
    for (int i = 0; i < WRITERS; i++) {
        hammers[i] = (struct hammer){metrics, i, &running};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
    }
    do {
        struct exposition *page = scrape(metrics);
        double now = exposition_value(page, "attnd_rejected_total{reason=\"queue_full\"}");
        double in_flight = exposition_value(page, "attnd_requests_in_flight");
        ck_assert_double_ge(now, seen);
        ck_assert(in_flight >= 0 && in_flight <= WRITERS);
        seen = now;
        exposition_free(page);
    } while (atomic_load(&running) > 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    struct exposition *page = scrape(metrics);
    double half = WRITERS * ROUNDS / 2;
    ck_assert_sample(
        page, "attnd_requests_total{route=\"/predict\",model=\"wafer-vit\",code=\"200\"}", half);
    ck_assert_sample(
        page, "attnd_request_duration_seconds_count{route=\"/predict\",model=\"kernel-bert\"}",
        half);
    ck_assert_sample(page, "attnd_batch_rows_count{model=\"kernel-bert\"}", WRITERS * ROUNDS);
    ck_assert_sample(page, "attnd_requests_in_flight", 0);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

/* Hands the output to promtool: writes an exposition before and after traffic to the files that
 * ATTND_EXPOSITION_BEFORE and ATTND_EXPOSITION_AFTER name. */
START_TEST(metrics_can_be_given_to_promtool)
{
    const char *const variables[] = {"ATTND_EXPOSITION_BEFORE", "ATTND_EXPOSITION_AFTER"};
    if (getenv(variables[0]) == NULL || getenv(variables[1]) == NULL)
        suite_skip("ATTND_EXPOSITION_BEFORE and ATTND_EXPOSITION_AFTER are not set");
    struct metrics *metrics = opened(&setup);
    for (int i = 0; i < 2; i++) {
        struct arena arena;
        arena_init(&arena);
        size_t len;
        const char *text = metrics_expose(metrics, &arena, &len);
        FILE *file = fopen(getenv(variables[i]), "w");
        ck_assert_ptr_nonnull(text);
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fwrite(text, 1, len, file), len);
        ck_assert_int_eq(fclose(file), 0);
        arena_deinit(&arena);
        atomic_int running = 1;
        hammer(&(struct hammer){metrics, 0, &running});
        metrics_prediction(metrics, KERNEL, 0, DECISION_UNKNOWN, 3);
    }
    metrics_close(metrics);
}
END_TEST

static size_t series_bytes(const struct metrics_series *series)
{
    size_t told = series->told != NULL ? series->told->arena.bytes + sizeof *series->told : 0;
    return series->cell_count * METRIC_SHARDS * sizeof(uint64_t) + series->arena.bytes + told;
}

/* Every status of every route and model, every bucket: the page at its longest. */
START_TEST(metrics_hold_and_expose_no_more_than_they_say)
{
    struct metrics *metrics = opened(&setup);
    struct arena arena;
    size_t len = 0;
    for (int route = -1; route < ROUTES; route++)
        for (int model = -1; model < MODELS; model++)
            for (unsigned status = 200; status < 600; status++)
                metrics_request_end(metrics, route, model, status, status * 1e-3);
    arena_init(&arena);
    ck_assert_ptr_nonnull(metrics_expose(metrics, &arena, &len));
    ck_assert_uint_le(arena.bytes, metrics_expose_bytes(metrics));
    arena_deinit(&arena);
    size_t held = metrics->arena.bytes + series_bytes(metrics->none);
    for (unsigned i = 0; i < MODELS; i++)
        held += series_bytes(metrics->slots[i]);
    ck_assert_uint_le(held, metrics_bytes(ROUTES, MODELS, 2 + 3));
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_tell_the_memory_that_is_set_aside)
{
    struct metrics_setup with = setup;
    with.memory_max_bytes = 1000;
    with.memory_fixed_bytes = 200;
    struct metrics *metrics = opened(&with);
    struct exposition *page = scrape(metrics);
    ck_assert_sample(page, "attnd_memory_max_bytes", 1000);
    ck_assert_sample(page, "attnd_memory_fixed_bytes", 200);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_count_reloads_by_result)
{
    struct metrics *metrics = opened(&setup);
    expect_sample(metrics, "attnd_config_reloads_total{result=\"success\"}", 0);
    expect_sample(metrics, "attnd_config_reloads_total{result=\"failure\"}", 0);
    for (int i = 0; i < 5; i++)
        metrics_reload(metrics, i < 3);
    expect_sample(metrics, "attnd_config_reloads_total{result=\"success\"}", 3);
    expect_sample(metrics, "attnd_config_reloads_total{result=\"failure\"}", 2);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_have_the_backend_once_it_is_known)
{
    struct metrics_setup early = setup;
    char backend[] = "native", core[] = "Haswell";
    early.linear_backend = early.blas_core = NULL;
    struct metrics *metrics = opened(&early);
    expect_sample(
        metrics,
        "attnd_build_info{version=\"" ATTND_VERSION "\",linear_backend=\"\",blas_core=\"\"}", 1);
    metrics_set_backend(metrics, backend, core);
    memset(backend, 'x', 6);
    expect_sample(metrics,
                  "attnd_build_info{version=\"" ATTND_VERSION
                  "\",linear_backend=\"native\",blas_core=\"Haswell\"}",
                  1);
    metrics_close(metrics);
}
END_TEST

SUITE("metrics", metrics_hold_and_expose_no_more_than_they_say,
      metrics_tell_the_memory_that_is_set_aside, metrics_exist_at_zero_before_traffic,
      metrics_do_not_invent_combinations_at_zero, metrics_count_requests_by_route_model_and_code,
      metrics_do_not_time_refusals, metrics_count_truncated_texts,
      metrics_know_every_status_an_error_can_have,
      metrics_count_predictions_and_merge_labels_of_one_name, metrics_observe_batches_and_stages,
      metrics_observe_how_unlike_the_known_an_input_is, metrics_ignore_indices_out_of_range,
      metrics_show_a_digest_once_it_is_known, metrics_report_the_process_as_client_libraries_do,
      metrics_open_without_models_or_routes, metrics_outgrow_the_first_buffer_of_a_scrape,
      metrics_hold_their_invariants_in_every_scrape_under_load, metrics_can_be_given_to_promtool,
      metrics_count_reloads_by_result, metrics_have_the_backend_once_it_is_known)
