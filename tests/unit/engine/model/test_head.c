/* Logits to scores, in double by hand. */
#include "engine/model/head.h"
#include "tests/support/suite.h"

#include <math.h>

enum { LABELS = 5 };

static const float logits[LABELS] = {-3, 0.5f, 2, 0, 1.25f};

static double softmax(unsigned label, double temperature)
{
    double sum = 0;
    for (unsigned i = 0; i < LABELS; i++)
        sum += exp((double)logits[i] / temperature);
    return exp((double)logits[label] / temperature) / sum;
}

static double expected(enum spec_scores scores, unsigned label, double temperature)
{
    double x = (double)logits[label] / temperature;
    return scores == SCORES_SOFTMAX   ? softmax(label, temperature)
           : scores == SCORES_SIGMOID ? 1 / (1 + exp(-x))
                                      : x;
}

START_TEST(scores_are_the_logits_over_the_temperature_by_the_kind_of_problem)
{
    static const enum spec_scores kinds[] = {SCORES_SOFTMAX, SCORES_SIGMOID, SCORES_NONE};
    static const double temperatures[] = {1, 0.5, 2.5};
    for (size_t k = 0; k < 3; k++)
        for (size_t t = 0; t < 3; t++) {
            const struct spec spec = {
                .scores = kinds[k], .label_count = LABELS, .temperature = temperatures[t]};
            float scores[LABELS + 1];
            scores[LABELS] = 77;
            head_scores(&spec, kernels_best(), logits, scores);
            for (unsigned i = 0; i < LABELS; i++)
                ck_assert_double_eq_tol((double)scores[i], expected(kinds[k], i, temperatures[t]),
                                        1e-6);
            ck_assert_float_eq(scores[LABELS], 77);
        }
}
END_TEST

/* Bayes' rule: p(c | x) q_c / p_c, whatever the temperature. */
START_TEST(a_class_prior_weighs_scores_by_expected_over_fitted_shares)
{
    static const double ratios[LABELS] = {40, 1, 0.25, 1, 3};
    static const double temperatures[] = {1, 0.5, 2.5};
    float shifts[LABELS], scores[LABELS], fitted[LABELS];
    for (unsigned i = 0; i < LABELS; i++)
        shifts[i] = (float)log(ratios[i]);
    for (size_t t = 0; t < 3; t++) {
        const struct spec spec = {.scores = SCORES_SOFTMAX,
                                  .label_count = LABELS,
                                  .temperature = temperatures[t],
                                  .class_prior.shifts = shifts};
        double sum = 0;
        for (unsigned i = 0; i < LABELS; i++)
            sum += softmax(i, temperatures[t]) * ratios[i];
        head_scores(&spec, kernels_best(), logits, scores);
        head_scores_as_fitted(&spec, kernels_best(), logits, fitted);
        for (unsigned i = 0; i < LABELS; i++) {
            const double plain = softmax(i, temperatures[t]);
            ck_assert_double_eq_tol((double)scores[i], plain * ratios[i] / sum, 1e-6);
            ck_assert_double_eq_tol((double)fitted[i], plain, 1e-6);
        }
    }
}
END_TEST

START_TEST(windows_are_pooled_by_their_mean_or_by_the_largest_in_each_place)
{
    static const float windows[3][2] = {{1, -6}, {4, -2}, {-2, 5}};
    static const float expected[2][2] = {{4, 5}, {1, -1}};
    for (unsigned pooling = WINDOW_MAX; pooling <= WINDOW_MEAN; pooling++) {
        struct spec spec = {.family = family_find("bert", NULL),
                            .hidden = 2,
                            .long_text.pooling = (enum window_pooling)pooling};
        float read[3] = {99, 99, 77};
        for (unsigned i = 0; i < 3; i++)
            head_pool(&spec, &(struct window_place){.window = i, .windows = 3}, read, windows[i]);
        ck_assert_float_eq_tol(read[0], expected[pooling][0], 1e-6);
        ck_assert_float_eq_tol(read[1], expected[pooling][1], 1e-6);
        ck_assert_float_eq(read[2], 77);
        head_pool(&spec, &(struct window_place){.windows = 1}, read, windows[2]);
        ck_assert_mem_eq(read, windows[2], sizeof windows[2]);
    }
}
END_TEST

START_TEST(views_of_an_image_are_pooled_by_their_mean_whatever_texts_are)
{
    static const float views[2][2] = {{1, -6}, {4, -2}};
    struct spec spec = {
        .family = family_find("vit", NULL), .hidden = 2, .long_text.pooling = WINDOW_MAX};
    float read[2] = {99, 99};
    for (unsigned i = 0; i < 2; i++)
        head_pool(&spec, &(struct window_place){.window = i, .windows = 2}, read, views[i]);
    ck_assert_float_eq_tol(read[0], 2.5f, 1e-6);
    ck_assert_float_eq_tol(read[1], -4, 1e-6);
}
END_TEST

SUITE("head", scores_are_the_logits_over_the_temperature_by_the_kind_of_problem,
      a_class_prior_weighs_scores_by_expected_over_fitted_shares,
      windows_are_pooled_by_their_mean_or_by_the_largest_in_each_place,
      views_of_an_image_are_pooled_by_their_mean_whatever_texts_are)
