/* Requests for a reload and their times: before the start and after the stop, while another runs,
 * by a signal, and from the reply to the one before. */
#include "server/rollout/rollout.h"
#include "tests/unit/server/serve/reloader_bench.h"

#include <pthread.h>

START_TEST(a_reload_is_heard_between_start_and_stop)
{
    struct bench bench;
    struct err err = {0};
    bench_prepare(&bench, "logs=text", "");
    ck_assert_int_eq(submit(&bench), ERR_NOT_READY);
    ck_assert_int_eq(reloader_start(bench.reloader, &err), ERR_OK);
    ck_assert_int_eq(reload(&bench), ERR_OK);
    reloader_stop(bench.reloader);
    ck_assert_int_eq(submit(&bench), ERR_NOT_READY);
    reloader_signal(bench.reloader); /* nobody hears it */
    ck_assert_uint_eq(now(&bench)->generation, 2);
    expect_reloads(&bench, 1, 0);
    reloader_stop(NULL);
    reloader_free(NULL);
    bench_close(&bench);
}
END_TEST

/* The model that the first reload opens is held at the gate while it is warmed. */
static void hold_a_reload(struct bench *bench)
{
    fake_gate(true);
    write_dir(bench, "text", "held at the gate");
    ck_assert_int_eq(submit(bench), ERR_OK);
    fake_await_inside(1);
}

START_TEST(reloader_does_not_reload_while_it_is_held)
{
    struct bench bench;
    struct err err = {0};
    bench_prepare(&bench, "logs=text", "");
    ck_assert(!reloader_hold(bench.reloader)); /* not started */
    ck_assert_int_eq(reloader_start(bench.reloader, &err), ERR_OK);
    hold_a_reload(&bench);
    ck_assert(!reloader_hold(bench.reloader)); /* one runs */
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    ck_assert(reloader_hold(bench.reloader));
    ck_assert(!reloader_hold(bench.reloader)); /* somebody else holds it */
    ck_assert_int_eq(submit(&bench), ERR_OK);  /* waits */
    ck_assert_uint_eq(now(&bench)->generation, 2);
    reloader_release(bench.reloader);
    fake_await_resumed(&bench.exchange);
    ck_assert_uint_eq(now(&bench)->generation, 3);
    bench_close(&bench);
}
END_TEST

START_TEST(one_reload_at_a_time_is_taken)
{
    struct bench bench;
    struct http_exchange other = {0};
    struct request request = {.exchange = &other};
    struct reloader_order second = {.request = &request};
    struct err err = {0};
    bench_open(&bench, "logs=text", "");
    hold_a_reload(&bench);
    ck_assert_int_eq(reloader_submit(bench.reloader, &second, &err), ERR_CONFLICT);
    ck_assert(!other.reply.close); /* the caller still has it */
    ck_assert_uint_eq(now(&bench)->generation, 1);
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    expect_changed(&bench, "models.logs");
    ck_assert_uint_eq(now(&bench)->generation, 2);
    bench_close(&bench);
}
END_TEST

/* The configuration changes after the first has read it. */
START_TEST(a_signal_while_a_reload_runs_brings_another)
{
    struct bench bench;
    struct http_exchange other = {0};
    struct request request = {.exchange = &other};
    struct reloader_order second = {.request = &request};
    struct err err = {0};
    bench_open(&bench, "logs=text", ", \"inputs_max\": 5");
    hold_a_reload(&bench);
    configure(&bench, "logs=text", ", \"inputs_max\": 6");
    for (int i = 0; i < 3; i++) /* one more reload suffices for all of them */
        reloader_signal(bench.reloader);
    ck_assert_int_eq(reloader_submit(bench.reloader, &second, &err), ERR_CONFLICT);
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    expect_changed(&bench, "models.logs");
    expect_reloads(&bench, 2, 0);
    ck_assert_uint_eq(now(&bench)->config.inputs_max, 6);
    ck_assert_uint_eq(now(&bench)->generation, 3);
    bench_close(&bench);
}
END_TEST

static struct {
    struct reloader *reloader;
    struct request request;
    struct reloader_order order;
    enum err_code code;
    unsigned calls;
} again;

/* Runs on the thread that gives the first reply. */
static void ask_again(struct http_exchange *exchange)
{
    (void)exchange;
    fake_resume_deed = NULL;
    again.calls++;
    again.code = reloader_submit(again.reloader, &again.order, &(struct err){0});
}

START_TEST(reloader_takes_another_reload_from_the_reply_of_the_first)
{
    struct bench bench;
    struct http_exchange other = {0};
    bench_open(&bench, "logs=text", "");
    arena_init(&other.arena);
    again.reloader = bench.reloader;
    again.request.exchange = &other;
    again.order.request = &again.request;
    fake_resume_deed = ask_again;
    ck_assert_int_eq(reload(&bench), ERR_OK);
    ck_assert_uint_eq(again.calls, 1);
    ck_assert_int_eq(again.code, ERR_OK);
    fake_await_resumed(&other);
    ck_assert_uint_eq(now(&bench)->generation, 3);
    arena_deinit(&other.arena);
    bench_close(&bench);
}
END_TEST

static void *stop_main(void *context)
{
    reloader_stop(context);
    return NULL;
}

START_TEST(reloader_resumes_waiting_requests_before_a_stop_returns)
{
    struct bench bench;
    pthread_t stopper;
    bench_open(&bench, "logs=text", "");
    hold_a_reload(&bench);
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_main, bench.reloader), 0);
    struct http_exchange other = {0};
    struct request request = {.exchange = &other};
    struct reloader_order second = {.request = &request};
    while (reloader_submit(bench.reloader, &second, &(struct err){0}) != ERR_NOT_READY)
        sched_yield();
    reloader_signal(bench.reloader); /* none begins after it */
    ck_assert(!bench.exchange.reply.close);
    fake_gate(false);
    pthread_join(stopper, NULL);
    ck_assert(bench.exchange.reply.close);
    expect_changed(&bench, "models.logs");
    expect_reloads(&bench, 1, 0);
    bench_close(&bench);
}
END_TEST

/* ---- a change by a thread that waits ---- */

static enum err_code change_by(struct reloader *reloader, const char *name)
{
    const struct rollout_change change = {.action = ROLLOUT_UNLOAD, .name = name, .version = "9"};
    struct reload_result result = {0};
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    const struct reloader_call call = {
        .change = &change, .key = "anna", .arena = &arena, .result = &result, .err = &err};
    ck_assert_int_eq(reloader_change(reloader, &call), err.code);
    arena_deinit(&arena);
    return err.code;
}

START_TEST(a_change_by_a_thread_is_heard_between_start_and_stop)
{
    struct bench bench;
    struct err err = {0};
    bench_prepare(&bench, "logs=text", "");
    ck_assert_int_eq(change_by(bench.reloader, "logs"), ERR_NOT_READY);
    ck_assert_int_eq(reloader_start(bench.reloader, &err), ERR_OK);
    ck_assert_int_eq(change_by(bench.reloader, "logs"), ERR_NOT_FOUND); /* no such version */
    reloader_stop(bench.reloader);
    ck_assert_int_eq(change_by(bench.reloader, "logs"), ERR_NOT_READY);
    bench_close(&bench);
}
END_TEST

static void *change_main(void *context)
{
    struct bench *bench = context;
    ck_assert_int_eq(change_by(bench->reloader, "logs"), ERR_NOT_FOUND);
    return NULL;
}

START_TEST(a_change_by_a_thread_waits_for_the_reload_that_runs)
{
    struct bench bench;
    pthread_t thread;
    bench_open(&bench, "logs=text", "");
    hold_a_reload(&bench);
    ck_assert_int_eq(pthread_create(&thread, NULL, change_main, &bench), 0);
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    pthread_join(thread, NULL);
    expect_changed(&bench, "models.logs");
    ck_assert_uint_eq(now(&bench)->generation, 2);
    bench_close(&bench);
}
END_TEST

SUITE("reloader_asked", a_reload_is_heard_between_start_and_stop,
      reloader_does_not_reload_while_it_is_held, one_reload_at_a_time_is_taken,
      reloader_takes_another_reload_from_the_reply_of_the_first,
      a_signal_while_a_reload_runs_brings_another,
      reloader_resumes_waiting_requests_before_a_stop_returns,
      a_change_by_a_thread_is_heard_between_start_and_stop,
      a_change_by_a_thread_waits_for_the_reload_that_runs)
