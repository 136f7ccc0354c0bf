#include "loadtest/tally.h"
#include "tests/support/suite.h"

START_TEST(histogram_is_zero_while_empty)
{
    struct histogram histogram = {0};
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 0);
    ck_assert(histogram_mean(&histogram) == 0.0);
}
END_TEST

START_TEST(histogram_is_exact_below_128)
{
    struct histogram histogram = {0};
    for (uint64_t value = 1; value <= 100; value++)
        histogram_record(&histogram, value);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 50);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.99), 99);
    ck_assert_uint_eq(histogram_quantile(&histogram, 1.0), 100);
    ck_assert(histogram_mean(&histogram) == 50.5);
}
END_TEST

START_TEST(histogram_errs_by_at_most_one_in_128_and_never_below)
{
    for (uint64_t value = 1; value < UINT64_C(1) << 43; value += value / 3 + 1) {
        struct histogram histogram = {0};
        histogram_record(&histogram, value);
        histogram_record(&histogram, value * 2);
        uint64_t median = histogram_quantile(&histogram, 0.5);
        ck_assert_uint_ge(median, value);
        ck_assert_uint_le(median, value + value / 128);
    }
}
END_TEST

START_TEST(histogram_quantiles_do_not_pass_the_maximum)
{
    struct histogram histogram = {0};
    histogram_record(&histogram, 1000001);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 1000001);
    ck_assert_uint_eq(histogram.min, 1000001);
    ck_assert_uint_eq(histogram.max, 1000001);
}
END_TEST

START_TEST(histogram_keeps_values_beyond_its_range)
{
    struct histogram histogram = {0};
    histogram_record(&histogram, UINT64_MAX / 2);
    histogram_record(&histogram, 5);
    ck_assert_uint_eq(histogram.count, 2);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 5);
    ck_assert_uint_ge(histogram_quantile(&histogram, 1.0), (UINT64_C(1) << 44) - 1);
}
END_TEST

START_TEST(histogram_tells_one_slow_in_a_thousand)
{
    struct histogram histogram = {0};
    for (int i = 0; i < 999; i++)
        histogram_record(&histogram, 1000);
    histogram_record(&histogram, 1000000);
    ck_assert_uint_lt(histogram_quantile(&histogram, 0.99), 1010);
    ck_assert_uint_lt(histogram_quantile(&histogram, 0.999), 1010);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0.9995), 1000000);
}
END_TEST

START_TEST(histogram_has_its_maximum_above_all_that_was_recorded)
{
    struct histogram histogram = {0};
    histogram_record(&histogram, 7);
    histogram_record(&histogram, 100000);
    ck_assert_uint_eq(histogram_quantile(&histogram, 0), 7);
    ck_assert_uint_eq(histogram_quantile(&histogram, 1), 100000);
    ck_assert_uint_eq(histogram_quantile(&histogram, 1.5), 100000);
}
END_TEST

SUITE("histogram", histogram_is_zero_while_empty, histogram_is_exact_below_128,
      histogram_errs_by_at_most_one_in_128_and_never_below,
      histogram_quantiles_do_not_pass_the_maximum, histogram_keeps_values_beyond_its_range,
      histogram_tells_one_slow_in_a_thousand, histogram_has_its_maximum_above_all_that_was_recorded)
