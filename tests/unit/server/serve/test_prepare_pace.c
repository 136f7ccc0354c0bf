/* The cost of work as the pool estimates it, to the nanosecond: the clock moves only while the
 * test's work is done, and a refusal tells how long so many units would take. */
#include "engine/base/clock.h"
#include "server/serve/prepare.h"
#include "tests/support/suite.h"
#include "tests/unit/server/lock_counter.h"
#include "wire/limits.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint_fast64_t now_ns = 5 * (uint64_t)CLOCK_NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    uint64_t now = atomic_load(&now_ns);
    *time = (struct timespec){.tv_sec = (time_t)(now / CLOCK_NS_PER_S),
                              .tv_nsec = (long)(now % CLOCK_NS_PER_S)};
    return 0;
}

/* A probe of so many units takes as many thousand seconds as one unit takes nanoseconds. */
static const uint64_t probe_units = UINT64_C(1000) * 1000 * 1000 * 1000;

enum { PIECES = 2 };

struct piece {
    uint64_t units, ns;
    bool finished;
};

struct bench {
    struct prepare *prepare;
    const struct piece *pieces; /* [PIECES], of the first requests */
    struct request requests[PIECES], probe;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool inside, open; /* under lock: the probe is in work; it may leave */
    atomic_bool holds; /* a thread of the pool came with a lock, or without one that it released */
};

/* The probe waits until the test has asked what it is believed to cost. */
static bool work(void *context, struct request *request)
{
    struct bench *bench = context;
    if (lock_counter.locked != lock_counter.unlocked)
        atomic_store(&bench->holds, true);
    if (request != &bench->probe) {
        const struct piece *piece = &bench->pieces[request - bench->requests];
        atomic_fetch_add(&now_ns, piece->ns);
        return piece->finished;
    }
    pthread_mutex_lock(&bench->lock);
    bench->inside = true;
    pthread_cond_broadcast(&bench->changed);
    while (!bench->open)
        pthread_cond_wait(&bench->changed, &bench->lock);
    pthread_mutex_unlock(&bench->lock);
    return false;
}

static void bench_open(struct bench *bench, unsigned threads)
{
    struct err err = {0};
    *bench = (struct bench){0};
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    ck_assert_int_eq(prepare_start(&bench->prepare, threads, work, bench, &err), ERR_OK);
    prepare_limit_wait(bench->prepare, 1000);
}

static void submit(struct bench *bench, struct request *request, enum prepare_kind kind,
                   uint64_t units)
{
    struct err err = {0};
    ck_assert_msg(!prepare_submit(bench->prepare, request, kind, units, &err), "%s", err.text);
}

/* Expects the seconds that the pool tells for the probe, then closes the pool. */
static void expect_seconds(struct bench *bench, enum prepare_kind kind, const char *seconds)
{
    char text[256];
    struct err err = {0};
    struct request refused = {0};
    submit(bench, &bench->probe, kind, probe_units);
    pthread_mutex_lock(&bench->lock);
    while (!bench->inside)
        pthread_cond_wait(&bench->changed, &bench->lock);
    pthread_mutex_unlock(&bench->lock);
    snprintf(text, sizeof text,
             "the inputs that wait to be prepared are about %s s of work, more than the queue's "
             "1.0 s",
             seconds);
    ck_assert_int_eq(prepare_submit(bench->prepare, &refused, PREPARE_READ, 1, &err),
                     ERR_QUEUE_FULL);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(prepare_retry_after_s(bench->prepare), LIMIT_RETRY_AFTER_S_MAX);
    pthread_mutex_lock(&bench->lock);
    bench->open = true;
    pthread_cond_broadcast(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
    prepare_stop(bench->prepare);
    ck_assert(!atomic_load(&bench->holds));
    prepare_free(bench->prepare);
    pthread_cond_destroy(&bench->changed);
    pthread_mutex_destroy(&bench->lock);
}

START_TEST(each_kind_of_work_has_a_first_guess)
{
    static const struct {
        enum prepare_kind kind;
        unsigned threads;
        const char *seconds;
    } cases[] = {{PREPARE_READ, 1, "10000.0"},
                 {PREPARE_INPUTS, 1, "50000.0"},
                 {PREPARE_EXPLAIN, 1, "200000.0"},
                 {PREPARE_EXPLAIN, 4, "50000.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench, cases[i].threads);
        expect_seconds(&bench, cases[i].kind, cases[i].seconds);
    }
}
END_TEST

/* The first guess is 50 nanoseconds. Two pieces of work follow, one after the other. A slower piece
 * changes the estimate at once, but fourfold at most; a faster piece by an eighth. An unfinished
 * piece tells only that it takes at least so long. */
START_TEST(the_pace_rises_at_once_and_falls_slowly)
{
    static const struct {
        struct piece pieces[PIECES];
        const char *seconds;
    } cases[] = {
        {{{100, 100 * 60, true}, {100, 100 * 60, true}}, "60000.0"},
        {{{100, 100 * 60, false}, {0, 60, true}}, "60000.0"},
        {{{100, 100 * 200, true}, {1, 200, false}}, "200000.0"},
        {{{100, 100 * 201, true}, {1, 799, true}}, "799000.0"},
        {{{100, 100 * 201, true}, {1, 801, true}}, "800000.0"},
        {{{100, 100 * 42, true}, {1, 49, true}}, "49000.0"},
        {{{100, 100 * 42, true}, {1, 41, true}}, "48000.0"},
        {{{100, 100 * 10, false}, {1, 1, false}}, "50000.0"},
        {{{2, 2 * 50, true}, {0, 0, true}}, "43750.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench, 1);
        bench.pieces = cases[i].pieces;
        for (int k = 0; k < PIECES;
             k++) /* the pool's one thread settles one, then takes the next */
            submit(&bench, &bench.requests[k], PREPARE_INPUTS, bench.pieces[k].units);
        expect_seconds(&bench, PREPARE_INPUTS, cases[i].seconds);
    }
}
END_TEST

START_TEST(the_pool_is_looked_at_and_changed_under_its_lock)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, 1);
    prepare_limit_wait(bench.prepare, 0);
    bench.open = true;
    LOCK_COUNTER_EXPECT_ONE(prepare_retry_after_s(bench.prepare), 0);
    LOCK_COUNTER_EXPECT_ONE(prepare_submit(bench.prepare, &bench.probe, PREPARE_READ, 1, &err), 1);
    ck_assert_int_eq(err.code, ERR_OK);
    LOCK_COUNTER_EXPECT_ONE(prepare_stop(bench.prepare), 1);
    prepare_stop(bench.prepare); /* again: nobody is joined twice */
    ck_assert_int_eq(prepare_submit(bench.prepare, &bench.probe, PREPARE_READ, 1, &err),
                     ERR_NOT_READY);
    ck_assert_str_eq(err.text, "the server is stopping");
    prepare_free(bench.prepare);
    prepare_stop(NULL);
    prepare_free(NULL);
}
END_TEST

/* The pool takes exactly as much as may wait, and not a unit more. */
START_TEST(the_pool_takes_what_its_time_allows)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, 1);
    prepare_limit_wait(bench.prepare, 1000);
    submit(&bench, &bench.probe, PREPARE_INPUTS, 1000 * 1000 * 1000 / 50);
    bench.pieces = (const struct piece[PIECES]){{1, 0, false}, {1, 0, false}};
    pthread_mutex_lock(&bench.lock);
    while (!bench.inside)
        pthread_cond_wait(&bench.changed, &bench.lock);
    pthread_mutex_unlock(&bench.lock);
    ck_assert_int_eq(prepare_submit(bench.prepare, &bench.requests[0], PREPARE_INPUTS, 1, &err),
                     ERR_OK);
    ck_assert_int_eq(prepare_submit(bench.prepare, &bench.requests[1], PREPARE_READ, 1, &err),
                     ERR_QUEUE_FULL);
    ck_assert_uint_eq(prepare_retry_after_s(bench.prepare), 1);
    pthread_mutex_lock(&bench.lock);
    bench.open = true;
    pthread_cond_broadcast(&bench.changed);
    pthread_mutex_unlock(&bench.lock);
    prepare_stop(bench.prepare);
    prepare_free(bench.prepare);
}
END_TEST

SUITE("prepare_pace", each_kind_of_work_has_a_first_guess, the_pace_rises_at_once_and_falls_slowly,
      the_pool_is_looked_at_and_changed_under_its_lock, the_pool_takes_what_its_time_allows)
