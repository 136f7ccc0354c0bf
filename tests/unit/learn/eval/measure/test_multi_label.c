/* multi_label.c: figures by hand, also where they are not defined. */
#include "learn/eval/measure/set_assessment.h"
#include "tests/support/suite.h"

#include <math.h>

static struct multi_label sets;
static struct err err;

static void measure(const float *scores, const bool *truths, size_t count, unsigned labels)
{
    err = (struct err){0};
    ck_assert_msg(!multi_label_measure(&sets, scores, truths, count, labels, &err), "%s", err.text);
}

/* Label 0: 2 of 3 given ones are right, 2 of 2 found. Label 1: 1 of 1, 1 of 3. */
START_TEST(multi_label_has_the_figures_of_each_label_and_of_all)
{
    static const float scores[] = {0.9f, 0.5f, 0.8f, 0.1f, 0.7f, 0.2f, 0.1f, 0.3f};
    static const bool truths[] = {1, 1, 0, 1, 1, 0, 0, 1};
    measure(scores, truths, 4, 2);
    const struct multi_label_row *rows = sets.rows;
    ck_assert(rows[0].support == 2 && rows[0].given == 3 && rows[0].both == 2);
    ck_assert(rows[1].support == 3 && rows[1].given == 1 && rows[1].both == 1);
    ck_assert_double_eq_tol(rows[0].rates.precision, 2 / 3.0, 1e-12);
    ck_assert_double_eq_tol(rows[0].rates.recall, 1, 1e-12);
    ck_assert_double_eq_tol(rows[0].rates.f1, 0.8, 1e-12);
    ck_assert_double_eq_tol(rows[1].rates.f1, 0.5, 1e-12);
    ck_assert_double_eq_tol(rows[0].auroc, 0.75, 1e-12); /* 0.7 is below 0.8 */
    ck_assert_double_eq_tol(rows[1].auroc, 2 / 3.0, 1e-12);
    ck_assert_double_eq_tol(sets.micro.precision, 3 / 4.0, 1e-12);
    ck_assert_double_eq_tol(sets.micro.recall, 3 / 5.0, 1e-12);
    ck_assert_double_eq_tol(sets.micro.f1, 6 / 9.0, 1e-12);
    ck_assert_double_eq_tol(sets.macro.f1, 0.65, 1e-12);
    ck_assert_double_eq_tol(sets.macro_auroc, (0.75 + 2 / 3.0) / 2, 1e-12);
    ck_assert_double_eq_tol(sets.exact_match, 0.5, 1e-12);      /* the first and the third */
    ck_assert_double_eq_tol(sets.hamming_loss, 3 / 8.0, 1e-12); /* 0 of input 1, 1 of 1 and 3 */
    multi_label_close(&sets);
}
END_TEST

/* The second label has no input and is never given; all inputs have the third. */
START_TEST(multi_label_leaves_open_what_is_not_defined)
{
    static const float scores[] = {0.9f, 0.2f, 0.9f, 0.1f, 0.1f, 0.8f};
    static const bool truths[] = {1, 0, 1, 0, 0, 1};
    measure(scores, truths, 2, 3);
    ck_assert(isnan(sets.rows[1].rates.precision) && isnan(sets.rows[1].rates.recall));
    ck_assert(isnan(sets.rows[1].rates.f1) && isnan(sets.rows[1].auroc));
    ck_assert(isnan(sets.rows[2].auroc) && sets.rows[2].rates.f1 == 1);
    ck_assert_double_eq(sets.rows[0].auroc, 1);
    ck_assert_double_eq(sets.macro_auroc, 1);
    ck_assert_double_eq_tol(sets.macro.f1, 2 / 3.0, 1e-12);
    ck_assert(sets.exact_match == 1 && sets.hamming_loss == 0);
    multi_label_close(&sets);
}
END_TEST

START_TEST(multi_label_of_no_input_is_empty)
{
    measure(NULL, NULL, 0, 2);
    ck_assert(sets.count == 0 && sets.exact_match == 0 && sets.hamming_loss == 0);
    ck_assert(isnan(sets.micro.f1) && isnan(sets.macro_auroc) && sets.macro.f1 == 0);
    multi_label_close(&sets);
}
END_TEST

SUITE("multi_label", multi_label_has_the_figures_of_each_label_and_of_all,
      multi_label_leaves_open_what_is_not_defined, multi_label_of_no_input_is_empty)
