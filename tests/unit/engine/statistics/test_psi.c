/* psi(): its value, what empty bins do, and that its correction is the mean of what chance gives. */
#include "engine/base/rng.h"
#include "engine/statistics/statistics.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>

enum { BINS = 10 };

static const float halves[2] = {0.5f, 0.5f};
static float tenths[BINS];

static struct psi_reference ten(unsigned inputs)
{
    for (unsigned i = 0; i < BINS; i++)
        tenths[i] = 0.1f;
    return (struct psi_reference){BINS, tenths, inputs};
}

/* Shares of 0.8 and 0.2 against halves: 0.3 ln 1.6 - 0.3 ln 0.4 = 0.3 ln 4; half an input
 * a bin on either side is nothing beside a million. */
START_TEST(psi_is_the_sum_of_differences_times_logarithms)
{
    const uint32_t counts[2] = {800000, 200000};
    const struct psi_reference reference = {2, halves, 1000000};
    ck_assert_double_eq_tol(psi(counts, &reference), 0.3 * log(4), 1e-5);
    const uint32_t same[2] = {500000, 500000};
    ck_assert_double_eq_tol(psi(same, &reference), 0, 1e-12);
}
END_TEST

/* The figures computed by hand: q = (0.9 * 10 + 0.5) / 11 and (0.1 * 10 + 0.5) / 11; p = (0 + q) /
 * (4 + 1), ... */
START_TEST(psi_gives_each_bin_half_an_input)
{
    const float shares[2] = {0.9f, 0.1f};
    const uint32_t counts[2] = {0, 4};
    const struct psi_reference reference = {2, shares, 10};
    const double q0 = 9.5 / 11, q1 = 1.5 / 11, p0 = q0 / 5, p1 = (4 + q1) / 5;
    ck_assert_double_eq_tol(psi(counts, &reference),
                            (p0 - q0) * log(p0 / q0) + (p1 - q1) * log(p1 / q1), 1e-7);
}
END_TEST

START_TEST(psi_of_empty_bins_is_finite_and_of_no_predictions_nothing)
{
    const float shares[3] = {1, 0, 0};
    const struct psi_reference reference = {3, shares, 1000};
    const uint32_t elsewhere[3] = {0, 200, 0}, none[3] = {0};
    ck_assert(isfinite(psi(elsewhere, &reference)));
    ck_assert_double_gt(psi(elsewhere, &reference), 5);
    ck_assert_double_eq_tol(psi(none, &reference), 0, 1e-12);
    ck_assert_double_eq(psi_excess(none, &reference), 0);
}
END_TEST

static void draw(uint32_t counts[BINS], unsigned count, uint64_t seed)
{
    struct rng rng = rng_for(seed, 0, 0);
    for (unsigned i = 0; i < BINS; i++)
        counts[i] = 0;
    for (unsigned i = 0; i < count; i++)
        counts[rng_below(&rng, BINS)]++;
}

/* 4000 windows are drawn from the reference's own shares, which are known exactly. The mean of PSI
 * is (k - 1)/n to within a tenth (its error is sqrt(2/9)/sqrt(4000) = 0.7 %, and half an input a
 * bin lowers it a little). */
START_TEST(psi_of_chance_has_the_mean_that_is_taken_off)
{
    static const unsigned sizes[] = {100, 200, 1000};
    const struct psi_reference exact = ten(1000000000);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double sum = 0;
        for (uint64_t seed = 0; seed < 4000; seed++) {
            uint32_t counts[BINS];
            draw(counts, sizes[s], seed);
            sum += psi(counts, &exact);
        }
        ck_assert_double_eq_tol(sum / 4000 / psi_expected(sizes[s], &exact), 1, 0.1);
    }
}
END_TEST

/* A reference of 90 inputs is uncertain itself: shares that were drawn, too. */
START_TEST(psi_of_chance_counts_the_chance_of_a_small_reference)
{
    double sum = 0, expected = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        uint32_t counts[BINS], inputs[BINS];
        float shares[BINS];
        draw(inputs, 90, 2 * seed);
        draw(counts, 200, 2 * seed + 1);
        for (unsigned i = 0; i < BINS; i++)
            shares[i] = (float)inputs[i] / 90;
        const struct psi_reference drawn = {BINS, shares, 90};
        sum += psi(counts, &drawn) / 4000;
        expected = psi_expected(200, &drawn);
    }
    ck_assert_double_eq_tol(expected, 9 * (1.0 / 200 + 1.0 / 90), 1e-12);
    ck_assert_double_eq_tol(sum / expected, 1, 0.1);
}
END_TEST

START_TEST(psi_excess_is_what_is_above_chance)
{
    const uint32_t counts[2] = {150, 50}, level[2] = {101, 99};
    const struct psi_reference reference = {2, halves, 1000};
    ck_assert_double_eq_tol(psi_excess(counts, &reference),
                            psi(counts, &reference) - 1.0 / 200 - 1.0 / 1000, 1e-12);
    ck_assert_double_eq(psi_excess(level, &reference), 0);
}
END_TEST

SUITE("psi", psi_is_the_sum_of_differences_times_logarithms, psi_gives_each_bin_half_an_input,
      psi_of_empty_bins_is_finite_and_of_no_predictions_nothing,
      psi_of_chance_has_the_mean_that_is_taken_off,
      psi_of_chance_counts_the_chance_of_a_small_reference, psi_excess_is_what_is_above_chance)
