/* class_prior.h: shifts in closed form, whatever unit the expectation is in; and each refusal. */
#include "engine/base/doc.h"
#include "engine/decide/class_prior.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 3 };

static const char *const names[LABELS] = {"none", "Donut", "Scratch"};
static const struct class_prior_labels labels = {names, LABELS};
static struct class_prior prior;
static struct arena arena;
static struct err err;

#define FITTED "\"fitted_prior\": {\"none\": 80, \"Donut\": 20, \"Scratch\": 0}"

static enum err_code read_prior(const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    class_prior_read(&prior, object, &labels, &arena, &err);
    doc_free(object);
    return err.code;
}

START_TEST(class_prior_without_a_member_is_natural_and_shifts_no_logit)
{
    ck_assert_int_eq(read_prior("{}"), ERR_OK);
    ck_assert_str_eq(class_prior_name(&prior), "natural");
    ck_assert(prior.shifts == NULL && prior.fitted == NULL && prior.expected == NULL);
    ck_assert_ptr_null(prior.assumed);
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": \"natural\"}"), ERR_OK);
    ck_assert_ptr_null(prior.shifts);
    ck_assert_double_eq(prior.fitted[0], 80);
    ck_assert_double_eq_tol(prior.expected[1], 0.2, 1e-15);
    ck_assert_double_eq_tol(prior.assumed[1], 20.5 / 101.5, 1e-15);
}
END_TEST

START_TEST(shifts_are_the_logs_of_expected_over_fitted_counts_with_half_an_input_each)
{
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 30, \"Donut\": 15, \"Scratch\": 5}}"),
                     ERR_OK);
    static const double expected[LABELS] = {60.5 / 80.5, 30.5 / 20.5, 10.5 / 0.5};
    ck_assert_str_eq(class_prior_name(&prior), "counts");
    for (unsigned i = 0; i < LABELS; i++)
        ck_assert_double_eq_tol((double)prior.shifts[i], log(expected[i]), 1e-6);
    ck_assert_double_eq_tol(prior.assumed[2], 10.5 / 101.5, 1e-15);
}
END_TEST

START_TEST(an_equal_prior_expects_each_label_as_often)
{
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": \"equal\"}"), ERR_OK);
    const double each = 100.0 / 3 + 0.5;
    ck_assert_double_eq_tol((double)prior.shifts[0], log(each / 80.5), 1e-6);
    ck_assert_double_eq_tol((double)prior.shifts[2], log(each / 0.5), 1e-6);
}
END_TEST

START_TEST(shares_say_the_same_as_counts_and_the_fitted_ones_nothing_new)
{
    float shifts[LABELS];
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 3e6, \"Donut\": 1e6, \"Scratch\": 0}}"),
                     ERR_OK);
    memcpy(shifts, prior.shifts, sizeof shifts);
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 0.75, \"Donut\": 0.25, \"Scratch\": 0}}"),
                     ERR_OK);
    for (unsigned i = 0; i < LABELS; i++)
        ck_assert_float_eq_tol(prior.shifts[i], shifts[i], 1e-6f);
    ck_assert_float_eq(prior.shifts[2], 0); /* neither fitted on nor expected */
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 8, \"Donut\": 2, \"Scratch\": 0}}"),
                     ERR_OK);
    for (unsigned i = 0; i < LABELS; i++)
        ck_assert_float_eq_tol(prior.shifts[i], 0, 1e-6f);
}
END_TEST

START_TEST(no_shift_is_beyond_what_half_an_input_allows)
{
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 0, \"Donut\": 0, \"Scratch\": 1e15}}"),
                     ERR_OK);
    ck_assert_double_eq_tol((double)prior.shifts[2], log(201), 1e-6);
    ck_assert(isfinite(prior.shifts[0]) && prior.shifts[0] < 0);
}
END_TEST

START_TEST(class_prior_refuses_each_mistake_by_name)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"class_prior\": \"equal\"}", "$.class_prior needs fitted_prior"},
        {"{\"class_prior\": {\"none\": 1, \"Donut\": 1, \"Scratch\": 1}}",
         "attnd-eval --calibrate"},
        {"{" FITTED ", \"class_prior\": \"even\"}", "\"natural\", \"equal\" or {label: count}"},
        {"{" FITTED ", \"class_prior\": 3}", "\"natural\", \"equal\" or {label: count}"},
        {"{" FITTED ", \"class_prior\": {\"none\": 1, \"Donut\": 1}}", "lacks the label 'Scratch'"},
        {"{" FITTED ", \"class_prior\": {\"none\": 1, \"Donut\": -1, \"Scratch\": 0}}",
         "$.class_prior: the count of 'Donut' must be a number from 0 to 1e+15"},
        {"{" FITTED ", \"class_prior\": {\"none\": 0, \"Donut\": 0, \"Scratch\": 0}}",
         "$.class_prior: all counts are 0"},
        {"{\"fitted_prior\": {\"none\": 1, \"Donut\": 1, \"Scratch\": \"5\"}}",
         "$.fitted_prior: the count of 'Scratch'"},
        {"{\"fitted_prior\": \"equal\"}", "$.fitted_prior: expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(read_prior(cases[i].text), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, cases[i].why) != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(another_prior_is_chosen_by_word_or_file_and_the_old_one_stays_if_that_fails)
{
    struct tempdir dir;
    char path[128];
    static const char counts[] = "{\"none\": 1, \"Donut\": 1, \"Scratch\": 2}";
    tempdir_open(&dir);
    tempdir_write(&dir, "counts.json", counts, strlen(counts));
    snprintf(path, sizeof path, "%s/counts.json", dir.path);
    ck_assert_int_eq(read_prior("{" FITTED "}"), ERR_OK);
    ck_assert_int_eq(class_prior_choose(&prior, path, &labels, &arena, &err), ERR_OK);
    ck_assert_double_eq_tol((double)prior.shifts[2], log(50.5 / 0.5), 1e-6);
    snprintf(path, sizeof path, "%s/absent.json", dir.path);
    ck_assert_int_eq(class_prior_choose(&prior, path, &labels, &arena, &err), ERR_IO);
    ck_assert_int_eq(prior.kind, CLASS_PRIOR_COUNTS);
    err = (struct err){0};
    ck_assert_int_eq(class_prior_choose(&prior, "natural", &labels, &arena, &err), ERR_OK);
    ck_assert_ptr_null(prior.shifts);
    tempdir_close(&dir);
}
END_TEST

START_TEST(an_expectation_stays_when_the_scores_are_fitted_anew)
{
    static const double fitted[LABELS] = {10, 20, 10};
    ck_assert_int_eq(read_prior("{" FITTED ", \"class_prior\": "
                                "{\"none\": 8, \"Donut\": 2, \"Scratch\": 0}}"),
                     ERR_OK);
    ck_assert_int_eq(class_prior_refit(&prior, fitted, LABELS, &arena, &err), ERR_OK);
    ck_assert_double_eq_tol((double)prior.shifts[0], log(32.5 / 10.5), 1e-6);
    ck_assert_double_eq_tol((double)prior.shifts[2], log(0.5 / 10.5), 1e-6);
}
END_TEST

SUITE("class_prior", class_prior_without_a_member_is_natural_and_shifts_no_logit,
      shifts_are_the_logs_of_expected_over_fitted_counts_with_half_an_input_each,
      an_equal_prior_expects_each_label_as_often,
      shares_say_the_same_as_counts_and_the_fitted_ones_nothing_new,
      no_shift_is_beyond_what_half_an_input_allows, class_prior_refuses_each_mistake_by_name,
      another_prior_is_chosen_by_word_or_file_and_the_old_one_stays_if_that_fails,
      an_expectation_stays_when_the_scores_are_fitted_anew)
