/* fit_prior.h: a label that is expected more often than it is seen is raised by the log of the
 * ratio. A file that lacks a label is refused by name. */
#include "learn/fit/fit_prior.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *names[] = {"ant", "bee", "cow"};
static size_t examples[] = {100, 10, 10};
static const struct fit_labels labels = {
    .name = names, .examples = examples, .count = 3, .old_count = 2};

static struct tempdir dir;
static char path[96];

static void write_prior(const char *text)
{
    tempdir_open(&dir);
    tempdir_write(&dir, "prior.json", text, strlen(text));
    snprintf(path, sizeof path, "%s/prior.json", dir.path);
}

START_TEST(the_natural_prior_changes_nothing)
{
    float shifts[3] = {1, 2, 3};
    struct err err = {0};
    ck_assert_int_eq(fit_prior_shifts("natural", &labels, shifts, &err), ERR_OK);
    for (unsigned c = 0; c < 3; c++)
        ck_assert_float_eq(shifts[c], 0);
}
END_TEST

START_TEST(the_equal_prior_undoes_the_datas)
{
    float shifts[3];
    struct err err = {0};
    ck_assert_int_eq(fit_prior_shifts("equal", &labels, shifts, &err), ERR_OK);
    ck_assert_double_eq_tol((double)(shifts[1] - shifts[0]), log(100.5 / 10.5), 1e-6);
    ck_assert_float_eq(shifts[1], shifts[2]);
    ck_assert_double_eq_tol((double)(shifts[0] + shifts[1] + shifts[2]), 0, 1e-6);
}
END_TEST

START_TEST(a_file_says_how_many_there_are)
{
    float shifts[3];
    struct err err = {0};
    write_prior("{\"cow\": 0, \"ant\": 1000, \"bee\": 2000}");
    ck_assert_int_eq(fit_prior_shifts(path, &labels, shifts, &err), ERR_OK);
    ck_assert_double_eq_tol((double)(shifts[1] - shifts[0]),
                            log(2000.5 / 1000.5) + log(100.5 / 10.5), 1e-5);
    ck_assert_double_eq_tol((double)(shifts[2] - shifts[1]), log(0.5 / 2000.5), 1e-5);
    tempdir_close(&dir);
}
END_TEST

static void expect_refused(const char *text, const char *why)
{
    float shifts[3];
    struct err err = {0};
    write_prior(text);
    ck_assert_int_ne(fit_prior_shifts(path, &labels, shifts, &err), ERR_OK);
    ck_assert_msg(strstr(err.text, why) != NULL && strstr(err.text, path) != NULL, "%s", err.text);
    tempdir_close(&dir);
}

START_TEST(a_file_that_says_too_little_or_nonsense_is_refused)
{
    expect_refused("{\"ant\": 1, \"bee\": 2}", "cow");
    expect_refused("{\"ant\": 1, \"bee\": 2, \"cow\": 3, \"dog\": 4}", "dog");
    expect_refused("{\"ant\": 1, \"bee\": -2, \"cow\": 3}",
                   "the count of 'bee' must be a number from 0 to 1e+15");
    expect_refused("{\"ant\": 1, \"bee\": \"2\", \"cow\": 3}", "the count of 'bee'");
    expect_refused("[1, 2, 3]", "");
    expect_refused("{\"ant\": 1", "");
    float shifts[3];
    struct err err = {0};
    ck_assert_int_eq(fit_prior_shifts("/nowhere/prior.json", &labels, shifts, &err), ERR_IO);
}
END_TEST

START_TEST(a_head_holds_for_what_was_expected)
{
    double counts[3];
    struct err err = {0};
    ck_assert_int_eq(fit_prior_counts("natural", &labels, counts, &err), ERR_OK);
    ck_assert(counts[0] == 100 && counts[1] == 10 && counts[2] == 10);
    ck_assert_int_eq(fit_prior_counts("equal", &labels, counts, &err), ERR_OK);
    ck_assert(counts[0] == 40 && counts[1] == 40 && counts[2] == 40);
    write_prior("{\"cow\": 0, \"ant\": 1000, \"bee\": 2000}");
    ck_assert_int_eq(fit_prior_counts(path, &labels, counts, &err), ERR_OK);
    ck_assert_double_eq_tol(counts[0], 40, 1e-12);
    ck_assert_double_eq_tol(counts[1], 80, 1e-12);
    ck_assert_double_eq(counts[2], 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("fit_prior", a_head_holds_for_what_was_expected, the_natural_prior_changes_nothing,
      the_equal_prior_undoes_the_datas, a_file_says_how_many_there_are,
      a_file_that_says_too_little_or_nonsense_is_refused)
