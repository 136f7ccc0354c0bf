/* Explanations without a pool: the part of the budget that is kept, the size of a heat map, and the
 * rows that are explained. */
#include "server/serve/explain.h"

#include "server/api/route.h"
#include "server/protocol/protocol.h"
#include "tests/support/results.h"
#include "tests/unit/server/stage.h"

#include <string.h>

enum { MOST = 5 * FAKE_CAPTURE_BYTES, SIDE = 2048 };

struct bench {
    struct stage stage;
    struct http_exchange exchange;
    struct request *request;
    struct row rows[2], *good[2];
    struct predict_item items[2];
    int32_t ids[2];
    float scores[2];
};

/* Two rows of `tokens` tokens, of the text or the image model. */
static void bench_open(struct bench *bench, enum engine_kind kind, unsigned tokens)
{
    *bench = (struct bench){.ids = {'a', 'b'}, .scores = {0.25f, 0.75f}};
    stage_open(&bench->stage, 1);
    exchange_init(&bench->exchange, "");
    bench->request = stage_request(&bench->stage, &bench->exchange);
    bench->request->call.explain = true;
    bench->request->call.overlay = true;
    bench->request->call.items = bench->items;
    bench->request->rows = bench->rows;
    bench->request->good = bench->good;
    bench->request->good_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        bench->good[i] = &bench->rows[i];
        bench->items[i] =
            (struct predict_item){.source = {.bytes = i == 0 ? "Panic" : "fault", .len = 5}};
        bench->rows[i] =
            (struct row){.request = bench->request,
                         .model = bench->stage.snapshot->models[kind == ENGINE_IMAGE],
                         .input = {.kind = kind, .tokens = tokens, .ids = &bench->ids[i]},
                         .answer.result = result_of(bench->scores, 2)};
    }
}

static void bench_close(struct bench *bench)
{
    explain_release(&bench->stage.service, bench->request);
    ck_assert_uint_eq(bench->request->capture_bytes, 0);
    explain_release(&bench->stage.service, bench->request); /* again: nothing is left to give */
    arena_deinit(&bench->exchange.arena);
    memory_give(&bench->stage.service.memory, bench->exchange.memory_bytes);
    stage_close(&bench->stage);
}

static enum err_code keep(struct bench *bench, unsigned i)
{
    return explain_keep(&bench->stage.service, bench->request, &bench->rows[i]);
}

START_TEST(a_row_that_is_kept_takes_its_part_of_the_budget)
{
    struct bench bench;
    bench_open(&bench, ENGINE_TEXT, 2);
    bench.rows[0].input.width = bench.rows[0].input.height = SIDE; /* of an image: this is none */
    ck_assert_int_eq(keep(&bench, 0), ERR_OK);
    ck_assert_uint_eq(bench.request->capture_bytes, 2 * FAKE_CAPTURE_BYTES);
    ck_assert_uint_eq(bench.request->explain_units, EXPLAIN_ROW_UNITS);
    ck_assert(bench.request->then != NULL);
    bench.rows[1].input.tokens = 3;
    ck_assert_int_eq(keep(&bench, 1), ERR_OK);
    ck_assert_uint_eq(bench.request->capture_bytes, MOST);
    ck_assert_uint_eq(bench.stage.service.capture_bytes, MOST);
    ck_assert_uint_eq(bench.request->explain_units, 2 * EXPLAIN_ROW_UNITS);
    ck_assert_uint_gt(bench.exchange.memory_bytes, MOST);
    bench_close(&bench);
}
END_TEST

START_TEST(a_request_that_alone_needs_too_much_is_too_large)
{
    struct bench bench;
    bench_open(&bench, ENGINE_TEXT, 3);
    ck_assert_int_eq(keep(&bench, 0), ERR_OK);
    ck_assert_int_eq(keep(&bench, 1), ERR_TOO_LARGE);
    ck_assert_str_eq(
        bench.rows[1].err.text,
        "explain: the request's inputs up to this one need 600 bytes of attention, the "
        "limit (explain_bytes_max) is 500; send fewer or shorter ones");
    ck_assert_int_eq(bench.request->err.code, ERR_OK);
    ck_assert_uint_eq(bench.request->capture_bytes, 3 * FAKE_CAPTURE_BYTES);
    ck_assert_uint_eq(bench.request->explain_units, EXPLAIN_ROW_UNITS);
    bench_close(&bench);
}
END_TEST

/* The request goes to the pool with its last row. The pool explains it, encodes it and gives it
 * back. */
START_TEST(a_request_that_is_kept_is_explained_by_the_pool)
{
    static const struct route route = {.protocol = &protocol_native};
    struct bench bench;
    bench_open(&bench, ENGINE_TEXT, 2);
    bench.request->route = &route;
    bench.request->protocol = route.protocol;
    bench.request->call.item_count = 2;
    bench.request->call.envelope = true;
    for (int i = 0; i < 2; i++)
        bench.rows[i].answer = (struct answer){.model_name = "logs",
                                               .model_version = "1",
                                               .info = bench.rows[i].model->info,
                                               .result = result_of(bench.scores, 2)};
    fake_explained_by = pthread_self();
    enter_phases(bench.request, REQUEST_PREPARE);
    ck_assert_int_eq(keep(&bench, 0), ERR_OK);
    ck_assert_int_eq(keep(&bench, 1), ERR_OK);
    enter_phases(bench.request, REQUEST_QUEUED);
    request_expect_rows(bench.request, 2);
    request_row_done(&bench.rows[1]);
    ck_assert_uint_eq(bench.request->phase, REQUEST_QUEUED);
    request_row_done(&bench.rows[0]);
    fake_await_resumed(&bench.exchange);
    ck_assert_uint_eq(bench.request->phase, REQUEST_REPLY);
    ck_assert_ptr_nonnull(bench.request->reply);
    ck_assert(!pthread_equal(fake_explained_by, pthread_self()));
    for (int i = 0; i < 2; i++) {
        const struct explanation *explanation = bench.rows[i].answer.explanation;
        ck_assert_uint_eq(explanation->word_count, 1);
        ck_assert(explanation->has_phrases == (i == 0)); /* of the text that was sent */
        ck_assert_uint_eq(explanation->phrases[0].end, 5);
    }
    bench_close(&bench);
}
END_TEST

/* Others hold the rest of the budget, just enough or a byte too much. */
START_TEST(a_budget_that_others_hold_is_worth_waiting_for)
{
    for (unsigned over = 0; over < 2; over++) {
        struct bench bench;
        bench_open(&bench, ENGINE_TEXT, 2);
        size_t others = MOST - 2 * FAKE_CAPTURE_BYTES + over;
        atomic_fetch_add(&bench.stage.service.capture_bytes, others);
        ck_assert_int_eq(keep(&bench, 0), ERR_OK);
        ck_assert_int_eq(bench.request->err.code, over ? ERR_QUEUE_FULL : ERR_OK);
        ck_assert_str_eq(bench.request->err.text,
                         over ? "too many explanations at once: their attention takes all of 500 "
                                "bytes (explain_bytes_max)"
                              : "");
        ck_assert_int_eq(bench.request->then == NULL, over);
        atomic_fetch_sub(&bench.stage.service.capture_bytes, others);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(explain_gives_a_row_the_error_of_the_engine)
{
    struct bench bench;
    bench_open(&bench, ENGINE_TEXT, 2);
    bench.request->call.how.layer = 9;
    ck_assert_int_eq(keep(&bench, 0), ERR_UNUSABLE);
    ck_assert_str_eq(bench.rows[0].err.text, "explain_layer is 9");
    bench_close(&bench);
}
END_TEST

/* A heat map costs 16 bytes a pixel, and has 2^22 of them at most. */
START_TEST(explain_limits_the_pixels_of_a_heat_map)
{
    struct bench bench;
    bench_open(&bench, ENGINE_IMAGE, 1);
    bench.stage.config.explain_bytes_max = (size_t)1 << 30;
    bench.rows[0].input.width = bench.rows[0].input.height = SIDE;
    ck_assert_int_eq(keep(&bench, 0), ERR_OK);
    ck_assert_uint_eq(bench.request->capture_bytes, FAKE_CAPTURE_BYTES + (size_t)SIDE * SIDE * 16);
    ck_assert_uint_eq(bench.request->explain_units, EXPLAIN_ROW_UNITS + (size_t)SIDE * SIDE);
    bench.rows[1].input.width = SIDE;
    bench.rows[1].input.height = SIDE + 1;
    bench.request->call.overlay = false;
    ck_assert_int_eq(keep(&bench, 1), ERR_OK);
    bench.request->call.overlay = true;
    ck_assert_int_eq(keep(&bench, 1), ERR_UNUSABLE);
    ck_assert_str_eq(bench.rows[1].err.text,
                     "overlay: a heat map has at most 4194304 pixels, the image has 4196352; "
                     "without overlay it is explained by its grid");
    bench_close(&bench);
}
END_TEST

START_TEST(rows_are_explained_but_for_those_that_failed)
{
    struct bench bench;
    bench_open(&bench, ENGINE_IMAGE, 1);
    err_set(&bench.rows[0].err, ERR_INTERNAL, "no score");
    uint64_t before = clock_now_ns();
    ck_assert_int_eq(explain_rows(&bench.stage.service, bench.request), ERR_OK);
    ck_assert(bench.request->explained_ns >= before &&
              bench.request->explained_ns <= clock_now_ns());
    ck_assert_ptr_null(bench.rows[0].answer.explanation);
    ck_assert_ptr_nonnull(bench.rows[1].answer.explanation);
    ck_assert_int_eq(bench.rows[1].answer.explanation->method, EXPLAIN_ROLLOUT);
    ck_assert_str_eq(bench.rows[1].answer.explanation->overlay, "UE5H"); /* "PNG" */
    bench.request->call.overlay = false;
    explain_rows(&bench.stage.service, bench.request);
    ck_assert_ptr_null(bench.rows[1].answer.explanation->overlay);
    bench_close(&bench);
}
END_TEST

START_TEST(explain_skips_requests_that_nobody_needs)
{
    struct bench bench;
    bench_open(&bench, ENGINE_TEXT, 1);
    atomic_store(&bench.stage.service.phase, SERVICE_STOPPING);
    bench.ids[0] = '7';
    bench.rows[0].input.kind = ENGINE_IMAGE;
    bench.rows[0].model = bench.stage.snapshot->models[1];
    ck_assert_int_eq(explain_rows(&bench.stage.service, bench.request), ERR_NOT_READY);
    ck_assert_int_eq(bench.rows[0].err.code, ERR_NOT_READY);
    ck_assert_ptr_null(bench.rows[0].answer.explanation->overlay);
    bench_close(&bench);
}
END_TEST

SUITE("explain", a_row_that_is_kept_takes_its_part_of_the_budget,
      a_request_that_is_kept_is_explained_by_the_pool,
      a_request_that_alone_needs_too_much_is_too_large,
      a_budget_that_others_hold_is_worth_waiting_for, explain_gives_a_row_the_error_of_the_engine,
      explain_limits_the_pixels_of_a_heat_map, rows_are_explained_but_for_those_that_failed,
      explain_skips_requests_that_nobody_needs)
