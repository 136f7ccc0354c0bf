#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "tests/support/suite.h"

#include <stdatomic.h>
#include <unistd.h>

struct tally {
    atomic_uint calls;
    unsigned by_index[8];
    unsigned count;
};

static void count_call(void *context, unsigned index, unsigned count)
{
    struct tally *tally = context;
    atomic_fetch_add(&tally->calls, 1);
    tally->by_index[index]++;
    if (index == 0)
        tally->count = count;
}

START_TEST(pool_runs_every_member_once_for_each_task)
{
    for (unsigned threads = 1; threads <= 8; threads++) {
        struct thread_pool *pool;
        struct err err = {0};
        struct tally tally = {0};
        ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
        for (int i = 0; i < 500; i++)
            thread_pool_run(pool, count_call, &tally);
        ck_assert_uint_eq(tally.calls, 500 * threads);
        ck_assert_uint_eq(tally.count, threads);
        for (unsigned i = 0; i < threads; i++)
            ck_assert_uint_eq(tally.by_index[i], 500);
        thread_pool_close(pool);
    }
}
END_TEST

START_TEST(pool_wakes_after_its_members_went_to_sleep)
{
    struct thread_pool *pool;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(thread_pool_open(&pool, 3, &err), ERR_OK);
    for (int i = 0; i < 5; i++) {
        usleep(5000);
        thread_pool_run(pool, count_call, &tally);
    }
    ck_assert_uint_eq(tally.calls, 15);
    thread_pool_close(pool);
}
END_TEST

static void oversleep(void *context, unsigned index, unsigned count)
{
    if (index > 0)
        usleep(1000);
    count_call(context, index, count);
}

START_TEST(pool_waits_asleep_for_members_that_take_long)
{
    struct thread_pool *pool;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(thread_pool_open(&pool, 4, &err), ERR_OK);
    for (unsigned i = 1; i <= 50; i++) {
        thread_pool_run(pool, oversleep, &tally);
        ck_assert_uint_eq(tally.calls, 4 * i);
    }
    thread_pool_close(pool);
}
END_TEST

/* Pauses around the length of the spin: members are caught spinning, falling asleep and asleep. */
START_TEST(pool_loses_no_task_whenever_it_comes)
{
    struct thread_pool *pool;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(thread_pool_open(&pool, 2, &err), ERR_OK);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t end_ns = clock_now_ns() + 60000 + i * 60;
        while (clock_now_ns() < end_ns)
            continue;
        thread_pool_run(pool, count_call, &tally);
    }
    ck_assert_uint_eq(tally.calls, 2000);
    thread_pool_close(pool);
}
END_TEST

SUITE("pool", pool_runs_every_member_once_for_each_task, pool_wakes_after_its_members_went_to_sleep,
      pool_waits_asleep_for_members_that_take_long, pool_loses_no_task_whenever_it_comes)
