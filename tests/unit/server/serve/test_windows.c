/* A long text between HTTP and the engine: its windows wait, run and fail by themselves, and are
 * one answer. The fake engine cuts windows of 64 bytes; what a text scores is the sum of the
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

START_TEST(windows_are_rows_of_their_own_and_one_answer)
{
    struct stage stage;
    struct http_exchange exchange;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    unsigned warm = fake_rows;
    ck_assert_uint_eq(call(&stage, &exchange, long_call(body, 3)), 200);
    const struct request *request = exchange.state;
    ck_assert_uint_eq(request->good_count, 1);
    ck_assert_uint_eq(request->queued_count, 3);
    ck_assert_uint_eq(fake_rows, warm + 3);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"windows\":3"));
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"ood_score\":147.0")); /* 48 + 49 + 50 */
    ck_assert_ptr_null(strstr(exchange.reply.body, "truncated"));
    const struct row *row = &request->rows[0];
    ck_assert_uint_gt(row->submitted_ns, exchange.head_ns);
    ck_assert_uint_ge(row->started_ns, row->submitted_ns);
    ck_assert_uint_ge(row->done_ns, row->windows[2].started_ns);
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

START_TEST(more_windows_than_the_queue_holds_are_too_large_and_than_it_has_left_too_many)
{
    struct stage stage;
    struct http_exchange held;
    char body[BODY_BYTES];
    stage_open(&stage, 1);
    check_call(&stage, long_call(body, QUEUE_LIMIT + 1), 413,
               "$.text: the request's inputs up to this one, each window of a text and each view "
               "of an image counted, take "
               "5 places in the queue, which has 4 (queue_limit); send fewer or shorter ones");
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"held\"}"));
    fake_await_inside(1);
    struct http_exchange waiting;
    ck_assert(send(&stage, &waiting, "{\"text\": \"waits\"}"));
    check_call(&stage, long_call(body, QUEUE_LIMIT), 429, "queue");
    fake_gate(false);
    fake_await_resumed(&held);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    fake_await_resumed(&waiting);
    stage.app.finish(&stage.service, &waiting);
    exchange_done(&stage, &waiting);
    check_call(&stage, long_call(body, QUEUE_LIMIT), 200, "\"windows\":4");
    stage_close(&stage);
}
END_TEST

/* Three windows wait behind what is at the gate; their client leaves. */
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
    ck_assert_uint_eq(request->queued_count, 3);
    ck_assert_uint_eq(request->rows[0].answer.result.windows, 0);
    ck_assert_uint_eq(request->rows[1].answer.result.windows, 2);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

/* The places of all that came before count, also where they leave none. */
START_TEST(an_input_behind_windows_that_fill_the_queue_is_too_large_by_itself)
{
    struct stage stage;
    struct http_exchange exchange;
    char body[2 * BODY_BYTES], text[QUEUE_LIMIT * WINDOW + 1];
    stage_open(&stage, 1);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    snprintf(body, sizeof body,
             "{\"long_text\": \"windows\", \"inputs\": [{\"text\": \"%s\"}, {\"text\": \"b\"}, "
             "{\"text\": \"%.*s\"}]}",
             text, 2 * WINDOW, text);
    ck_assert_uint_eq(call(&stage, &exchange, body), 200);
    const struct request *request = exchange.state;
    ck_assert_uint_eq(request->queued_count, QUEUE_LIMIT);
    ck_assert_int_eq(request->rows[0].err.code, ERR_OK);
    ck_assert_int_eq(request->rows[1].err.code, ERR_TOO_LARGE);
    ck_assert_int_eq(request->rows[2].err.code, ERR_TOO_LARGE);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

SUITE("windows", an_input_behind_windows_that_fill_the_queue_is_too_large_by_itself,
      windows_are_rows_of_their_own_and_one_answer, a_text_that_fits_has_no_windows,
      windows_pass_the_reading_and_its_bound_to_the_engine,
      more_windows_than_the_queue_holds_are_too_large_and_than_it_has_left_too_many,
      windows_whose_client_has_gone_are_not_computed, windows_that_expire_are_one_504,
      texts_with_windows_and_without_share_a_call)
