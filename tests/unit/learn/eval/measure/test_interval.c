#include "learn/eval/measure/interval.h"
#include "tests/support/suite.h"

#include <math.h>

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-12, "%.15g instead of %.15g", found, expected);
}

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

/* Macro-F1 of two balanced classes is nearly accuracy, whose standard error is sqrt(0.8 x 0.2 /
 * 400) = 0.02: the interval is 0.8 -+ 0.039. */
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

/* The values are 1 .. 5: their standard deviation is sqrt(5/2), and Student's t with four degrees
 * of freedom is 2.776. */
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

/* Student's quantiles as Abramowitz and Stegun's 26.7.5 gives them, computed elsewhere: the true
 * ones are 4.303, 2.776, 2.306 and 2.042. Three values are enough. */
START_TEST(interval_mean_follows_the_expansion)
{
    static const struct {
        unsigned count;
        double quantile;
    } cases[] = {
        {3, 4.171205463563}, {5, 2.769373106841}, {9, 2.305591323104}, {31, 2.042270462889}};
    double values[32];
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        unsigned n = cases[c].count;
        double mean, squares = 0;
        for (unsigned i = 0; i < n; i++) {
            values[i] = 10 + (double)(i * i);
            squares += pow((double)(i * i), 2);
        }
        values[n] = 1e9; /* is not looked at */
        double sum = (n - 1) * n * (2 * n - 1) / 6.0;
        double half = cases[c].quantile * sqrt((squares - sum * sum / n) / (n - 1) / n);
        struct interval found = interval_mean(values, n, &mean);
        ck_assert(fabs(mean - 10 - sum / n) < 1e-12);
        ck_assert_msg(fabs(found.low - mean + half) < 1e-9 * half, "%.12g", found.low);
        ck_assert_msg(fabs(found.high - mean - half) < 1e-9 * half, "%.12g", found.high);
    }
}
END_TEST

START_TEST(interval_bootstrap_refuses_more_inputs_than_it_can_draw_from)
{
    struct confusion confusion = {.class_count = 3, .count = (size_t)1 << 31};
    struct interval macro = {7, 7}, f1[3] = {{7, 7}, {7, 7}, {7, 7}};
    struct err err = {0};
    ck_assert_int_eq(interval_bootstrap_f1(&macro, f1, &confusion, 1, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "2147483648 inputs are too many to resample (at most 2147483647)");
    ck_assert(macro.low == 7 && f1[0].high == 7);
}
END_TEST

/* No class occurs in any draw, because there are no inputs. */
START_TEST(interval_bootstrap_of_nothing_is_everything)
{
    struct interval macro, f1[4] = {[3] = {7, 7}};
    measure(&macro, f1, 0, 0, 1);
    ck_assert(macro.low == 0 && macro.high == 1);
    for (unsigned i = 0; i < 3; i++)
        ck_assert(f1[i].low == 0 && f1[i].high == 1);
    ck_assert(f1[3].low == 7 && f1[3].high == 7);
}
END_TEST

/* Every draw from one right answer, or from five of one class, is right. */
START_TEST(interval_bootstrap_of_a_single_class_is_sure)
{
    for (unsigned count = 1; count <= 5; count += 4) {
        struct confusion confusion;
        struct interval macro, f1[3];
        struct err err = {0};
        ck_assert(!confusion_open(&confusion, 3, &err));
        for (unsigned i = 0; i < count; i++)
            confusion_add(&confusion, 1, 1);
        confusion_finish(&confusion);
        ck_assert(!interval_bootstrap_f1(&macro, f1, &confusion, 1, &err));
        ck_assert(macro.low == 1 && macro.high == 1 && f1[1].low == 1 && f1[1].high == 1);
        ck_assert(f1[0].low == 0 && f1[0].high == 1);
        confusion_close(&confusion);
    }
}
END_TEST

SUITE("interval", interval_mean_is_that_of_a_textbook, interval_mean_of_two_bounds_nothing,
      interval_bootstrap_finds_the_spread_that_theory_gives,
      interval_bootstrap_narrows_with_more_inputs, interval_bootstrap_is_the_same_for_the_same_seed,
      interval_bootstrap_knows_nothing_of_a_class_that_never_occurs,
      interval_mean_follows_the_expansion,
      interval_bootstrap_refuses_more_inputs_than_it_can_draw_from,
      interval_bootstrap_of_nothing_is_everything, interval_bootstrap_of_a_single_class_is_sure)
