#include "tests/bench/stopwatch.h"
#include "tests/support/suite.h"

static void count(void *context)
{
    ++*(unsigned *)context;
}

START_TEST(stopwatch_summary_is_the_median_and_the_minimum)
{
    double odd[] = {5, 1, 9}, even[] = {4, 8, 1, 2};
    ck_assert_double_eq(stopwatch_summary(odd, 3).median_ms, 5);
    ck_assert_double_eq(stopwatch_summary(odd, 3).minimum_ms, 1);
    ck_assert_double_eq(stopwatch_summary(even, 4).median_ms, 3);
}
END_TEST

START_TEST(stopwatch_runs_untimed_first_and_no_fewer_than_asked)
{
    unsigned runs = 0;
    struct stopwatch_plan plan = {.budget_ms = 0, .timings_min = 5, .untimed = 3};
    struct stopwatch time = stopwatch_take(count, &runs, plan);
    ck_assert_uint_eq(time.timings, 5);
    ck_assert_uint_eq(runs, 8);
}
END_TEST

SUITE("stopwatch", stopwatch_summary_is_the_median_and_the_minimum,
      stopwatch_runs_untimed_first_and_no_fewer_than_asked)
