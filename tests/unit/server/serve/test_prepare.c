/* The pool alone: requests are empty, and what is worked on them is written down. */
#include "engine/base/clock.h"
#include "server/serve/prepare.h"
#include "tests/support/suite.h"
#include "wire/limits.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { REQUESTS = 24, PAUSE_MS = 50 };

/* 40 million units of inputs take two seconds by the pool's first guess. */
enum { TWO_SECONDS = 40 * 1000 * 1000 };

struct bench {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;    /* work waits */
    bool pausing; /* work takes PAUSE_MS */
    bool finished;
    unsigned inside, done;
    const struct request *order[REQUESTS];
    struct prepare *prepare;
    struct request requests[REQUESTS];
};

static bool work(void *context, struct request *request)
{
    struct bench *bench = context;
    static const struct timespec pause = {.tv_nsec = PAUSE_MS * CLOCK_NS_PER_MS};
    if (bench->pausing)
        nanosleep(&pause, NULL);
    pthread_mutex_lock(&bench->lock);
    bench->inside++;
    pthread_cond_broadcast(&bench->changed);
    while (bench->shut)
        pthread_cond_wait(&bench->changed, &bench->lock);
    bench->order[bench->done++] = request;
    pthread_cond_broadcast(&bench->changed);
    bool finished = bench->finished;
    pthread_mutex_unlock(&bench->lock);
    return finished;
}

static void bench_open(struct bench *bench, unsigned threads, unsigned wait_ms_max)
{
    struct err err = {0};
    *bench = (struct bench){.finished = true};
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    ck_assert_int_eq(prepare_start(&bench->prepare, threads, work, bench, &err), ERR_OK);
    prepare_limit_wait(bench->prepare, wait_ms_max);
}

static void gate(struct bench *bench, bool shut)
{
    pthread_mutex_lock(&bench->lock);
    bench->shut = shut;
    pthread_cond_broadcast(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
}

static void await_inside(struct bench *bench, unsigned inside)
{
    pthread_mutex_lock(&bench->lock);
    while (bench->inside < inside)
        pthread_cond_wait(&bench->changed, &bench->lock);
    pthread_mutex_unlock(&bench->lock);
}

static void submit(struct bench *bench, unsigned index, enum prepare_kind kind, uint64_t units)
{
    struct err err = {0};
    ck_assert_msg(!prepare_submit(bench->prepare, &bench->requests[index], kind, units, &err), "%s",
                  err.text);
}

static void expect_refused(struct bench *bench, enum prepare_kind kind, const char *text)
{
    struct err err = {0};
    struct request request = {0};
    ck_assert_int_eq(prepare_submit(bench->prepare, &request, kind, 1, &err), ERR_QUEUE_FULL);
    ck_assert_str_eq(err.text, text);
}

static void bench_close(struct bench *bench)
{
    gate(bench, false);
    prepare_stop(bench->prepare);
    prepare_free(bench->prepare);
    pthread_cond_destroy(&bench->changed);
    pthread_mutex_destroy(&bench->lock);
}

START_TEST(a_kind_of_work_is_done_in_order_of_arrival)
{
    struct bench bench;
    bench_open(&bench, 1, 0);
    for (unsigned i = 0; i < REQUESTS; i++)
        submit(&bench, i, i % 2 == 0 ? PREPARE_INPUTS : PREPARE_EXPLAIN, 1);
    prepare_stop(bench.prepare);
    ck_assert_uint_eq(bench.done, REQUESTS);
    for (unsigned i = 0; i < REQUESTS; i++)
        ck_assert_ptr_eq(bench.order[i], &bench.requests[i]);
    bench_close(&bench);
}
END_TEST

/* One thread is held by what it prepares, and that alone keeps nothing from being read. */
START_TEST(prepare_reads_bodies_while_an_input_is_prepared)
{
    struct bench bench;
    bench_open(&bench, 1, 0);
    gate(&bench, true);
    submit(&bench, 0, PREPARE_INPUTS, 1);
    await_inside(&bench, 1);
    submit(&bench, 1, PREPARE_INPUTS, 1);
    submit(&bench, 2, PREPARE_READ, 1);
    await_inside(&bench, 2);
    ck_assert_uint_eq(bench.inside, 2);
    submit(&bench, 3, PREPARE_READ, 1);
    gate(&bench, false);
    await_inside(&bench, 4);
    bench_close(&bench);
}
END_TEST

/* The reader is held; whoever has nothing to prepare reads as well. */
START_TEST(idle_threads_help_to_read)
{
    struct bench bench;
    bench_open(&bench, 2, 0);
    gate(&bench, true);
    for (unsigned i = 0; i < 3; i++)
        submit(&bench, i, PREPARE_READ, 1);
    await_inside(&bench, 3);
    bench_close(&bench);
}
END_TEST

START_TEST(prepare_refuses_work_beyond_its_time_until_work_ends)
{
    struct bench bench;
    bench_open(&bench, 1, 1000);
    gate(&bench, true);
    ck_assert_uint_eq(prepare_retry_after_s(bench.prepare), LIMIT_RETRY_AFTER_S);
    submit(&bench, 0, PREPARE_INPUTS, TWO_SECONDS / 2);
    submit(&bench, 1, PREPARE_INPUTS, 3 * TWO_SECONDS);
    static const char text[] =
        "the inputs that wait to be prepared are about 7.0 s of work, more than the queue's 1.0 s";
    expect_refused(&bench, PREPARE_INPUTS, text);
    expect_refused(&bench, PREPARE_READ, text);
    ck_assert_uint_eq(prepare_retry_after_s(bench.prepare), 6);
    submit(&bench, 2, PREPARE_EXPLAIN, TWO_SECONDS); /* of a request that was admitted before */
    await_inside(&bench, 1);
    gate(&bench, false);
    await_inside(&bench, 3);
    prepare_stop(bench.prepare);
    ck_assert_uint_eq(prepare_retry_after_s(bench.prepare), LIMIT_RETRY_AFTER_S);
    bench_close(&bench);
}
END_TEST

START_TEST(prepare_halves_the_wait_with_two_threads)
{
    struct bench bench;
    bench_open(&bench, 2, 1000);
    gate(&bench, true);
    submit(&bench, 0, PREPARE_INPUTS, TWO_SECONDS);
    submit(&bench, 1, PREPARE_INPUTS, 2 * TWO_SECONDS);
    expect_refused(&bench, PREPARE_READ,
                   "the inputs that wait to be prepared are about 3.0 s of work, more than the "
                   "queue's 1.0 s");
    bench_close(&bench);
}
END_TEST

START_TEST(prepare_without_a_bound_refuses_nothing)
{
    struct bench bench;
    bench_open(&bench, 1, 0);
    gate(&bench, true);
    for (unsigned i = 0; i < REQUESTS; i++)
        submit(&bench, i, PREPARE_INPUTS, UINT64_C(1) << 50);
    ck_assert_uint_eq(prepare_retry_after_s(bench.prepare), LIMIT_RETRY_AFTER_S);
    bench_close(&bench);
}
END_TEST

START_TEST(a_stopped_pool_refuses)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, 1, 1000);
    prepare_stop(bench.prepare);
    ck_assert_int_eq(prepare_submit(bench.prepare, &bench.requests[0], PREPARE_EXPLAIN, 1, &err),
                     ERR_NOT_READY);
    bench_close(&bench);
}
END_TEST

/* 400 labels at the pool's guess of 5 ms: two seconds, of which no other work hears. */
START_TEST(labels_wait_for_labels_alone)
{
    static const char text[] = "the labels that wait to be encoded are about 4.0 s of work, more "
                               "than the queue's 3.0 s";
    struct err err = {0};
    struct bench bench;
    bench_open(&bench, 1, 3000);
    gate(&bench, true);
    submit(&bench, 0, PREPARE_LABELS, 400);
    submit(&bench, 1, PREPARE_LABELS, 400);
    await_inside(&bench, 1); /* that thread takes nothing else meanwhile */
    expect_refused(&bench, PREPARE_LABELS, text);
    ck_assert(!prepare_continue(bench.prepare, &bench.requests[2], PREPARE_LABELS, 1, &err));
    submit(&bench, 3, PREPARE_INPUTS, 1);
    submit(&bench, 4, PREPARE_READ, 1);
    await_inside(&bench, 3);
    bench_close(&bench);
}
END_TEST

/* Groups are found by the thread that encodes labels, one after the other. */
START_TEST(groups_wait_for_groups_and_labels_alone)
{
    static const char text[] = "the inputs that wait to be grouped are about 3.1 s of work, more "
                               "than the queue's 3.0 s";
    struct bench bench;
    bench_open(&bench, 1, 3000);
    gate(&bench, true);
    submit(&bench, 0, PREPARE_GROUPS, 21000);
    submit(&bench, 1, PREPARE_LABELS, 200);
    await_inside(&bench, 1);
    expect_refused(&bench, PREPARE_GROUPS, text);
    submit(&bench, 3, PREPARE_INPUTS, 1);
    submit(&bench, 4, PREPARE_READ, 1);
    await_inside(&bench, 3);
    bench_close(&bench);
}
END_TEST

SUITE("prepare", groups_wait_for_groups_and_labels_alone, labels_wait_for_labels_alone,
      a_kind_of_work_is_done_in_order_of_arrival, prepare_reads_bodies_while_an_input_is_prepared,
      idle_threads_help_to_read, prepare_refuses_work_beyond_its_time_until_work_ends,
      prepare_halves_the_wait_with_two_threads, prepare_without_a_bound_refuses_nothing,
      a_stopped_pool_refuses)
