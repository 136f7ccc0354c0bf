/* A long text between HTTP and the engine: it is computed in steps, waits in between, and is one
 * answer. The fake engine cuts windows of 64 bytes; what a text scores is the sum of the
 * characters with which they begin. */
#include "tests/unit/server/stage.h"

enum { WINDOW = 64, BODY_BYTES = 1024 };

/* A call with a text of `count` windows, the last one shorter; each begins with a digit. */
static const char *long_call(char body[BODY_BYTES], unsigned count)
{
    char text[QUEUE_LIMIT * 2 * WINDOW];
    ck_assert_uint_lt(count * WINDOW, sizeof text);
    memset(text, '-', sizeof text);
    for (unsigned i = 0; i < count; i++)
        text[i * WINDOW] = (char)('0' + i);
    snprintf(body, BODY_BYTES, "{\"long_text\": \"windows\", \"text\": \"%.*s\"}",
             (int)(count * WINDOW - WINDOW / 2), text);
    return body;
}

START_TEST(windows_are_steps_of_one_answer)
{
    struct stage stage;
    struct http_exchange exchange;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    unsigned warm = fake_rows;
    ck_assert_uint_eq(call(&stage, &exchange, long_call(body, 3)), 200);
    const struct request *request = exchange.state;
    ck_assert_uint_eq(request->good_count, 1);
    ck_assert_uint_eq(fake_rows, warm + 3);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"windows\":3"));
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"ood_score\":147.0")); /* 48 + 49 + 50 */
    ck_assert_ptr_null(strstr(exchange.reply.body, "truncated"));
    const struct row *row = &request->rows[0];
    ck_assert_uint_gt(row->submitted_ns, exchange.head_ns);
    ck_assert_uint_ge(row->started_ns, row->submitted_ns);
    ck_assert_uint_ge(row->done_ns, row->started_ns);
    ck_assert_uint_eq(atomic_load(&row->model->answered), 1);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(a_text_that_fits_has_no_windows)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    ck_assert_uint_eq(call(&stage, &exchange, "{\"long_text\": \"windows\", \"text\": \"short\"}"),
                      200);
    ck_assert_ptr_null(strstr(exchange.reply.body, "\"windows\""));
    ck_assert_uint_eq(fake_seen.long_text, LONG_TEXT_WINDOWS);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(windows_pass_the_reading_and_its_bound_to_the_engine)
{
    struct stage stage;
    stage_open(&stage, 1);
    stage.snapshot->config.text_tokens_max = 321;
    check_call(&stage, "{\"text\": \"a\"}", 200, "label");
    ck_assert_uint_eq(fake_seen.long_text, LONG_TEXT_OWN);
    ck_assert_uint_eq(fake_seen.text_tokens_max, 321);
    check_call(&stage, "{\"text\": \"a\", \"long_text\": \"truncate\"}", 200, "label");
    ck_assert_uint_eq(fake_seen.long_text, LONG_TEXT_TRUNCATE);
    check_call(&stage, "{\"text\": \"a\", \"long_text\": \"windows\"}", 200, "label");
    ck_assert_uint_eq(fake_seen.long_text, LONG_TEXT_WINDOWS);
    check_call(&stage, "{\"text\": \"a\", \"long_text\": \"all\"}", 422,
               "$.long_text: expected truncate or windows");
    check_call(&stage, "{\"text\": \"a\", \"long_text\": true}", 422,
               "$.long_text: expected a string, found a boolean");
    stage_close(&stage);
}
END_TEST

/* Between its steps it keeps its place. */
START_TEST(a_text_of_more_windows_than_the_queue_holds_takes_one_place)
{
    struct stage stage;
    struct http_exchange held, waiting;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"held\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &waiting, long_call(body, QUEUE_LIMIT + 3)));
    const struct batcher_progress progress = batcher_progress(stage.service.batcher);
    ck_assert_uint_eq(progress.waiting, 1);
    fake_gate(false);
    fake_await_resumed(&held);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    fake_await_resumed(&waiting);
    stage.app.finish(&stage.service, &waiting);
    ck_assert_uint_eq(waiting.reply.status, 200);
    ck_assert_ptr_nonnull(strstr(waiting.reply.body, "\"windows\":7"));
    exchange_done(&stage, &waiting);
    struct err err = {0};
    ck_assert_int_eq(batcher_admit(stage.service.batcher, QUEUE_LIMIT, &err), ERR_OK);
    stage_close(&stage);
}
END_TEST

/* The first step is at the gate when the server stops. */
START_TEST(a_text_whose_step_ends_in_a_server_that_stops_is_one_503)
{
    struct stage stage;
    struct http_exchange exchange;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    stage.snapshot->models[0]->batch_tokens = 2 * WINDOW;
    fake_gate(true);
    ck_assert(send(&stage, &exchange, long_call(body, 3)));
    fake_await_inside(1);
    batcher_close(stage.service.batcher);
    fake_gate(false);
    fake_await_resumed(&exchange);
    stage.app.finish(&stage.service, &exchange);
    ck_assert_uint_eq(exchange.reply.status, 503);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "the server is stopping"));
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

/* A text waits behind what is at the gate; its client leaves. */
START_TEST(windows_whose_client_has_gone_are_not_computed)
{
    struct stage stage;
    struct http_exchange held, gone;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    unsigned warm = fake_rows;
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"held\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &gone, long_call(body, 3)));
    atomic_store(&fake_client_left, &gone);
    fake_gate(false);
    fake_await_resumed(&gone);
    stage.app.finish(&stage.service, &gone);
    ck_assert_uint_eq(gone.reply.status, 408);
    ck_assert(((const struct request *)gone.state)->rows[0].is_abandoned);
    ck_assert_uint_eq(fake_rows, warm + 1);
    exchange_done(&stage, &gone);
    fake_await_resumed(&held);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    stage_close(&stage);
}
END_TEST

START_TEST(windows_that_expire_are_one_504)
{
    struct stage stage;
    struct http_exchange held, late;
    char body[BODY_BYTES];
    const struct timespec rest = {.tv_nsec = 5 * CLOCK_NS_PER_MS};
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"held\"}"));
    fake_await_inside(1);
    stage.snapshot->config.deadline_ms = 1;
    ck_assert(send(&stage, &late, long_call(body, 3)));
    nanosleep(&rest, NULL);
    fake_gate(false);
    fake_await_resumed(&late);
    stage.app.finish(&stage.service, &late);
    ck_assert_uint_eq(late.reply.status, 504);
    exchange_done(&stage, &late);
    fake_await_resumed(&held);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    stage_close(&stage);
}
END_TEST

START_TEST(texts_with_windows_and_without_share_a_call)
{
    struct stage stage;
    struct http_exchange exchange;
    char body[2 * BODY_BYTES], text[BODY_BYTES];
    stage_open(&stage, 1);
    memset(text, 'a', 100);
    text[100] = '\0';
    snprintf(body, sizeof body,
             "{\"long_text\": \"windows\", \"inputs\": [{\"text\": \"b\"}, {\"text\": \"%s\"}, "
             "{\"text\": \"\"}]}",
             text);
    ck_assert_uint_eq(call(&stage, &exchange, body), 200);
    const struct request *request = exchange.state;
    ck_assert_uint_eq(request->good_count, 2);
    ck_assert_uint_eq(request->rows[0].answer.result.windows, 0);
    ck_assert_uint_eq(request->rows[1].answer.result.windows, 2);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

SUITE("windows", a_text_whose_step_ends_in_a_server_that_stops_is_one_503,
      windows_are_steps_of_one_answer, a_text_that_fits_has_no_windows,
      windows_pass_the_reading_and_its_bound_to_the_engine,
      a_text_of_more_windows_than_the_queue_holds_takes_one_place,
      windows_whose_client_has_gone_are_not_computed, windows_that_expire_are_one_504,
      texts_with_windows_and_without_share_a_call)
