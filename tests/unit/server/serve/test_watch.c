/* Long work for a request ends when nobody needs it any more, and is bounded beforehand. */
#include "tests/unit/server/stage.h"
#include "wire/limits.h"

/* A body that goes to the pool for its length and begins with `first`; yours to free. */
static char *long_text(char first)
{
    char *text = malloc(LIMIT_PREPARE_INLINE_BYTES + 2);
    ck_assert_ptr_nonnull(text);
    memset(text, 'a', LIMIT_PREPARE_INLINE_BYTES + 1);
    text[0] = first;
    text[LIMIT_PREPARE_INLINE_BYTES + 1] = '\0';
    return text;
}

static const struct fake_header plain_text[] = {{"Content-Type", "text/plain"}, {NULL, NULL}};

/* The whole request is late, not each of its inputs one after the other. */
START_TEST(preparing_ends_at_the_deadline)
{
    struct stage stage;
    stage_open(&stage, 1);
    unsigned rows = fake_rows;
    check_call(&stage,
               "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"S\"}, {\"text\": \"S\"}], "
               "\"deadline_ms\": 20}",
               504, "\"the deadline passed while the request was prepared\"");
    char *body = long_text('S');
    fake_headers = plain_text;
    fake_query = (const struct fake_header[]){{"deadline_ms", "20"}, {NULL, NULL}};
    check_call(&stage, body, 504, "\"the deadline passed while the request was prepared\"");
    fake_headers = fake_query = NULL;
    check_call(&stage, "{\"text\": \"a\"}", 200, "pass");
    ck_assert_uint_eq(fake_rows, rows + 1);
    free(body);
    stage_close(&stage);
}
END_TEST

START_TEST(preparing_ends_when_the_client_goes)
{
    struct stage stage;
    struct http_exchange left;
    stage_open(&stage, 1);
    char *body = long_text('S');
    fake_headers = plain_text;
    ck_assert(send(&stage, &left, body));
    fake_await_inside(1);
    atomic_store(&fake_client_gone, true);
    fake_await_resumed(&left);
    stage.app.finish(&stage.service, &left);
    ck_assert_uint_ne(left.reply.status, 200);
    exchange_done(&stage, &left);
    check_metric(&stage, "attnd_clients_gone_total 1\n");
    free(body);
    stage_close(&stage);
}
END_TEST

START_TEST(preparing_ends_when_the_time_to_stop_is_up)
{
    struct stage stage;
    struct http_exchange last;
    stage_open(&stage, 1);
    char *body = long_text('S');
    fake_headers = plain_text;
    ck_assert(send(&stage, &last, body));
    fake_await_inside(1);
    atomic_store(&stage.service.phase, SERVICE_STOPPING);
    prepare_stop(stage.service.prepare);
    fake_await_resumed(&last);
    stage.app.finish(&stage.service, &last);
    ck_assert_uint_eq(last.reply.status, 503);
    exchange_done(&stage, &last);
    free(body);
    stage_close(&stage);
}
END_TEST

/* NyBwaXhlbHM= is "7 pixels", which an endless heat map is made of. */
START_TEST(explaining_ends_at_the_deadline)
{
    struct stage stage;
    stage_open(&stage, 1);
    stage.config.explain_bytes_max = 1 << 20;
    check_call(&stage,
               "{\"inputs\": [{\"image\": \"NyBwaXhlbHM=\"}, {\"image\": \"NyBwaXhlbHM=\"}], "
               "\"explain\": true, \"overlay\": true, \"deadline_ms\": 20}",
               504, "the deadline passed");
    stage_close(&stage);
}
END_TEST

/* 80 million pixels hold the only thread; by the pool's first guess they take four seconds. */
START_TEST(watch_counts_inputs_that_wait_for_preparation)
{
    struct stage stage;
    struct http_exchange held;
    stage_open(&stage, 1);
    prepare_limit_wait(stage.service.prepare, 2500);
    fake_headers = (const struct fake_header[]){{"Content-Type", "image/png"}, {NULL, NULL}};
    ck_assert(send(&stage, &held, "80000000 pixels"));
    fake_await_inside(1);
    check_call(&stage, "9000000 pixels", 429,
               "are about 4.0 s of work, more than the queue's 2.5 s");
    struct http_exchange refused;
    call(&stage, &refused, "9000000 pixels");
    ck_assert_uint_eq(refused.reply.retry_after_s, 2);
    exchange_done(&stage, &refused);
    check_call(&stage, "1000 pixels", 200, "wafers"); /* on the thread that read it */
    atomic_store(&fake_client_gone, true);
    fake_await_resumed(&held);
    atomic_store(&fake_client_gone, false);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    while (prepare_retry_after_s(stage.service.prepare) > LIMIT_RETRY_AFTER_S)
        sched_yield(); /* the thread counts what it did a moment after the request was resumed */
    check_call(&stage, "9000000 pixels", 200, "wafers");
    stage_close(&stage);
}
END_TEST

/* "600000000 pixels" and "2000000000 pixels" in base64, where 2^30 are allowed. */
#define IMAGE_600M "{\"image\": \"NjAwMDAwMDAwIHBpeGVscw==\"}"
#define IMAGE_2000M "{\"image\": \"MjAwMDAwMDAwMCBwaXhlbHM=\"}"

START_TEST(the_pixels_of_a_request_are_bounded)
{
    struct stage stage;
    stage_open(&stage, 1);
    fake_prepared_by = pthread_self();
    check_call(&stage, "{\"inputs\": [" IMAGE_600M ", {\"text\": \"a\"}, " IMAGE_600M "]}", 413,
               "the images up to $.inputs[2] have 1200000000 pixels, the limit for one request "
               "(request_pixels_max) is 1073741824");
    ck_assert(pthread_equal(fake_prepared_by, pthread_self())); /* nothing was prepared */
    stage.snapshot->config.request_pixels_max = 1200000000;
    check_call(&stage, "{\"inputs\": [" IMAGE_600M ", {\"text\": \"a\"}, " IMAGE_600M "]}", 200,
               "wafers");
    check_call(&stage, "{\"inputs\": [" IMAGE_600M ", " IMAGE_2000M ", " IMAGE_600M "]}", 200,
               "wafers"); /* the one in the middle is refused by itself */
    stage_close(&stage);
}
END_TEST

SUITE("watch", preparing_ends_at_the_deadline, preparing_ends_when_the_client_goes,
      preparing_ends_when_the_time_to_stop_is_up, explaining_ends_at_the_deadline,
      watch_counts_inputs_that_wait_for_preparation, the_pixels_of_a_request_are_bounded)
