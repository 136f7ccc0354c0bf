/* An observer is told each thing once, in the order of being added; the metrics count each
 * record. */
#include "server/observe/record.h"

#include "server/observe/metrics.h"
#include "tests/support/exposition.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

/* ---- observers ---- */

static char heard[64];

static void hear(void *context, char what)
{
    size_t len = strlen(heard);
    snprintf(heard + len, sizeof heard - len, "%s%c ", (const char *)context, what);
}

static void hear_begun(void *context)
{
    hear(context, 'b');
}

static void hear_prediction(void *context, const struct prediction_record *record)
{
    ck_assert_uint_eq(record->index, 7);
    hear(context, 'p');
}

static void hear_request(void *context, const struct request_record *record)
{
    ck_assert_uint_eq(record->status, 200);
    hear(context, 'r');
}

START_TEST(observers_are_called_in_order_with_the_records_they_ask_for)
{
    struct observers observers = {0};
    char one[] = "one", two[] = "two", deaf[] = "deaf", three[] = "three";
    observers_begun(&observers); /* nobody is there */
    observers_add(&observers, (struct observer){.context = one,
                                                .begun = hear_begun,
                                                .prediction = hear_prediction,
                                                .request = hear_request});
    observers_add(&observers, (struct observer){.context = two, .request = hear_request});
    observers_add(&observers, (struct observer){.context = deaf});
    observers_add(&observers, (struct observer){.context = three, .prediction = hear_prediction});
    ck_assert_uint_eq(observers.count, 4);
    observers_begun(&observers);
    ck_assert_str_eq(heard, "oneb ");
    observers_prediction(&observers, &(struct prediction_record){.index = 7});
    ck_assert_str_eq(heard, "oneb onep threep ");
    observers_request(&observers, &(struct request_record){.status = 200});
    ck_assert_str_eq(heard, "oneb onep threep oner twor ");
}
END_TEST

/* ---- the metrics ---- */

static const char *const routes[] = {"/predict"};
static const char *const labels[] = {"fail", "pass"};
static const struct engine_info infos[] = {
    {.version = "1", .labels = labels, .label_count = 2, .ood_method = "energy"},
    {.version = "1", .labels = labels, .label_count = 2}};
static const struct metrics_model models[] = {{"logs", &infos[0], 0, 1},
                                              {"wafers", &infos[1], 0, 1}};
static const struct metrics_setup setup = {.routes = routes, .route_count = 1};

struct bench {
    struct metrics *metrics;
    struct observers observers;
};

static void bench_open(struct bench *bench)
{
    struct err err = {0};
    *bench = (struct bench){0};
    ck_assert_int_eq(metrics_open(&bench->metrics, &setup, &err), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        unsigned slot;
        ck_assert_int_eq(metrics_add_model(bench->metrics, &models[i], &slot, &err), ERR_OK);
        ck_assert_uint_eq(slot, i);
        metrics_serve_model(bench->metrics, slot, models[i].generation);
    }
    observers_add(&bench->observers, metrics_observer(bench->metrics));
}

static void expect(const struct bench *bench, const char *series, double value)
{
    struct arena arena;
    char problem[EXPOSITION_PROBLEM_BYTES] = "";
    size_t len = 0;
    arena_init(&arena);
    const char *text = metrics_expose(bench->metrics, &arena, &len);
    struct exposition *page = exposition_parse(text, len, problem);
    ck_assert_msg(page != NULL, "%s", problem);
    double found = exposition_value(page, series);
    ck_assert_msg(found > value - 1e-9 && found < value + 1e-9, "%s: %g, not %g", series, found,
                  value);
    exposition_free(page);
    arena_deinit(&arena);
}

static void bench_close(struct bench *bench)
{
    metrics_close(bench->metrics);
}

START_TEST(a_request_is_in_flight_until_its_record)
{
    struct bench bench;
    bench_open(&bench);
    observers_begun(&bench.observers);
    observers_begun(&bench.observers);
    expect(&bench, "attnd_requests_in_flight", 2);
    observers_request(&bench.observers, &(struct request_record){.route_index = 0,
                                                                 .model = 1,
                                                                 .stage_model = METRICS_NO_MODEL,
                                                                 .status = 200,
                                                                 .total_s = 0.25});
    expect(&bench, "attnd_requests_in_flight", 1);
    expect(&bench, "attnd_requests_total{route=\"/predict\",model=\"wafers\",code=\"200\"}", 1);
    expect(&bench, "attnd_request_duration_seconds_sum{route=\"/predict\",model=\"wafers\"}", 0.25);
    expect(&bench, "attnd_clients_gone_total", 0);
    bench_close(&bench);
}
END_TEST

START_TEST(a_request_counts_its_reason_its_client_and_the_stages_that_were_done)
{
    struct bench bench;
    struct request_record record = {.route_index = 0,
                                    .model = METRICS_NO_MODEL,
                                    .stage_model = METRICS_NO_MODEL,
                                    .status = 408,
                                    .reason = ERR_SLOW,
                                    .has_left = true,
                                    .parse_s = 1,
                                    .prepare_s = 2,
                                    .explain_s = -1,
                                    .encode_s = 0};
    bench_open(&bench);
    observers_request(&bench.observers, &record);
    expect(&bench, "attnd_rejected_total{reason=\"timeout\"}", 1);
    expect(&bench, "attnd_clients_gone_total", 1);
    expect(&bench, "attnd_stage_duration_seconds_count{model=\"logs\",stage=\"parse\"}", 0);
    record.stage_model = 0;
    record.reason = ERR_OK;
    record.has_left = false;
    observers_request(&bench.observers, &record);
    expect(&bench, "attnd_rejected_total{reason=\"timeout\"}", 1);
    expect(&bench, "attnd_clients_gone_total", 1);
    expect(&bench, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"parse\"}", 1);
    expect(&bench, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"prepare\"}", 2);
    expect(&bench, "attnd_stage_duration_seconds_count{model=\"logs\",stage=\"explain\"}", 0);
    expect(&bench, "attnd_stage_duration_seconds_count{model=\"logs\",stage=\"encode\"}", 1);
    expect(&bench, "attnd_stage_duration_seconds_count{model=\"wafers\",stage=\"parse\"}", 0);
    bench_close(&bench);
}
END_TEST

START_TEST(a_prediction_counts_its_label_score_and_times)
{
    const struct engine_result result = {
        .label = 1,
        .number = 0.75f,
        .judgement = {.decision = DECISION_REVIEW, .has_ood = true, .ood_score = -7.5f}};
    struct answer answer = {.info = &infos[0], .result = result};
    struct prediction_record record = {
        .model = 0, .answer = &answer, .queue_s = 3, .inference_s = 4};
    struct bench bench;
    bench_open(&bench);
    observers_prediction(&bench.observers, &record);
    expect(&bench, "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"review\"}", 1);
    expect(&bench, "attnd_prediction_score_sum{model=\"logs\"}", 0.75);
    expect(&bench, "attnd_ood_score_sum{model=\"logs\"}", -7.5);
    expect(&bench, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"queue\"}", 3);
    expect(&bench, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"inference\"}", 4);
    answer.result = (struct engine_result){.number = 0.25f};
    observers_prediction(&bench.observers, &record);
    expect(&bench, "attnd_predictions_total{model=\"logs\",label=\"fail\",decision=\"auto\"}", 1);
    expect(&bench, "attnd_prediction_score_sum{model=\"logs\"}", 1);
    expect(&bench, "attnd_ood_score_count{model=\"logs\"}", 1);
    bench_close(&bench);
}
END_TEST

/* A label that a client gives counts in one series, after those of the model's own labels. */
START_TEST(a_prediction_in_given_labels_counts_as_other)
{
    static const char *const given[] = {"mine", "yours", "theirs"};
    static const struct engine_info own = {
        .version = "1", .labels = labels, .label_count = 2, .is_zero_shot = true};
    const struct engine_info info = {
        .labels = given, .label_count = 3, .is_zero_shot = true, .has_given_labels = true};
    const struct engine_result result = {.label = 1, .number = 0.5f};
    const struct answer answer = {.info = &info, .result = result};
    struct prediction_record record = {.answer = &answer};
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    ck_assert(!metrics_add_model(bench.metrics, &(struct metrics_model){"any", &own, 0, 1},
                                 &record.model, &err));
    metrics_serve_model(bench.metrics, record.model, 1);
    observers_prediction(&bench.observers, &record);
    expect(&bench, "attnd_predictions_total{model=\"any\",label=\"other\",decision=\"auto\"}", 1);
    expect(&bench, "attnd_predictions_total{model=\"any\",label=\"pass\",decision=\"auto\"}", 0);
    expect(&bench, "attnd_prediction_score_sum{model=\"any\"}", 0.5);
    bench_close(&bench);
}
END_TEST

/* Labels of tokens are none of a text: texts are counted, by decision. */
START_TEST(an_answer_of_spans_counts_as_one_text)
{
    static const struct engine_info info = {
        .task = ENGINE_TAG, .version = "1", .labels = labels, .label_count = 2, .row_size = 2};
    const struct engine_result result = {.task = ENGINE_TAG,
                                         .judgement = {.decision = DECISION_REVIEW}};
    const struct answer answer = {.info = &info, .result = result};
    struct prediction_record record = {.answer = &answer};
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    ck_assert(!metrics_add_model(bench.metrics, &(struct metrics_model){"tags", &info, 0, 1},
                                 &record.model, &err));
    metrics_serve_model(bench.metrics, record.model, 1);
    observers_prediction(&bench.observers, &record);
    expect(&bench, "attnd_predictions_total{model=\"tags\",label=\"spans\",decision=\"review\"}",
           1);
    expect(&bench, "attnd_predictions_total{model=\"tags\",label=\"spans\",decision=\"auto\"}", 0);
    bench_close(&bench);
}
END_TEST

START_TEST(an_input_that_failed_counts_its_reason_and_no_prediction)
{
    struct bench bench;
    bench_open(&bench);
    observers_prediction(&bench.observers,
                         &(struct prediction_record){.err = {.code = ERR_UNUSABLE}});
    expect(&bench, "attnd_rejected_total{reason=\"unusable\"}", 1);
    expect(&bench, "attnd_predictions_total{model=\"logs\",label=\"fail\",decision=\"auto\"}", 0);
    expect(&bench, "attnd_stage_duration_seconds_count{model=\"logs\",stage=\"queue\"}", 0);
    bench_close(&bench);
}
END_TEST

SUITE("record", an_answer_of_spans_counts_as_one_text,
      observers_are_called_in_order_with_the_records_they_ask_for,
      a_request_is_in_flight_until_its_record,
      a_request_counts_its_reason_its_client_and_the_stages_that_were_done,
      a_prediction_counts_its_label_score_and_times, a_prediction_in_given_labels_counts_as_other,
      an_input_that_failed_counts_its_reason_and_no_prediction)
