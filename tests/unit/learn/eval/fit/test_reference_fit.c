/* reference_fit.h: shares of labels, and deciles where the scores allow them. */
#include "learn/eval/fit/reference_fit.h"
#include "tests/support/suite.h"

#include <string.h>

enum { COUNT = 1000, LABELS = 4 };

static const char *const labels[LABELS] = {"a", "twin", "b", "twin"};
static struct verdict verdicts[COUNT];
static float ood_scores[COUNT];
static struct drift_reference fitted;
static struct arena arena;
static struct err err;

static void fit(size_t count)
{
    const struct reference_answers answers = {verdicts, ood_scores, count};
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    reference_fit(&fitted, &answers, labels, LABELS, &arena, &err);
}

/* Labels a, twin, b, twin, a, ...; scores in no order. */
static void fill(float score_max)
{
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned place = (i * 7 + 3) % COUNT;
        verdicts[i] =
            (struct verdict){.label = i % LABELS, .score = score_max * (float)(place + 1) / COUNT};
        ood_scores[i] = (float)place - 500;
    }
}

START_TEST(labels_have_the_shares_of_their_answers)
{
    fill(1);
    fit(COUNT);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(fitted.count, COUNT);
    ck_assert_float_eq(fitted.label_shares[0], 0.25f);
    ck_assert_float_eq(fitted.label_shares[1], 0.5f);
    ck_assert_float_eq(fitted.label_shares[2], 0.25f);
    ck_assert_float_eq(fitted.label_shares[3], 0.5f);
    arena_deinit(&arena);
}
END_TEST

START_TEST(scores_are_cut_into_tenths)
{
    fill(1);
    fit(COUNT);
    for (enum drift_kind kind = DRIFT_SCORE; kind <= DRIFT_OOD; kind++) {
        ck_assert_uint_eq(fitted.psi[kind].bin_count, 10);
        ck_assert_uint_eq(fitted.psi[kind].input_count, COUNT);
        for (unsigned i = 0; i < 10; i++)
            ck_assert_float_eq_tol(fitted.psi[kind].shares[i], 0.1f, 0.0015f);
    }
    ck_assert_float_eq(fitted.edges[DRIFT_OOD][0], -400);
    ck_assert_float_eq_tol(fitted.edges[DRIFT_SCORE][8], 0.9f, 0.0011f);
    arena_deinit(&arena);
}
END_TEST

/* Nine tenths score above 0.999, which is one bin. Differences among them are not the model's. */
START_TEST(reference_fit_puts_scores_near_one_into_one_bin)
{
    fill(1);
    for (unsigned i = 0; i < COUNT; i++)
        if (verdicts[i].score > 0.1f)
            verdicts[i].score = 0.9991f + 0.0008f * (float)i / COUNT;
    fit(COUNT);
    ck_assert_uint_eq(fitted.psi[DRIFT_SCORE].bin_count, 2);
    ck_assert_float_eq_tol(fitted.edges[DRIFT_SCORE][0], 0.999f, 1e-6f);
    ck_assert_float_eq_tol(fitted.psi[DRIFT_SCORE].shares[1], 0.9f, 0.0011f);
    arena_deinit(&arena);
}
END_TEST

START_TEST(few_inputs_are_cut_into_fewer_bins)
{
    fill(1);
    fit(90);
    ck_assert_uint_eq(fitted.psi[DRIFT_OOD].bin_count, 4);
    fit(1);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(fitted.psi[DRIFT_OOD].bin_count, 2);
    ck_assert_float_eq(fitted.psi[DRIFT_OOD].shares[1], 1);
    arena_deinit(&arena);
}
END_TEST

/* Numbers of any unit, equal ones among them: 0 to 999 thousand, and as many zeros. */
START_TEST(numbers_of_a_regression_are_cut_into_tenths)
{
    enum { NUMBERS = 2000 };
    static float numbers[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++)
        numbers[i] = i % 2 == 0 ? 0 : 500 * (float)(NUMBERS - i);
    arena_init(&arena);
    err = (struct err){0};
    ck_assert(!reference_fit_numbers(&fitted, numbers, NUMBERS, &arena, &err));
    ck_assert(fitted.count == NUMBERS && fitted.label_count == 0);
    ck_assert_uint_eq(fitted.psi[DRIFT_VALUE].bin_count, 6 + 1); /* five edges are the zero */
    ck_assert_float_eq(fitted.edges[DRIFT_VALUE][0], 0);
    ck_assert_float_eq_tol(fitted.edges[DRIFT_VALUE][5], 800500, 2000);
    ck_assert_float_eq(fitted.psi[DRIFT_VALUE].shares[0], 0);
    ck_assert_float_eq_tol(fitted.psi[DRIFT_VALUE].shares[6], 0.1f, 0.0015f);
    ck_assert_int_eq(reference_fit_numbers(&fitted, numbers, 0, &arena, &err), ERR_UNUSABLE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(no_answers_are_an_error)
{
    fit(0);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "a reference is of 1 to 1000000000 answers, not of 0");
}
END_TEST

SUITE("reference_fit", labels_have_the_shares_of_their_answers, scores_are_cut_into_tenths,
      reference_fit_puts_scores_near_one_into_one_bin, few_inputs_are_cut_into_fewer_bins,
      numbers_of_a_regression_are_cut_into_tenths, no_answers_are_an_error)
