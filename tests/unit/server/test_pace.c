#include "server/pace.h"
#include "tests/support/suite.h"

static void settle(struct pace *pace, unsigned batches, unsigned tokens, uint64_t ns_per_token)
{
    for (unsigned i = 0; i < batches; i++)
        pace_add(pace, tokens, tokens * ns_per_token);
}

START_TEST(pace_is_nothing_before_the_first_batch)
{
    ck_assert_double_eq(pace_ns(&(struct pace){0}, 1000000), 0);
}
END_TEST

START_TEST(pace_counts_the_fastest_of_the_first_batches)
{
    struct pace pace = {0};
    pace_add(&pace, 100, 900000);
    ck_assert_double_eq(pace_ns(&pace, 10), 90000);
    pace_add(&pace, 100, 100000);
    pace_add(&pace, 100, 500000);
    ck_assert_double_eq(pace_ns(&pace, 10), 10000);
}
END_TEST

START_TEST(pace_takes_small_batches_for_what_the_weights_cost)
{
    struct pace pace = {0};
    pace_add(&pace, 3, 640000);
    ck_assert_double_eq(pace_ns(&pace, 1), 10000);
}
END_TEST

START_TEST(pace_follows_a_lasting_change_both_ways)
{
    struct pace pace = {0};
    settle(&pace, 20, 200, 1000);
    settle(&pace, 100, 200, 5000);
    ck_assert_double_eq_tol(pace_ns(&pace, 1), 5000, 50);
    settle(&pace, 100, 200, 500);
    ck_assert_double_eq_tol(pace_ns(&pace, 1), 500, 5);
}
END_TEST

START_TEST(pace_is_hardly_moved_by_one_stall)
{
    struct pace pace = {0};
    settle(&pace, 20, 200, 1000);
    settle(&pace, 1, 200, 1000000);
    ck_assert_double_le(pace_ns(&pace, 1), 1150);
}
END_TEST

/* Full batches of 1 us a token, and small ones of 3. */
START_TEST(pace_is_the_time_over_the_tokens_not_the_mean_of_quotients)
{
    struct pace pace = {0};
    for (unsigned i = 0; i < 100; i++) {
        pace_add(&pace, 256, 256000);
        pace_add(&pace, 64, 192000);
    }
    ck_assert_double_eq_tol(pace_ns(&pace, 1), 448000.0 / 320, 100); /* the mean would be 2000 */
}
END_TEST

/* Time in whole seconds, rounded up, within the limits of what is advised. */
START_TEST(pace_advises_to_come_when_the_excess_is_worked_off)
{
    static const struct {
        double over_ms;
        unsigned seconds;
    } cases[] = {{-5000, 1},      {0, 1},          {1, 1},          {1000, 1},
                 {1000.5, 2},     {2000, 2},       {2001, 3},       {3598001, 3599},
                 {3599000, 3599}, {3600000, 3600}, {3600001, 3600}, {1e12, 3600}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(pace_retry_after_s(cases[i].over_ms), cases[i].seconds);
}
END_TEST

/* A clock that did not move says a nanosecond, not nothing. */
START_TEST(pace_of_a_batch_that_took_no_time_is_above_nothing)
{
    struct pace pace = {0};
    pace_add(&pace, 256, 0);
    ck_assert_double_eq_tol(pace_ns(&pace, 256), 1, 1e-9);
}
END_TEST

SUITE("pace", pace_advises_to_come_when_the_excess_is_worked_off,
      pace_of_a_batch_that_took_no_time_is_above_nothing, pace_is_nothing_before_the_first_batch,
      pace_counts_the_fastest_of_the_first_batches,
      pace_takes_small_batches_for_what_the_weights_cost, pace_follows_a_lasting_change_both_ways,
      pace_is_hardly_moved_by_one_stall, pace_is_the_time_over_the_tokens_not_the_mean_of_quotients)
