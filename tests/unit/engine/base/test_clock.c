#include "engine/base/clock.h"
#include "tests/support/suite.h"

static uint64_t machine_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The machine of a test may have been started a second ago: an age of hours is a moment all the
 * same, and no interval is waited for that began at 0. */
START_TEST(clock_is_a_day_ahead_of_the_machine_s)
{
    const uint64_t day_ns = (uint64_t)24 * 3600 * CLOCK_NS_PER_S;
    uint64_t before = machine_ns(), now = clock_now_ns(), after = machine_ns();
    ck_assert_uint_ge(now, before + day_ns);
    ck_assert_uint_le(now, after + day_ns);
}
END_TEST

START_TEST(clock_between_moments_out_of_order_is_nothing)
{
    ck_assert_double_eq(clock_ms_between(5000000, 8000000), 3);
    ck_assert_double_eq(clock_ms_between(8000000, 5000000), 0);
}
END_TEST

SUITE("clock", clock_is_a_day_ahead_of_the_machine_s,
      clock_between_moments_out_of_order_is_nothing)
