#include "engine/base/rng.h"
#include "learn/eval/measure/separation.h"
#include "tests/support/suite.h"

#include <math.h>

enum { COUNT = 20000 };

static void fill_normal(float *x, size_t n, float mean, uint64_t seed)
{
    struct rng rng = rng_for(seed, 0, 0);
    for (size_t i = 0; i < n; i++)
        x[i] = mean + rng_normal(&rng);
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* Two normal distributions d apart: AUROC is Phi(d / sqrt 2), FPR95 is Phi(1.645 - d). */
START_TEST(separation_of_two_normal_distributions_is_as_theory_says)
{
    static float known[COUNT], strange[COUNT / 2];
    for (int d = 0; d <= 3; d++) {
        fill_normal(known, COUNT, 0, 1);
        fill_normal(strange, COUNT / 2, (float)d, 2);
        double auroc = separation_auroc(known, COUNT, strange, COUNT / 2);
        double fpr = separation_fpr(known, COUNT, strange, COUNT / 2, 0.95);
        ck_assert_double_eq_tol(auroc, normal_cdf(d / sqrt(2)), 0.01);
        ck_assert_double_eq_tol(fpr, normal_cdf(1.6448536 - d), 0.015);
    }
}
END_TEST

START_TEST(separation_counts_equal_scores_one_half)
{
    float known[] = {1, 2, 2, 3}, strange[] = {2, 3, 0};
    /* 2 beats 1 and ties two of four; 3 beats three and ties one; 0 beats none. */
    ck_assert_double_eq_tol(separation_auroc(known, 4, strange, 3), (2.0 + 3.5 + 0) / 12, 1e-12);
    float same[] = {1, 1, 1}, again[] = {1, 1};
    ck_assert_double_eq(separation_auroc(same, 3, again, 2), 0.5);
    ck_assert_double_eq(separation_fpr(same, 3, again, 2, 0.95), 1);
}
END_TEST

START_TEST(separation_accepts_at_least_the_share_asked_for)
{
    float known[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, strange[] = {9.5f, 10, 11, 12};
    ck_assert_double_eq(separation_fpr(known, 10, strange, 4, 0.9), 0);    /* up to 9 */
    ck_assert_double_eq(separation_fpr(known, 10, strange, 4, 0.95), 0.5); /* up to 10 */
    ck_assert_double_eq(separation_fpr(known, 10, strange, 4, 1), 0.5);
    ck_assert_double_eq(separation_fpr(known, 10, strange, 0, 1), 0);
    ck_assert_double_eq(separation_auroc(known, 0, strange, 4), 0.5);
}
END_TEST

/* One score of each kind is enough. Numbers behind the end are not read. */
START_TEST(separation_of_single_scores_is_all_or_nothing)
{
    float low[] = {1, 9, -9}, high[] = {2, -9, 9};
    ck_assert(separation_auroc(low, 1, high, 1) == 1 && separation_auroc(high, 1, low, 1) == 0);
    ck_assert(separation_fpr(low, 1, high, 1, 0.5) == 0);
    ck_assert(separation_fpr(high, 1, low, 1, 0) == 1);
    ck_assert(separation_auroc(low, 1, high, 0) == 0.5 && separation_fpr(low, 0, high, 1, 1) == 0);
    ck_assert(low[1] == 9 && high[1] == -9);
}
END_TEST

/* Unsorted on both sides: 5 of 6 pairs are won, and a share is counted in known scores. */
START_TEST(separation_sorts_what_it_is_given)
{
    float known[] = {3, 1, 2}, strange[] = {4, 2.5f};
    ck_assert_double_eq_tol(separation_auroc(known, 3, strange, 2), 5.0 / 6, 1e-12);
    ck_assert(separation_fpr(known, 3, strange, 2, 0.66) == 0);
    ck_assert(separation_fpr(known, 3, strange, 2, 0.67) == 0.5);
}
END_TEST

/* Newcombe's interval is where the truth would no longer be surprised: solved again at its ends. */
START_TEST(an_interval_has_a_width_and_narrows_with_more_inputs)
{
    const struct interval few = separation_interval(0.8, 20, 20);
    const struct interval many = separation_interval(0.8, 2000, 2000);
    const double low = few.low, n = 20;
    const double variance = low * (1 - low) *
                            (1 + (n - 1) * (1 - low) / (2 - low) + (n - 1) * low / (1 + low)) /
                            (n * n);
    ck_assert_double_eq_tol(0.8 - low, 1.959964 * sqrt(variance), 1e-5);
    ck_assert(few.low < many.low && many.low < 0.8 && 0.8 < many.high && many.high < few.high);
    const struct interval sure = separation_interval(1, 20, 20);
    ck_assert(sure.low > 0.7 && sure.low < 0.95 && sure.high == 1);
    ck_assert_double_eq(separation_interval(0.5, 0, 3).high, 1);
}
END_TEST

START_TEST(a_measure_has_both_figures_with_intervals)
{
    float known[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, strange[] = {9.5f, 10, 11, 12};
    struct separation found;
    separation_measure(&found, known, 10, strange, 4);
    ck_assert_double_eq_tol(found.auroc, (9 + 9.5 + 10 + 10) / 40, 1e-12);
    ck_assert_double_eq(found.fpr95, 0.5);
    ck_assert_double_eq(found.fpr95_interval.low, wilson_interval(2, 4).low);
    separation_measure(&found, known, 0, strange, 4);
    ck_assert(found.fpr95_interval.low == 0 && found.fpr95_interval.high == 1);
}
END_TEST

SUITE("separation", an_interval_has_a_width_and_narrows_with_more_inputs,
      a_measure_has_both_figures_with_intervals,
      separation_of_two_normal_distributions_is_as_theory_says,
      separation_counts_equal_scores_one_half, separation_accepts_at_least_the_share_asked_for,
      separation_of_single_scores_is_all_or_nothing, separation_sorts_what_it_is_given)
