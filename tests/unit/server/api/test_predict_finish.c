/* The end of POST /predict alone. The moments of the request lie seconds apart, because the test
 * wrote them so; the reply and the metrics tell them. */
#include "tests/support/exposition.h"
#include "tests/support/results.h"
#include "tests/unit/server/stage.h"

enum { ROWS = 3, AGE_S = 1000 };

struct bench {
    struct stage stage;
    struct http_exchange exchange;
    struct request *request;
    bool is_done; /* it has given its snapshot back */
    struct row rows[ROWS], *good[ROWS];
    struct predict_item items[ROWS];
    float scores[ROWS][2];
};

static uint64_t after(const struct bench *bench, unsigned seconds)
{
    return bench->exchange.head_ns + (uint64_t)seconds * CLOCK_NS_PER_S;
}

/* The head came a while ago; then each moment some seconds later, none twice the same distance. */
static void bench_open(struct bench *bench, bool envelope)
{
    static const unsigned moments[ROWS][3] = {{10, 14, 19}, {11, 20, 31}, {12, 13, 15}};
    *bench = (struct bench){0};
    stage_open(&bench->stage, 1);
    exchange_init(&bench->exchange, "");
    ck_assert_int_eq(bench->stage.app.head(&bench->stage.service, &bench->exchange), HTTP_CONTINUE);
    bench->exchange.head_ns = clock_now_ns() - (uint64_t)AGE_S * CLOCK_NS_PER_S;
    bench->exchange.body_ns = after(bench, 1);
    struct request *request = bench->exchange.state;
    bench->request = request;
    request->begun_ns = after(bench, 2);
    request->parsed_ns = after(bench, 4);
    request->prepared_ns = after(bench, 7);
    request->call = (struct predict_call){
        .top_k = 1, .envelope = envelope, .items = bench->items, .item_count = envelope ? ROWS : 1};
    request->rows = bench->rows;
    request->good = bench->good;
    request->good_count = request->call.item_count;
    for (unsigned i = 0; i < request->good_count; i++) {
        bench->scores[i][0] = 0.25f;
        bench->scores[i][1] = 0.75f;
        bench->good[i] = &bench->rows[i];
        bench->rows[i] = (struct row){.request = request,
                                      .model = bench->stage.snapshot->models[0],
                                      .answer = {.model_name = "logs",
                                                 .model_version = "1",
                                                 .info = &fake_models[0].info,
                                                 .result = result_of(bench->scores[i], 2)},
                                      .submitted_ns = after(bench, moments[i][0]),
                                      .started_ns = after(bench, moments[i][1]),
                                      .done_ns = after(bench, moments[i][2])};
    }
}

/* Out of the queue, or of the pool that explained it, to its reply and its record. */
static const char *bench_finish(struct bench *bench)
{
    struct request *request = bench->request;
    enter_phases(request, request->explained_ns == 0 ? REQUEST_QUEUED : REQUEST_EXPLAIN);
    predict_finish(&bench->stage.service, request);
    bench->stage.app.done(&bench->stage.service, &bench->exchange);
    bench->is_done = true;
    ck_assert_uint_eq(bench->exchange.reply.body_len, strlen(bench->exchange.reply.body));
    return bench->exchange.reply.body;
}

static void bench_close(struct bench *bench)
{
    if (!bench->is_done)
        snapshots_release(bench->stage.service.snapshots, bench->request->snapshot);
    arena_deinit(&bench->exchange.arena);
    memory_give(&bench->stage.service.memory, bench->exchange.memory_bytes);
    stage_close(&bench->stage);
}

static double metric(const struct bench *bench, const char *series)
{
    struct arena arena;
    char problem[EXPOSITION_PROBLEM_BYTES] = "";
    size_t len;
    arena_init(&arena);
    const char *page = metrics_expose(bench->stage.service.metrics, &arena, &len);
    struct exposition *exposition = exposition_parse(page, len, problem);
    ck_assert_msg(exposition != NULL, "%s", problem);
    double value = exposition_value(exposition, series);
    exposition_free(exposition);
    arena_deinit(&arena);
    return value;
}

static double stage_seconds(const struct bench *bench, const char *stage)
{
    char series[128];
    snprintf(series, sizeof series, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"%s\"}",
             stage);
    return metric(bench, series);
}

static void expect_stages(const struct bench *bench, double parse, double prepare, double queue,
                          double inference, double explain)
{
    ck_assert_double_eq_tol(stage_seconds(bench, "parse"), parse, 1e-6);
    ck_assert_double_eq_tol(stage_seconds(bench, "prepare"), prepare, 1e-6);
    ck_assert_double_eq_tol(stage_seconds(bench, "queue"), queue, 1e-6);
    ck_assert_double_eq_tol(stage_seconds(bench, "inference"), inference, 1e-6);
    ck_assert_double_eq_tol(stage_seconds(bench, "explain"), explain, 1e-6);
}

static void expect(const char *body, const char *part)
{
    ck_assert_msg(strstr(body, part) != NULL, "no %s in %s", part, body);
}

START_TEST(a_reply_tells_how_long_each_station_took)
{
    struct bench bench;
    bench_open(&bench, false);
    const char *body = bench_finish(&bench);
    ck_assert_uint_eq(bench.exchange.reply.status, 200);
    ck_assert_str_eq(bench.exchange.reply.content_type, "application/json");
    expect(body, "\"timing_ms\":{\"queue\":4000.0,\"prepare\":6000.0,\"inference\":5000.0,"
                 "\"total\":1000");
    expect(body, bench.request->id);
    expect_stages(&bench, 2, 3, 4, 5, 0);
    ck_assert_double_eq_tol(stage_seconds(&bench, "encode"), 30, 30); /* neither -1 nor an age */
    ck_assert_double_eq(metric(&bench, "attnd_stage_duration_seconds_count{model=\"logs\",stage="
                                       "\"explain\"}"),
                        0);
    ck_assert_double_eq(metric(&bench, "attnd_clients_gone_total"), 0);
    bench_close(&bench);
}
END_TEST

/* The second row was done last, though the third entered the queue last. */
START_TEST(a_reply_tells_the_times_of_the_row_that_was_done_last)
{
    struct bench bench;
    bench_open(&bench, true);
    bench.request->explained_ns = after(&bench, 44);
    bench.request->call.explain = true;
    bench.request->call.id = "lot 7";
    const char *body = bench_finish(&bench);
    expect(body, "\"timing_ms\":{\"queue\":9000.0,\"prepare\":6000.0,\"inference\":11000.0,"
                 "\"explain\":13000.0,\"total\":1000");
    expect(body, "\"id\":\"lot 7\"");
    expect_stages(&bench, 2, 3, 4 + 9 + 1, 5 + 11 + 2, 13);
    ck_assert_double_eq(
        metric(&bench, "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"auto\"}"),
        3);
    ck_assert_double_eq_tol(metric(&bench, "attnd_prediction_score_sum{model=\"logs\"}"), 2.25,
                            1e-6);
    bench_close(&bench);
}
END_TEST

START_TEST(predict_reports_a_failed_row_and_counts_it_as_rejected)
{
    struct bench bench;
    bench_open(&bench, true);
    err_set(&bench.rows[1].err, ERR_DEADLINE, "too late");
    bench.rows[2].answer.result.judgement.decision = DECISION_REVIEW;
    bench.rows[2].answer.result.truncated = true;
    const char *body = bench_finish(&bench);
    ck_assert_uint_eq(bench.exchange.reply.status, 200);
    expect(body, "\"detail\":\"too late\"");
    expect(body, "\"decision\":\"auto\"");
    expect(body, "\"decision\":\"review\"");
    expect(body, "\"truncated\":true");
    expect(body, "\"version\":\"1\",\"digest\":null");
    expect_stages(&bench, 2, 3, 4 + 1, 5 + 2, 0);
    ck_assert_double_eq(
        metric(&bench, "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"auto\"}"),
        1);
    ck_assert_double_eq(
        metric(&bench,
               "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"review\"}"),
        1);
    ck_assert_double_eq(metric(&bench, "attnd_rejected_total{reason=\"deadline_passed\"}"), 1);
    bench_close(&bench);
}
END_TEST

/* A failed row is the whole answer only where it is the only one. */
START_TEST(a_call_whose_only_row_failed_is_a_problem)
{
    struct bench bench;
    bench_open(&bench, false);
    err_set(&bench.rows[0].err, ERR_DEADLINE, "too late");
    const char *body = bench_finish(&bench);
    ck_assert_uint_eq(bench.exchange.reply.status, 504);
    ck_assert_str_eq(bench.exchange.reply.content_type, "application/problem+json");
    expect(body, "\"detail\":\"too late\"");
    ck_assert_double_eq(metric(&bench, "attnd_rejected_total{reason=\"deadline_passed\"}"), 1);
    expect_stages(&bench, 0, 0, 0, 0, 0);
    bench_close(&bench);
}
END_TEST

START_TEST(an_envelope_without_a_row_in_the_queue_counts_no_stage)
{
    struct bench bench;
    bench_open(&bench, true);
    bench.request->good_count = 0;
    for (unsigned i = 0; i < ROWS; i++)
        err_set(&bench.rows[i].err, ERR_UNUSABLE, "not a picture");
    const char *body = bench_finish(&bench);
    ck_assert_uint_eq(bench.exchange.reply.status, 200);
    expect(body, "\"timing_ms\":{\"queue\":0.0,\"prepare\":6000.0,\"inference\":0.0,\"total\":");
    expect_stages(&bench, 0, 0, 0, 0, 0);
    ck_assert_double_eq(metric(&bench, "attnd_rejected_total{reason=\"unusable\"}"), ROWS);
    bench_close(&bench);
}
END_TEST

START_TEST(a_client_that_has_gone_is_counted_once)
{
    for (unsigned who = 0; who < 8; who++) {
        struct bench bench;
        bench_open(&bench, true);
        bench.request->is_abandoned = (who & 1) != 0;
        bench.rows[0].is_abandoned = (who & 2) != 0;
        bench.rows[2].is_abandoned = (who & 4) != 0;
        bench_finish(&bench);
        ck_assert_double_eq(metric(&bench, "attnd_clients_gone_total"), who != 0);
        bench_close(&bench);
    }
}
END_TEST

/* Refusals from the head alone; nothing is read after them. */
START_TEST(the_head_refuses_what_it_can)
{
    static const struct {
        const char *type, *encoding;
        unsigned status; /* 200: the body may come */
        const char *detail;
    } cases[] = {
        {NULL, NULL, 200, NULL},
        {"application/json", "identity", 200, NULL},
        {"application/json", "Identity", 200, NULL},
        {"text/plain", NULL, 200, NULL},
        {"text/html", NULL, 415, "\"detail\":\"Content-Type must be "},
        {"text/html", "identity", 415, "\"detail\":\"Content-Type must be "},
        {"application/json", "gzip", 200, NULL},
        {"text/plain", "X-Gzip", 200, NULL},
        {"application/json", "br", 415, "\"detail\":\"Content-Encoding must be gzip or absent\""},
    };
    struct bench bench;
    bench_open(&bench, false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header headers[] = {
            {cases[i].type != NULL ? "Content-Type" : "Accept", cases[i].type},
            {cases[i].encoding != NULL ? "Content-Encoding" : "Accept", cases[i].encoding},
            {NULL, NULL}};
        struct http_exchange exchange;
        exchange_init(&exchange, "");
        fake_headers = headers;
        enum http_next next = bench.stage.app.head(&bench.stage.service, &exchange);
        ck_assert_int_eq(next, cases[i].status == 200 ? HTTP_CONTINUE : HTTP_REPLY);
        if (cases[i].status != 200) {
            ck_assert_uint_eq(exchange.reply.status, cases[i].status);
            expect(exchange.reply.body, cases[i].detail);
        }
        exchange_done(&bench.stage, &exchange);
    }
    fake_headers = NULL;
    bench_close(&bench);
}
END_TEST

START_TEST(the_head_refuses_while_there_is_no_service)
{
    static const struct {
        int phase;
        unsigned status;
        const char *detail;
    } cases[] = {{SERVICE_STARTING, 503, "\"detail\":\"the models are being loaded\""},
                 {SERVICE_READY, 200, NULL},
                 {SERVICE_DRAINING, 200, NULL},
                 {SERVICE_STOPPING, 503, "\"detail\":\"the server is stopping\""}};
    struct bench bench;
    bench_open(&bench, false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        exchange_init(&exchange, "");
        atomic_store(&bench.stage.service.phase, cases[i].phase);
        enum http_next next = bench.stage.app.head(&bench.stage.service, &exchange);
        ck_assert_int_eq(next, cases[i].status == 200 ? HTTP_CONTINUE : HTTP_REPLY);
        if (cases[i].status != 200) {
            ck_assert_uint_eq(exchange.reply.status, cases[i].status);
            ck_assert_uint_eq(exchange.reply.retry_after_s, 1);
            expect(exchange.reply.body, cases[i].detail);
        }
        exchange_done(&bench.stage, &exchange);
    }
    bench_close(&bench);
}
END_TEST

/* A request that waited in the pool too long gives back its place in the queue. It is not parsed,
 * prepared or explained. */
START_TEST(predict_pool_gives_back_requests_that_nobody_needs)
{
    static const struct {
        int phase;
        uint64_t deadline_ns;
        bool gone;
        enum err_code code;
    } cases[] = {{SERVICE_STOPPING, 0, false, ERR_NOT_READY},
                 {SERVICE_READY, 1, false, ERR_DEADLINE},
                 {SERVICE_READY, 0, true, ERR_SLOW}};
    static const enum request_phase kinds[] = {REQUEST_PARSE, REQUEST_PREPARE, REQUEST_EXPLAIN};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
        const enum request_phase phase = kinds[i % 3];
        const unsigned places = phase == REQUEST_EXPLAIN ? 0 : 1;
        struct bench bench;
        bench_open(&bench, false);
        struct request *request = bench.request;
        enter_phases(request, phase);
        ck_assert_int_eq(batcher_reserve(bench.stage.service.batcher, places, &request->err),
                         ERR_OK);
        request->reserved = places;
        request->deadline_ns = cases[i / 3].deadline_ns;
        atomic_store(&bench.stage.service.phase, cases[i / 3].phase);
        atomic_store(&fake_client_gone, cases[i / 3].gone);
        ck_assert(!predict_pool(&bench.stage.service, request));
        ck_assert(bench.exchange.reply.close); /* resumed */
        ck_assert_uint_eq(request->reserved, 0);
        ck_assert_uint_eq(request->phase, phase);
        ck_assert_int_eq(request->err.code, cases[i / 3].code);
        ck_assert_int_eq(request->is_abandoned, cases[i / 3].gone);
        atomic_store(&fake_client_gone, false);
        bench_close(&bench);
    }
}
END_TEST

SUITE("predict_finish", predict_pool_gives_back_requests_that_nobody_needs,
      a_reply_tells_how_long_each_station_took,
      a_reply_tells_the_times_of_the_row_that_was_done_last,
      predict_reports_a_failed_row_and_counts_it_as_rejected,
      a_call_whose_only_row_failed_is_a_problem,
      an_envelope_without_a_row_in_the_queue_counts_no_stage,
      a_client_that_has_gone_is_counted_once, the_head_refuses_what_it_can,
      the_head_refuses_while_there_is_no_service)
