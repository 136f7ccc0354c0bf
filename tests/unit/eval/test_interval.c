#include "engine/eval/interval.h"
#include "tests/support/suite.h"

#include <math.h>

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-12, "%.15g instead of %.15g", found, expected);
}

/* 5 of 10: the interval is (0.2366, 0.7634); none of 10: (0, z^2 / (10 + z^2)). Brown, Cai,
 * DasGupta 2001 discuss both. */
START_TEST(interval_wilson_matches_known_intervals)
{
    const double z2 = 1.959963984540054 * 1.959963984540054;
    struct interval half = interval_wilson(5, 10), none = interval_wilson(0, 10);
    ck_assert(fabs(half.low - 0.236593) < 1e-6 && fabs(half.high - 0.763407) < 1e-6);
    expect(none.low, 0.0);
    expect(none.high, z2 / (10 + z2));
    expect(interval_wilson(10, 10).low, 10 / (10 + z2));
    expect(interval_wilson(10, 10).high, 1.0);
}
END_TEST

START_TEST(interval_wilson_of_nothing_is_everything)
{
    expect(interval_wilson(0, 0).low, 0.0);
    expect(interval_wilson(0, 0).high, 1.0);
    expect(interval_wilson_low(0, 0, 1.28), 0.0);
}
END_TEST

START_TEST(interval_wilson_low_is_the_share_when_nothing_need_be_sure)
{
    expect(interval_wilson_low(19, 20, 0), 0.95);
    ck_assert(interval_wilson_low(19, 20, 1.28) < 0.95);
    expect(interval_wilson_low(10, 10, 1.5), 10 / (10 + 1.5 * 1.5));
}
END_TEST

/* Two classes, `right` of `count` inputs of each are right. */
static void measure(struct interval *macro, struct interval f1[3], size_t right, size_t count,
                    uint64_t seed)
{
    struct confusion confusion;
    struct err err = {0};
    ck_assert_int_eq(confusion_open(&confusion, 3, &err), ERR_OK);
    for (unsigned class = 0; class < 2; class ++)
        for (size_t i = 0; i < count; i++)
            confusion_add(&confusion, class, i < right ? class : 1 - class);
    confusion_finish(&confusion);
    ck_assert_int_eq(interval_bootstrap_f1(macro, f1, &confusion, seed, &err), ERR_OK);
    confusion_close(&confusion);
}

/* With two balanced classes macro-F1 is nearly accuracy, whose standard error is
 * sqrt(0.8 x 0.2 / 400) = 0.02: the interval is 0.8 -+ 0.039. */
START_TEST(interval_bootstrap_finds_the_spread_that_theory_gives)
{
    struct interval macro, f1[3];
    measure(&macro, f1, 160, 200, 7);
    ck_assert_msg(fabs(macro.low - 0.761) < 0.008, "%g", macro.low);
    ck_assert_msg(fabs(macro.high - 0.839) < 0.008, "%g", macro.high);
    ck_assert(f1[0].low < 0.8 && f1[0].high > 0.8 && f1[1].low < 0.8 && f1[1].high > 0.8);
}
END_TEST

START_TEST(interval_bootstrap_narrows_with_more_inputs)
{
    struct interval few, many, f1[3];
    measure(&few, f1, 16, 20, 7);
    measure(&many, f1, 1600, 2000, 7);
    ck_assert(few.high - few.low > 5 * (many.high - many.low));
}
END_TEST

START_TEST(interval_bootstrap_is_the_same_for_the_same_seed)
{
    struct interval a, b, c, f1[3];
    measure(&a, f1, 33, 50, 1);
    measure(&b, f1, 33, 50, 1);
    measure(&c, f1, 33, 50, 2);
    expect(a.low, b.low);
    expect(a.high, b.high);
    ck_assert(a.low != c.low || a.high != c.high);
}
END_TEST

START_TEST(interval_bootstrap_knows_nothing_of_a_class_that_never_occurs)
{
    struct interval macro, f1[3];
    measure(&macro, f1, 20, 20, 1);
    expect(macro.low, 1.0);
    expect(f1[2].low, 0.0);
    expect(f1[2].high, 1.0);
}
END_TEST

/* Of 1 .. 5: standard deviation sqrt(5/2), and 2.776 of Student's t with four degrees of freedom.
 */
START_TEST(interval_mean_is_that_of_a_textbook)
{
    static const double values[] = {3, 1, 5, 2, 4};
    double mean, half = 2.776445 * sqrt(2.5 / 5);
    struct interval found = interval_mean(values, 5, &mean);
    ck_assert(mean == 3);
    ck_assert_msg(fabs(found.low - (3 - half)) < 0.006, "%g", found.low);
    ck_assert_msg(fabs(found.high - (3 + half)) < 0.006, "%g", found.high);
}
END_TEST

START_TEST(interval_mean_of_two_bounds_nothing)
{
    static const double values[] = {3, 1};
    double mean;
    ck_assert(isinf(interval_mean(values, 2, &mean).low) && mean == 2);
    ck_assert(isinf(interval_mean(values, 0, &mean).high) && mean == 0);
}
END_TEST

SUITE("interval", interval_mean_is_that_of_a_textbook, interval_mean_of_two_bounds_nothing,
      interval_wilson_matches_known_intervals, interval_wilson_of_nothing_is_everything,
      interval_wilson_low_is_the_share_when_nothing_need_be_sure,
      interval_bootstrap_finds_the_spread_that_theory_gives,
      interval_bootstrap_narrows_with_more_inputs, interval_bootstrap_is_the_same_for_the_same_seed,
      interval_bootstrap_knows_nothing_of_a_class_that_never_occurs)
