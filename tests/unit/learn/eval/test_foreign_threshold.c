#include "learn/eval/foreign.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { COUNT = 200, LABELS = 2, NONE = LABELS };

/* The goal is the share alone, without a bound: a threshold can be counted by hand. */
static const struct selective_goal goal = {.target_precision = 0.9};

static float known_logits[COUNT * LABELS], foreign_logits[COUNT * LABELS], thresholds[LABELS];
static float validation[LABELS]; /* thresholds of the validation inputs alone */
static unsigned known_classes[COUNT], foreign_classes[COUNT];
static struct err err;

/* Scores as the logits' lead has them. */
static float score_of(float lead)
{
    return (float)(1 / (1 + exp(-(double)lead)));
}

static void put(float *logits, unsigned *classes, size_t at, unsigned label, float lead,
                unsigned class)
{
    logits[at * LABELS + label] = lead;
    logits[at * LABELS + (1 - label)] = 0;
    classes[at] = class;
}

/* A hundred of each label, all right, with leads of 0.01 to 1. */
static void fill_known(void)
{
    err = (struct err){0};
    for (unsigned c = 0; c < LABELS; c++)
        validation[c] = score_of(0.01f);
    for (unsigned i = 0; i < COUNT; i++)
        put(known_logits, known_classes, i, i / 100, 0.01f * (float)(i % 100 + 1), i / 100);
}

/* All foreign inputs get label 0. */
static void fill_foreign(size_t count, float lead)
{
    for (size_t i = 0; i < count; i++)
        put(foreign_logits, foreign_classes, i, 0, lead, NONE);
}

static struct calibration_set set_of(const float *logits, const unsigned *classes, size_t count)
{
    return (struct calibration_set){
        .logits = logits, .classes = classes, .count = count, .label_count = LABELS};
}

static void choose(size_t known_count, size_t foreign_count, bool sigmoid)
{
    struct calibration_set known = set_of(known_logits, known_classes, known_count);
    struct calibration_set foreign = set_of(foreign_logits, foreign_classes, foreign_count);
    known.sigmoid = foreign.sigmoid = sigmoid;
    memcpy(thresholds, validation, sizeof thresholds);
    ck_assert_msg(!foreign_raise(thresholds, &known, &foreign, 1, &goal, &err), "%s", err.text);
}

START_TEST(without_foreign_inputs_thresholds_stay)
{
    fill_known();
    choose(COUNT, 0, false);
    for (unsigned c = 0; c < LABELS; c++)
        ck_assert_float_eq_tol(thresholds[c], score_of(0.01f), 1e-6f);
}
END_TEST

/* The validation inputs alone would have lower ones, and so would they with these. */
START_TEST(no_threshold_gets_lower)
{
    fill_known();
    fill_foreign(5, 0.405f);
    validation[0] = 0.7f;
    choose(COUNT, 5, false);
    ck_assert_float_eq(thresholds[0], 0.7f);
}
END_TEST

/* Sixty answers are above the foreign ones, forty below: with 5 the precision is 60 of 65 and 100
 * of 105, with 20 it is 60 of 80 and 100 of 120. */
START_TEST(a_threshold_rises_above_foreign_inputs_that_would_spoil_the_precision)
{
    fill_known();
    fill_foreign(20, 0.405f);
    choose(COUNT, 5, false);
    ck_assert_float_eq_tol(thresholds[0], score_of(0.01f), 1e-6f);
    choose(COUNT, 20, false);
    ck_assert_float_eq_tol(thresholds[0], score_of(0.41f), 1e-6f);
    ck_assert_float_eq_tol(thresholds[1], score_of(0.01f), 1e-6f);
}
END_TEST

START_TEST(a_label_whose_surest_answers_are_foreign_is_never_automatic)
{
    fill_known();
    fill_foreign(20, 2);
    choose(COUNT, 20, false);
    ck_assert(isnan(thresholds[0]));
    ck_assert_float_eq_tol(thresholds[1], score_of(0.01f), 1e-6f);
}
END_TEST

/* Known answers of label 0 are all wrong: the label is never automatic, and stays so. */
START_TEST(foreign_inputs_make_no_label_automatic)
{
    fill_known();
    for (unsigned i = 0; i < 100; i++)
        known_classes[i] = 1;
    validation[0] = NAN;
    fill_foreign(20, 0.405f);
    choose(COUNT, 20, false);
    ck_assert(isnan(thresholds[0]));
}
END_TEST

/* Each label of an input is judged by itself: label 1 is as sure of the foreign inputs (0.5) as of
 * none that it should be. */
START_TEST(independent_labels_are_judged_each_by_itself)
{
    fill_known();
    fill_foreign(20, 0.405f);
    choose(COUNT, 20, true);
    ck_assert_float_eq_tol(thresholds[0], score_of(0.41f), 1e-6f);
    ck_assert_float_eq_tol(thresholds[1], score_of(0.01f), 1e-6f);
}
END_TEST

START_TEST(foreign_automatic_counts_by_the_threshold_of_the_winner)
{
    const float given[LABELS] = {0.6f, NAN};
    size_t automatic;
    fill_known();
    const struct calibration_set known = set_of(known_logits, known_classes, COUNT);
    ck_assert(!foreign_automatic(&automatic, &known, 1, given, &err));
    ck_assert_uint_eq(automatic, 60); /* leads of 0.41 and more; of label 1 none */
    ck_assert(!foreign_automatic(&automatic, &known, 1e-3, given, &err));
    ck_assert_uint_eq(automatic, 100);
}
END_TEST

SUITE("foreign_threshold", without_foreign_inputs_thresholds_stay, no_threshold_gets_lower,
      a_threshold_rises_above_foreign_inputs_that_would_spoil_the_precision,
      a_label_whose_surest_answers_are_foreign_is_never_automatic,
      foreign_inputs_make_no_label_automatic, independent_labels_are_judged_each_by_itself,
      foreign_automatic_counts_by_the_threshold_of_the_winner)
