/* logit_adjustment.h: a shift taken from the logits is found again, and no winner changes without a
 * gain. */
#include "engine/base/rng.h"
#include "learn/eval/fit/logit_adjustment.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 3000, LABELS = 4 };

/* Three in four inputs are of class 0; each class's logit is 2 higher where it is true, with noise
 * of deviation 1, and `lift` is added to the rare ones. */
static void fill(float *logits, unsigned *classes, float lift)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct rng rng = rng_for(3, 0, i);
        unsigned draw = rng_below(&rng, 12);
        classes[i] = draw < 9 ? 0 : draw - 8;
        for (unsigned k = 0; k < LABELS; k++)
            logits[i * LABELS + k] = rng_normal(&rng) + 3 * (k == classes[i]) + (k > 0 ? lift : 0);
    }
}

static double exhaustive(const struct calibration_set *set, const float *shifts)
{
    size_t support[LABELS] = {0}, given[LABELS] = {0}, hits[LABELS] = {0};
    double sum = 0;
    for (size_t i = 0; i < set->count; i++) {
        unsigned best = 0;
        for (unsigned k = 1; k < LABELS; k++)
            if (set->logits[i * LABELS + k] + shifts[k] >
                set->logits[i * LABELS + best] + shifts[best])
                best = k;
        support[set->classes[i]]++;
        given[best]++;
        hits[best] += best == set->classes[i];
    }
    for (unsigned k = 0; k < LABELS; k++)
        sum += 2.0 * (double)hits[k] / (double)(support[k] + given[k]) / LABELS;
    return sum;
}

static struct logit_adjustment fit(float lift, float *shifts)
{
    float *logits = malloc(COUNT * LABELS * sizeof *logits);
    unsigned *classes = malloc(COUNT * sizeof *classes);
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = COUNT, .label_count = LABELS};
    struct logit_adjustment biases;
    struct err err = {0};
    fill(logits, classes, lift);
    ck_assert_int_eq(logit_adjustment_fit(&biases, &set, shifts, &err), ERR_OK);
    ck_assert_double_eq_tol(biases.before, exhaustive(&set, (float[LABELS]){0}), 1e-12);
    ck_assert_double_eq_tol(biases.after, exhaustive(&set, shifts), 0.002);
    free(logits);
    free(classes);
    return biases;
}

START_TEST(a_lift_of_the_rare_classes_is_taken_back)
{
    float shifts[LABELS];
    struct logit_adjustment biases = fit(2, shifts);
    ck_assert_double_gt(biases.after, biases.before + 0.05);
    for (unsigned k = 1; k < LABELS; k++)
        ck_assert_float_gt(shifts[0], shifts[k] + 1);
}
END_TEST

START_TEST(crossed_figures_flatter_less)
{
    float shifts[LABELS];
    struct logit_adjustment biases = fit(2, shifts);
    ck_assert_double_le(biases.crossed, biases.after + 1e-9);
    ck_assert_double_gt(biases.crossed, biases.before + 0.05);
}
END_TEST

START_TEST(shifts_have_no_mean)
{
    float shifts[LABELS];
    fit(1, shifts);
    ck_assert_float_eq_tol(shifts[0] + shifts[1] + shifts[2] + shifts[3], 0, 1e-4f);
}
END_TEST

START_TEST(a_perfect_model_is_left_alone)
{
    float logits[] = {5, 0, 0, 5, 5, 0, 0, 5}, shifts[2];
    unsigned classes[] = {0, 1, 0, 1};
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = 4, .label_count = 2};
    struct logit_adjustment biases;
    struct err err = {0};
    ck_assert_int_eq(logit_adjustment_fit(&biases, &set, shifts, &err), ERR_OK);
    ck_assert_double_eq(biases.after, 1);
    ck_assert_float_eq(shifts[0], 0);
    ck_assert_float_eq(shifts[1], 0);
}
END_TEST

SUITE("biases", a_lift_of_the_rare_classes_is_taken_back, crossed_figures_flatter_less,
      shifts_have_no_mean, a_perfect_model_is_left_alone)
