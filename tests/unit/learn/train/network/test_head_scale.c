/* head_scale.h: the answers of a classifier, computed by hand, before and after the change. */
#include "learn/train/network/head_scale.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { OUTPUTS = 2, HIDDEN = 20 };

static struct parameters parameters;
static double mean[OUTPUTS] = {-3, 20000}, deviation[OUTPUTS] = {0.25, 700};
static const struct head_scale scale = {OUTPUTS, mean, deviation};

static void open_parameters(const struct spec *spec)
{
    struct err err = {0};
    ck_assert_msg(!parameters_open(&parameters, spec, HEAD_CLASSIFIER, &err), "%s", err.text);
    numbers_fill(parameters.values, parameters.numbers, 1, 5);
}

static void open_bert(void)
{
    const struct spec spec = {.family = family_find("bert", NULL),
                              .layers = 1,
                              .heads = 2,
                              .hidden = HIDDEN,
                              .intermediate = 24,
                              .qkv_bias = true,
                              .vocab_size = 30,
                              .positions = 12,
                              .token_types = 2,
                              .scores = SCORES_NONE,
                              .label_count = OUTPUTS};
    open_parameters(&spec);
}

/* The answer of output k for features of 1, 2, 3 and so on. */
static double answer(size_t weight, size_t bias, unsigned k)
{
    double sum = (double)parameters.values[bias + k];
    for (unsigned i = 0; i < HIDDEN; i++)
        sum += (double)parameters.values[weight + k * HIDDEN + i] * (i + 1);
    return sum;
}

static double classifier_answer(unsigned k)
{
    return answer(parameters.map.classifier_weight, parameters.map.classifier_bias, k);
}

START_TEST(head_scale_folds_the_unit_into_the_answers)
{
    open_bert();
    float *before = numbers_new(parameters.numbers, 1, 5);
    double z[OUTPUTS];
    for (unsigned k = 0; k < OUTPUTS; k++)
        z[k] = classifier_answer(k);
    head_scale_fold(&scale, &parameters, parameters.values);
    for (unsigned k = 0; k < OUTPUTS; k++)
        ck_assert_double_eq_tol((classifier_answer(k) - mean[k]) / deviation[k], z[k], 1e-4);
    size_t changed = 0;
    for (size_t i = 0; i < parameters.numbers; i++)
        changed += before[i] != parameters.values[i];
    ck_assert_uint_eq(changed, OUTPUTS * (HIDDEN + 1)); /* the rest of the model stays */
    head_scale_remove(&scale, &parameters, parameters.values);
    for (unsigned k = 0; k < OUTPUTS; k++)
        ck_assert_double_eq_tol(classifier_answer(k), z[k], 1e-4);
    free(before);
    parameters_close(&parameters);
}
END_TEST

/* Its answer is the mean of two classifiers. */
START_TEST(head_scale_changes_both_classifiers_of_a_distilled_deit)
{
    const struct spec spec = {.family =
                                  family_find("deit", "DeiTForImageClassificationWithTeacher"),
                              .layers = 1,
                              .heads = 2,
                              .hidden = HIDDEN,
                              .intermediate = 24,
                              .qkv_bias = true,
                              .image_size = {8, 8},
                              .patch = {4, 4},
                              .channels = 3,
                              .patches = 4,
                              .scores = SCORES_NONE,
                              .label_count = OUTPUTS};
    open_parameters(&spec);
    const struct parameters_map *map = &parameters.map;
    ck_assert(map->distillation_weight != SIZE_MAX);
    double z[OUTPUTS];
    for (unsigned k = 0; k < OUTPUTS; k++)
        z[k] =
            (classifier_answer(k) + answer(map->distillation_weight, map->distillation_bias, k)) /
            2;
    head_scale_fold(&scale, &parameters, parameters.values);
    for (unsigned k = 0; k < OUTPUTS; k++) {
        double y =
            (classifier_answer(k) + answer(map->distillation_weight, map->distillation_bias, k)) /
            2;
        ck_assert_double_eq_tol((y - mean[k]) / deviation[k], z[k], 1e-4);
    }
    parameters_close(&parameters);
}
END_TEST

START_TEST(head_scale_of_a_cleared_head_answers_the_mean)
{
    open_bert();
    head_scale_clear(&parameters, parameters.values);
    head_scale_fold(&scale, &parameters, parameters.values);
    for (unsigned k = 0; k < OUTPUTS; k++)
        ck_assert_double_eq(classifier_answer(k), mean[k]);
    parameters_close(&parameters);
}
END_TEST

SUITE("head_scale", head_scale_folds_the_unit_into_the_answers,
      head_scale_changes_both_classifiers_of_a_distilled_deit,
      head_scale_of_a_cleared_head_answers_the_mean)
