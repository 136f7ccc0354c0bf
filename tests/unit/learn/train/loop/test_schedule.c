/* schedule.h: the rate of each step, by hand. */
#include "learn/train/loop/schedule.h"
#include "tests/support/suite.h"

#include <math.h>

START_TEST(rate_rises_then_falls_along_a_cosine)
{
    const struct schedule schedule = {.peak = 2, .floor = 0.5f, .warmup = 4, .end = 12};
    const float expected[] = {0.5f, 1, 1.5f, 2, 2};
    for (uint64_t step = 0; step < 5; step++)
        ck_assert_float_eq_tol(schedule_rate(&schedule, step), expected[step], 1e-6f);
    ck_assert_float_eq_tol(schedule_rate(&schedule, 8), 1.25f, 1e-6f);
    for (uint64_t step = 5; step < 12; step++)
        ck_assert(schedule_rate(&schedule, step) < schedule_rate(&schedule, step - 1));
    ck_assert_float_eq(schedule_rate(&schedule, 12), 0.5f);
}
END_TEST

/* Step k of n after the warm-up has the rate floor + (peak - floor) (1 + cos(pi k / n)) / 2. */
START_TEST(every_step_has_the_rate_of_the_formula)
{
    const struct schedule schedule = {.peak = 0.75f, .floor = 0.25f, .warmup = 2, .end = 7};
    for (uint64_t step = 2; step < 9; step++) {
        double half = step < 7 ? (1 + cos(acos(-1) * (double)(step - 2) / 5)) / 2 : 0;
        ck_assert_float_eq_tol(schedule_rate(&schedule, step), (float)(0.25 + 0.5 * half), 1e-7f);
    }
    const struct schedule cold = {.peak = 0.75f, .floor = 0.25f, .warmup = 0, .end = 4};
    ck_assert_float_eq(schedule_rate(&cold, 0), 0.75f);
    ck_assert_float_eq_tol(schedule_rate(&cold, 2), 0.5f, 1e-7f);
}
END_TEST

SUITE("schedule", rate_rises_then_falls_along_a_cosine, every_step_has_the_rate_of_the_formula)
