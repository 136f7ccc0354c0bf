/* Wilson's interval against what others published, and computed by hand. */
#include "engine/statistics/statistics.h"
#include "tests/support/suite.h"

#include <math.h>

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-12, "%.15g instead of %.15g", found, expected);
}

/* 5 of 10: the interval is (0.2366, 0.7634); none of 10: (0, z^2 / (10 + z^2)). Brown, Cai,
 * DasGupta 2001 discuss both. */
START_TEST(wilson_matches_known_intervals)
{
    const double z2 = 1.959963984540054 * 1.959963984540054;
    struct interval half = wilson_interval(5, 10), none = wilson_interval(0, 10);
    ck_assert(fabs(half.low - 0.236593) < 1e-6 && fabs(half.high - 0.763407) < 1e-6);
    expect(none.low, 0.0);
    expect(none.high, z2 / (10 + z2));
    expect(wilson_interval(10, 10).low, 10 / (10 + z2));
    expect(wilson_interval(10, 10).high, 1.0);
}
END_TEST

START_TEST(wilson_of_nothing_is_everything)
{
    expect(wilson_interval(0, 0).low, 0.0);
    expect(wilson_interval(0, 0).high, 1.0);
    expect(wilson_interval_at(0, 0, 1.28).low, 0.0);
}
END_TEST

START_TEST(wilson_low_is_the_share_when_nothing_need_be_sure)
{
    expect(wilson_interval_at(19, 20, 0).low, 0.95);
    ck_assert(wilson_interval_at(19, 20, 1.28).low < 0.95);
    expect(wilson_interval_at(10, 10, 1.5).low, 10 / (10 + 1.5 * 1.5));
}
END_TEST

START_TEST(wilson_of_three_in_four_is_what_was_computed_by_hand)
{
    const double z = 1.5, z2 = z * z, n = 20, p = 0.75;
    double spread = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    expect(wilson_interval_at(15, 20, z).low, (p + z2 / (2 * n) - spread) / (1 + z2 / n));
    expect(wilson_interval(15, 20).low, 0.531299122381256);
    expect(wilson_interval(15, 20).high, 0.888138298592334);
}
END_TEST

SUITE("wilson", wilson_matches_known_intervals, wilson_of_nothing_is_everything,
      wilson_low_is_the_share_when_nothing_need_be_sure,
      wilson_of_three_in_four_is_what_was_computed_by_hand)
