#include "server/placement/plan.h"
#include "tests/support/suite.h"

static struct plan plan(unsigned quota, unsigned workers, unsigned threads)
{
    struct config config = {.workers = workers, .threads_per_worker = threads};
    return plan_choose(quota, &config);
}

static void expect(struct plan plan, unsigned workers, unsigned threads)
{
    ck_assert_uint_eq(plan.workers, workers);
    ck_assert_uint_eq(plan.threads_per_worker, threads);
}

START_TEST(a_small_host_has_one_worker_with_all_threads)
{
    for (unsigned quota = 1; quota <= PLAN_POOL_MAX; quota++)
        expect(plan(quota, 0, 0), 1, quota);
}
END_TEST

START_TEST(a_larger_host_has_pools_of_equal_size)
{
    expect(plan(9, 0, 0), 2, 4);
    expect(plan(12, 0, 0), 2, 6);
    expect(plan(16, 0, 0), 2, 8);
    expect(plan(17, 0, 0), 3, 5);
    expect(plan(64, 0, 0), 8, 8);
    expect(plan(192, 0, 0), 24, 8);
}
END_TEST

START_TEST(plan_stays_within_the_quota_and_wastes_little_of_it)
{
    for (unsigned quota = 1; quota <= 1024; quota++) {
        struct plan chosen = plan(quota, 0, 0);
        unsigned used = chosen.workers * chosen.threads_per_worker;
        ck_assert_uint_le(used, quota);
        ck_assert_uint_lt(quota - used, chosen.workers);
        ck_assert_uint_le(chosen.threads_per_worker, PLAN_POOL_MAX);
    }
}
END_TEST

START_TEST(the_count_that_is_not_named_follows_the_one_that_is)
{
    expect(plan(8, 2, 0), 2, 4);
    expect(plan(8, 0, 2), 4, 2);
    expect(plan(8, 3, 0), 3, 2);
    expect(plan(8, 0, 3), 2, 3);
    expect(plan(2, 16, 0), 16, 1);
    expect(plan(2, 0, 16), 1, 16);
    expect(plan(2, 3, 5), 3, 5);
}
END_TEST

START_TEST(a_batch_has_the_tokens_that_are_named)
{
    ck_assert_uint_eq(plan_choose(1, &(struct config){0}).batch_tokens, PLAN_BATCH_TOKENS);
    ck_assert_uint_eq(plan_choose(1, &(struct config){.batch_tokens_max = 7}).batch_tokens, 7);
}
END_TEST

START_TEST(threads_beside_batches_follow_the_processors)
{
    static const struct {
        unsigned quota, io, prepare;
    } cases[] = {{1, 2, 1},  {2, 2, 2},  {4, 2, 4},    {32, 2, 4},
                 {48, 3, 6}, {64, 4, 8}, {192, 12, 24}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_uint_eq(plan(cases[i].quota, 0, 0).io_threads, cases[i].io);
        ck_assert_uint_eq(plan(cases[i].quota, 0, 0).prepare_threads, cases[i].prepare);
    }
}
END_TEST

SUITE("plan", threads_beside_batches_follow_the_processors,
      a_small_host_has_one_worker_with_all_threads, a_larger_host_has_pools_of_equal_size,
      plan_stays_within_the_quota_and_wastes_little_of_it,
      the_count_that_is_not_named_follows_the_one_that_is, a_batch_has_the_tokens_that_are_named)
