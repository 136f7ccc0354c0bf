/* numbers.c: the scale of what a regression learns, by hand, and numbers that cannot be learnt. */
#include "learn/train/loop/corpus.h"
#include "tests/support/suite.h"

#include <math.h>

static struct arena arena;
static struct err err;

static enum err_code fit(struct numbers *numbers, const float *targets, size_t inputs)
{
    err = (struct err){0};
    return numbers_fit(numbers, targets, inputs, &arena, &err);
}

START_TEST(numbers_are_standardised_by_mean_and_deviation_of_each_output)
{
    struct numbers numbers = {.count = 2};
    float targets[] = {1, 100, 3, 100, 5, 400}, others[] = {7, 100};
    arena_init(&arena);
    ck_assert_msg(!fit(&numbers, targets, 3), "%s", err.text);
    ck_assert_double_eq_tol(numbers.scale.mean[0], 3, 1e-12);
    ck_assert_double_eq_tol(numbers.scale.deviation[0], sqrt(8 / 3.0), 1e-12);
    ck_assert_double_eq_tol(numbers.scale.mean[1], 200, 1e-9);
    ck_assert_double_eq_tol(numbers.scale.deviation[1], sqrt(20000), 1e-9);
    numbers_standardise(&numbers, targets, 3);
    numbers_standardise(&numbers, others, 1);
    ck_assert_float_eq_tol(targets[0], (float)-sqrt(1.5), 1e-6f);
    ck_assert_float_eq_tol(targets[2], 0, 1e-6f);
    ck_assert_float_eq_tol(targets[5], (float)sqrt(2), 1e-6f);
    ck_assert_float_eq_tol(others[0], (float)sqrt(6), 1e-6f);
    arena_deinit(&arena);
}
END_TEST

START_TEST(numbers_that_cannot_be_told_apart_are_refused)
{
    struct numbers numbers = {.count = 1};
    const float equal[] = {2.5f, 2.5f, 2.5f}, close[] = {1e7f, 1e7f + 1, 1e7f + 2},
                apart[] = {1e7f, 1e7f + 1000};
    arena_init(&arena);
    ck_assert_int_eq(fit(&numbers, equal, 3), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "every input to learn has the number 2.5: nothing to learn");
    ck_assert_int_eq(fit(&numbers, close, 3), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the numbers have mean 10000001 and deviation 0.816, which fp32 "
                               "cannot tell apart. Subtract a constant from them");
    ck_assert_int_eq(fit(&numbers, apart, 2), ERR_OK);
    arena_deinit(&arena);
}
END_TEST

static void open_numbers(struct numbers *numbers, const char *label, const struct spec *source)
{
    const struct dataset_item item = {.name = "line 1", .label = label};
    const struct dataset dataset = {.items = (struct dataset_item *)(uintptr_t)&item, .count = 1};
    err = (struct err){0};
    ck_assert_msg(!numbers_open(numbers, &dataset, "yield", source, &arena, &err), "%s", err.text);
}

START_TEST(numbers_are_named_by_their_field_or_by_the_source)
{
    const char *names[] = {"thickness", "dose"};
    const struct spec labels = {.scores = SCORES_SOFTMAX, .labels = names, .label_count = 2};
    const struct spec regression = {.scores = SCORES_NONE, .labels = names, .label_count = 2};
    struct numbers numbers;
    arena_init(&arena);
    open_numbers(&numbers, "1.5", &regression);
    ck_assert_uint_eq(numbers.count, 1);
    ck_assert_str_eq(numbers.name[0], "yield");
    open_numbers(&numbers, "1|2", &labels);
    ck_assert_uint_eq(numbers.count, 2);
    ck_assert_str_eq(numbers.name[1], "yield_1");
    open_numbers(&numbers, "1|2", &regression);
    ck_assert_str_eq(numbers.name[1], "dose");
    arena_deinit(&arena);
}
END_TEST

SUITE("numbers", numbers_are_standardised_by_mean_and_deviation_of_each_output,
      numbers_that_cannot_be_told_apart_are_refused,
      numbers_are_named_by_their_field_or_by_the_source)
