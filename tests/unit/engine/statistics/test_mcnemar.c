/* The exact test against the sum that defines it, and against R's figures. */
#include "engine/statistics/statistics.h"
#include "tests/support/suite.h"

#include <math.h>

/* 2 sum_{k <= min(b, c)} C(b + c, k) / 2^(b + c), by Pascal's triangle. */
static double defined(unsigned b, unsigned c)
{
    double row[64] = {1}, sum = 0;
    for (unsigned n = 1; n <= b + c; n++)
        for (unsigned k = n; k > 0; k--)
            row[k] += row[k - 1];
    for (unsigned k = 0; k <= (b < c ? b : c); k++)
        sum += row[k];
    return fmin(1, 2 * sum * pow(0.5, b + c));
}

START_TEST(mcnemar_p_follows_its_definition)
{
    for (unsigned b = 0; b < 30; b++)
        for (unsigned c = 0; c < 30; c++)
            ck_assert_double_eq_tol(mcnemar_p(b, c), defined(b, c), 1e-12);
}
END_TEST

/* binom.test(3, 18)$p.value and the like. */
START_TEST(mcnemar_gives_the_known_figures)
{
    ck_assert_double_eq_tol(mcnemar_p(3, 15), 0.0075378418, 1e-9);
    ck_assert_double_eq_tol(mcnemar_p(15, 3), 0.0075378418, 1e-9);
    ck_assert_double_eq(mcnemar_p(0, 0), 1);
    ck_assert_double_eq(mcnemar_p(7, 7), 1);
    ck_assert_double_eq_tol(mcnemar_p(0, 6), 0.03125, 1e-12);
}
END_TEST

START_TEST(mcnemar_is_a_probability_also_of_many)
{
    const double even = mcnemar_p(1000000, 1000000), odd = mcnemar_p(490000, 510000);
    ck_assert(even > 0.99 && even <= 1);
    ck_assert(odd > 0 && odd < 1e-80);
    ck_assert_double_eq(mcnemar_p(0, UINT64_C(1) << 40), 0);
}
END_TEST

SUITE("mcnemar", mcnemar_p_follows_its_definition, mcnemar_gives_the_known_figures,
      mcnemar_is_a_probability_also_of_many)
