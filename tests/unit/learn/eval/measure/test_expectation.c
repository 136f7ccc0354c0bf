/* expectation.h: figures by hand of a matrix of three labels, and what holds of any. */
#include "learn/eval/measure/expectation.h"
#include "tests/support/suite.h"

#include <string.h>

enum { LABELS = 3 };

static struct confusion confusion;
static struct expectation expectation;
static struct err err;

static void count(const size_t matrix[LABELS * LABELS])
{
    ck_assert(!confusion_open(&confusion, LABELS, &err));
    memcpy(confusion.matrix, matrix, LABELS * LABELS * sizeof *matrix);
    confusion_finish(&confusion);
}

static void drop(void)
{
    expectation_close(&expectation);
    confusion_close(&confusion);
}

START_TEST(each_label_weighs_what_is_expected_of_it)
{
    static const double shares[LABELS] = {0.5, 0.25, 0.25};
    count((const size_t[]){90, 10, 0, 2, 8, 0, 1, 0, 3});
    ck_assert(!expectation_measure(&expectation, &confusion, shares, 1, &err));
    /* answered: 0.45 + 0.05 + 0.0625, 0.05 + 0.2, 0.1875; right: 0.45, 0.2, 0.1875 */
    ck_assert_double_eq_tol(expectation.accuracy, 0.8375, 1e-12);
    ck_assert_double_eq_tol(expectation.classes[0].precision, 0.45 / 0.5625, 1e-12);
    ck_assert_double_eq_tol(expectation.classes[0].f1, 0.9 / 1.0625, 1e-12);
    ck_assert_double_eq_tol(expectation.classes[1].f1, 0.4 / 0.5, 1e-12);
    ck_assert_double_eq_tol(expectation.classes[2].f1, 0.375 / 0.4375, 1e-12);
    ck_assert_double_eq_tol(expectation.macro_f1, (0.9 / 1.0625 + 0.8 + 0.375 / 0.4375) / 3, 1e-12);
    ck_assert(expectation.macro_f1_interval.low < expectation.macro_f1 &&
              expectation.macro_f1 < expectation.macro_f1_interval.high);
    ck_assert(expectation.accuracy_interval.low < 0.8375 &&
              expectation.accuracy_interval.high > 0.8375);
    ck_assert_double_eq(expectation.unseen, 0);
    drop();
}
END_TEST

START_TEST(the_shares_of_the_inputs_give_the_figures_of_the_inputs)
{
    count((const size_t[]){90, 10, 0, 2, 8, 0, 1, 0, 3});
    const double shares[LABELS] = {100.0 / 114, 10.0 / 114, 4.0 / 114};
    ck_assert(!expectation_measure(&expectation, &confusion, shares, 1, &err));
    ck_assert_double_eq_tol(expectation.accuracy, confusion.accuracy, 1e-12);
    ck_assert_double_eq_tol(expectation.macro_f1, confusion.macro_f1, 1e-12);
    drop();
}
END_TEST

START_TEST(expectation_names_and_leaves_out_a_label_without_inputs)
{
    static const double shares[LABELS] = {0.5, 0.4, 0.1}, none[LABELS] = {0, 0, 1};
    count((const size_t[]){9, 1, 0, 2, 8, 0, 0, 0, 0});
    ck_assert(!expectation_measure(&expectation, &confusion, shares, 1, &err));
    ck_assert_double_eq_tol(expectation.unseen, 0.1, 1e-12);
    ck_assert_double_eq_tol(expectation.accuracy, (0.45 + 0.32) / 0.9, 1e-12);
    ck_assert_double_eq_tol(expectation.macro_f1, (0.9 / 1.03 + 0.64 / 0.77) / 2, 1e-12);
    expectation_close(&expectation);
    ck_assert_int_eq(expectation_measure(&expectation, &confusion, none, 1, &err), ERR_UNUSABLE);
    drop();
}
END_TEST

START_TEST(the_same_seed_gives_the_same_interval)
{
    static const double shares[LABELS] = {0.2, 0.2, 0.6};
    count((const size_t[]){40, 10, 3, 2, 18, 5, 1, 7, 30});
    ck_assert(!expectation_measure(&expectation, &confusion, shares, 7, &err));
    const struct interval first = expectation.macro_f1_interval;
    expectation_close(&expectation);
    ck_assert(!expectation_measure(&expectation, &confusion, shares, 7, &err));
    ck_assert_double_eq(expectation.macro_f1_interval.low, first.low);
    ck_assert_double_eq(expectation.macro_f1_interval.high, first.high);
    drop();
}
END_TEST

SUITE("expectation", each_label_weighs_what_is_expected_of_it,
      the_shares_of_the_inputs_give_the_figures_of_the_inputs,
      expectation_names_and_leaves_out_a_label_without_inputs,
      the_same_seed_gives_the_same_interval)
