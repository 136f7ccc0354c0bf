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

START_TEST(features_are_those_of_the_pooler_or_of_the_class_token)
{
    static const struct family pooled = {.tensors[TENSOR_POOLER] = "pooler"}, plain = {0};
    float cls[6] = {0}, pooler[6] = {0};
    const struct workspace workspace = {.cls = cls, .pooled = pooler};
    struct spec spec = {.family = &pooled, .hidden = 3};
    ck_assert_ptr_eq(head_features(&spec, &workspace, 0), pooler);
    ck_assert_ptr_eq(head_features(&spec, &workspace, 1), pooler + 3);
    spec.family = &plain;
    ck_assert_ptr_eq(head_features(&spec, &workspace, 0), cls);
    ck_assert_ptr_eq(head_features(&spec, &workspace, 1), cls + 3);
}
END_TEST

SUITE("head", scores_are_the_logits_over_the_temperature_by_the_kind_of_problem,
      features_are_those_of_the_pooler_or_of_the_class_token)
