/* Errors of numbers, by values that were worked out by hand. */
#include "learn/eval/measure/number_errors.h"
#include "tests/support/suite.h"

#include <math.h>

static struct number_errors measured(const double *answered, const double *right, size_t count)
{
    struct number_errors errors;
    struct err err = {0};
    ck_assert_int_eq(number_errors_measure(&errors, answered, right, count, &err), ERR_OK);
    ck_assert_uint_eq(errors.count, count);
    return errors;
}

/* Errors 1, -1, 0 and 4 of right numbers whose mean is 2.5. The ranks of the answers are 2, 1, 3 and
 * 4, of the right ones 1 to 4: rho is 1 - 6 (1 + 1) / (4 x 15). */
START_TEST(number_errors_are_those_worked_out_by_hand)
{
    const struct number_errors errors = measured((double[]){2, 1, 3, 8}, (double[]){1, 2, 3, 4}, 4);
    ck_assert_double_eq_tol(errors.mean_absolute, 1.5, 1e-12);
    ck_assert_double_eq_tol(errors.root_mean_square, sqrt(4.5), 1e-12);
    ck_assert_double_eq_tol(errors.bias, 1, 1e-12);
    ck_assert_double_eq_tol(errors.largest, 4, 1e-12);
    ck_assert_double_eq_tol(errors.standard_deviation, sqrt(1.25), 1e-12);
    ck_assert_double_eq_tol(errors.r_squared, 1 - 18.0 / 5, 1e-12);
    ck_assert_double_eq_tol(errors.spearman, 0.8, 1e-12);
}
END_TEST

/* The ranks are 1, 2.5, 2.5, 4 and 1.5, 1.5, 3, 4: their products sum up to
 * 3.75, and their squares to 4.5 each. */
START_TEST(number_errors_give_equal_numbers_their_mean_rank)
{
    const struct number_errors errors =
        measured((double[]){-1, 7, 7, 9}, (double[]){0, 0, 5, 6}, 4);
    ck_assert_double_eq_tol(errors.spearman, 3.75 / 4.5, 1e-12);
}
END_TEST

START_TEST(number_errors_of_constant_numbers_have_no_correlation)
{
    const struct number_errors errors = measured((double[]){1, 2}, (double[]){3, 3}, 2);
    ck_assert(isnan(errors.r_squared) && isnan(errors.spearman));
    ck_assert_double_eq_tol(errors.mean_absolute, 1.5, 1e-12);
    const struct number_errors none = measured(NULL, NULL, 0);
    ck_assert(none.mean_absolute == 0 && none.r_squared == 0);
}
END_TEST

SUITE("number_errors", number_errors_are_those_worked_out_by_hand,
      number_errors_give_equal_numbers_their_mean_rank,
      number_errors_of_constant_numbers_have_no_correlation)
