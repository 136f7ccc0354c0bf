#include "server/serve/throughput.h"
#include "tests/support/suite.h"

static void settle(struct throughput *throughput, unsigned batches, unsigned tokens,
                   uint64_t ns_per_token)
{
    for (unsigned i = 0; i < batches; i++)
        throughput_add(throughput, tokens, tokens * ns_per_token);
}

START_TEST(throughput_is_nothing_before_the_first_batch)
{
    ck_assert_double_eq(throughput_ns(&(struct throughput){0}, 1000000), 0);
}
END_TEST

START_TEST(throughput_counts_the_fastest_of_the_first_batches)
{
    struct throughput throughput = {0};
    throughput_add(&throughput, 100, 900000);
    ck_assert_double_eq(throughput_ns(&throughput, 10), 90000);
    throughput_add(&throughput, 100, 100000);
    throughput_add(&throughput, 100, 500000);
    ck_assert_double_eq(throughput_ns(&throughput, 10), 10000);
}
END_TEST

START_TEST(throughput_takes_small_batches_for_what_the_weights_cost)
{
    struct throughput throughput = {0};
    throughput_add(&throughput, 3, 640000);
    ck_assert_double_eq(throughput_ns(&throughput, 1), 10000);
}
END_TEST

START_TEST(throughput_follows_a_lasting_change_both_ways)
{
    struct throughput throughput = {0};
    settle(&throughput, 20, 200, 1000);
    settle(&throughput, 100, 200, 5000);
    ck_assert_double_eq_tol(throughput_ns(&throughput, 1), 5000, 50);
    settle(&throughput, 100, 200, 500);
    ck_assert_double_eq_tol(throughput_ns(&throughput, 1), 500, 5);
}
END_TEST

START_TEST(throughput_is_hardly_moved_by_one_stall)
{
    struct throughput throughput = {0};
    settle(&throughput, 20, 200, 1000);
    settle(&throughput, 1, 200, 1000000);
    ck_assert_double_le(throughput_ns(&throughput, 1), 1150);
}
END_TEST

/* Full batches of 1 us a token, and small ones of 3. */
START_TEST(throughput_is_the_time_over_the_tokens_not_the_mean_of_quotients)
{
    struct throughput throughput = {0};
    for (unsigned i = 0; i < 100; i++) {
        throughput_add(&throughput, 256, 256000);
        throughput_add(&throughput, 64, 192000);
    }
    ck_assert_double_eq_tol(throughput_ns(&throughput, 1), 448000.0 / 320,
                            100); /* the mean would be 2000 */
}
END_TEST

/* Time in whole seconds, rounded up, within the limits of what is advised. */
START_TEST(throughput_advises_to_come_when_the_excess_is_worked_off)
{
    static const struct {
        double over_ms;
        unsigned seconds;
    } cases[] = {{-5000, 1},      {0, 1},          {1, 1},          {1000, 1},
                 {1000.5, 2},     {2000, 2},       {2001, 3},       {3598001, 3599},
                 {3599000, 3599}, {3600000, 3600}, {3600001, 3600}, {1e12, 3600}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(throughput_retry_after_s(cases[i].over_ms), cases[i].seconds);
}
END_TEST

/* A clock that did not move says a nanosecond, not nothing. */
START_TEST(throughput_of_a_batch_that_took_no_time_is_above_nothing)
{
    struct throughput throughput = {0};
    throughput_add(&throughput, 256, 0);
    ck_assert_double_eq_tol(throughput_ns(&throughput, 256), 1, 1e-9);
}
END_TEST

SUITE("pace", throughput_advises_to_come_when_the_excess_is_worked_off,
      throughput_of_a_batch_that_took_no_time_is_above_nothing,
      throughput_is_nothing_before_the_first_batch,
      throughput_counts_the_fastest_of_the_first_batches,
      throughput_takes_small_batches_for_what_the_weights_cost,
      throughput_follows_a_lasting_change_both_ways, throughput_is_hardly_moved_by_one_stall,
      throughput_is_the_time_over_the_tokens_not_the_mean_of_quotients)
