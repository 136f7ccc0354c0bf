#include "learn/eval/fit/outlier_threshold.h"
#include "tests/support/suite.h"

#include <math.h>

enum { COUNT = 1000, LABELS = 3 };

static float scores[COUNT];
static unsigned labels[COUNT];
static struct ood ood;
static struct arena arena;
static struct err err;

static void setup(void)
{
    err = (struct err){0};
    ood = (struct ood){.method = OOD_ENERGY, .label_count = LABELS};
    arena_deinit(&arena);
    arena_init(&arena);
}

static struct outlier_answers answers_of(size_t count)
{
    return (struct outlier_answers){.scores = scores, .labels = labels, .count = count};
}

static void fit(size_t count, double share)
{
    const struct outlier_answers answers = answers_of(count);
    ck_assert_msg(!outlier_threshold_fit(&ood, &answers, share, &arena, &err), "%s", err.text);
}

static void spare(size_t count, double share_max)
{
    const struct outlier_answers answers = answers_of(count);
    ck_assert_msg(!outlier_threshold_spare(&ood, &answers, share_max, &arena, &err), "%s",
                  err.text);
}

static unsigned above(size_t count, unsigned label)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++)
        found += labels[i] == label && scores[i] > ood_threshold(&ood, label);
    return found;
}

START_TEST(a_threshold_is_exceeded_by_the_share_left)
{
    setup();
    for (unsigned i = 0; i < COUNT; i++)
        scores[i] = (float)(i * 617 % COUNT);
    fit(COUNT, 0.99);
    ck_assert(ood.has_threshold && ood.threshold == 989); /* 990 to 999 exceed it */
    ck_assert_uint_eq(ood.quantile_count, OUTLIER_QUANTILES);
    ck_assert(ood.quantiles[0] == 0 && ood.quantiles[100] == 999);
    ck_assert_double_eq_tol((double)ood_rank(&ood, 499.5f), 0.5, 1e-3);
    ck_assert(scores[1] == 617); /* they stay in their order */
    scores[0] = 7;
    fit(1, 0.5);
    ck_assert(ood.threshold == 7 && ood.quantiles[50] == 7);
}
END_TEST

START_TEST(no_answers_have_no_threshold)
{
    const struct outlier_answers none = {0};
    setup();
    ck_assert_int_eq(outlier_threshold_fit(&ood, &none, 0.5, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no inputs to choose a threshold from");
}
END_TEST

/* 0.55 of 100 is a little more than 55 in doubles, and no 56th is needed. */
START_TEST(a_threshold_is_the_lowest_that_the_share_does_not_exceed)
{
    static const struct {
        double share;
        float threshold;
    } cases[] = {{0, 0},     {0.01, 0},   {0.011, 1}, {0.54, 53},
                 {0.55, 54}, {0.551, 55}, {0.99, 98}, {1, 99}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        for (unsigned k = 0; k < 100; k++)
            scores[k] = (float)(99 - k);
        fit(100, cases[i].share);
        ck_assert(ood.has_threshold);
        ck_assert_float_eq(ood.threshold, cases[i].threshold);
    }
}
END_TEST

/* The scores 0, 10 and 30: the quantiles rise by 0.2 up to the middle, and by 0.4 from there. */
START_TEST(quantiles_lie_on_lines_between_scores)
{
    setup();
    scores[0] = 30, scores[1] = 0, scores[2] = 10, scores[3] = -5;
    fit(3, 1);
    for (unsigned i = 0; i < OUTLIER_QUANTILES; i++)
        ck_assert_double_eq_tol((double)ood.quantiles[i], i <= 50 ? 0.2 * i : 0.4 * i - 10, 1e-5);
}
END_TEST

/* 900 answers of label 0 score below 900, 80 of label 1 and 20 of label 2 above it. */
static void lay_out_rare_labels(void)
{
    setup();
    for (unsigned i = 0; i < COUNT; i++) {
        scores[i] = (float)(i * 617 % COUNT);
        labels[i] = scores[i] < 900 ? 0 : scores[i] < 980 ? 1 : 2;
    }
}

START_TEST(a_label_that_would_lose_too_much_has_a_higher_threshold)
{
    lay_out_rare_labels();
    fit(COUNT, 0.95);
    ck_assert_uint_eq(above(COUNT, 1), 30); /* 950 to 979, and all of label 2 */
    ck_assert_uint_eq(above(COUNT, 2), 20);
    spare(COUNT, 0.1);
    ck_assert_uint_eq(above(COUNT, 0), 0);
    ck_assert_uint_eq(above(COUNT, 1), 8);
    ck_assert_uint_eq(above(COUNT, 2), 2);
    ck_assert(isnan(ood.label_thresholds[0]));
    ck_assert(ood.label_thresholds[1] == 971 && ood.label_thresholds[2] == 997);
}
END_TEST

START_TEST(a_label_of_few_answers_keeps_the_threshold_for_all)
{
    lay_out_rare_labels();
    for (unsigned i = 0; i < COUNT; i++) /* one less than OUTLIER_ANSWERS_MIN */
        if (scores[i] == 980)
            labels[i] = 1;
    fit(COUNT, 0.95);
    spare(COUNT, 0.1);
    ck_assert(isnan(ood.label_thresholds[2]) && !isnan(ood.label_thresholds[1]));
    ck_assert_uint_eq(above(COUNT, 2), 19);
}
END_TEST

START_TEST(labels_that_lose_little_have_no_threshold_of_their_own)
{
    setup();
    for (unsigned i = 0; i < COUNT; i++) {
        scores[i] = (float)i;
        labels[i] = i % LABELS;
    }
    fit(COUNT, 0.95);
    spare(COUNT, 0.1);
    ck_assert_ptr_null(ood.label_thresholds);
    spare(COUNT, 0.01);
    ck_assert_ptr_nonnull(ood.label_thresholds);
    fit(COUNT, 0.95); /* and a new one for all takes the place of each */
    ck_assert_ptr_null(ood.label_thresholds);
}
END_TEST

SUITE("outlier_threshold", a_threshold_is_exceeded_by_the_share_left, no_answers_have_no_threshold,
      a_threshold_is_the_lowest_that_the_share_does_not_exceed,
      quantiles_lie_on_lines_between_scores,
      a_label_that_would_lose_too_much_has_a_higher_threshold,
      a_label_of_few_answers_keeps_the_threshold_for_all,
      labels_that_lose_little_have_no_threshold_of_their_own)
