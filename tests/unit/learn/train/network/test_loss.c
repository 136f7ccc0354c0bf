/* loss.h: values by hand, gradients by central differences. */
#include "learn/train/network/loss.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { LABELS = 5 };

static const float class_weights[LABELS] = {1, 0.5f, 2, 3, 0.25f};
static const float adjustment[LABELS] = {-0.5f, -3, -1.25f, -2, 0};

/* dL/dz against (L(z + h) - L(z - h)) / 2h. The loss is computed in double from fp32 logits, so
 * that with h = 2^-8, which fp32 logits take exactly enough, only the third derivative is left. */
static void check_gradient(const struct loss *loss, const float *target, const float *teacher)
{
    float logits[LABELS], dlogits[LABELS], unused[LABELS];
    numbers_fill(logits, LABELS, 3, 11);
    loss_run(loss, logits, target, teacher, 0.5f, dlogits);
    for (unsigned k = 0; k < LABELS; k++) {
        const float step = 0x1p-8f, z = logits[k];
        logits[k] = z + step;
        double above = loss_run(loss, logits, target, teacher, 1, unused);
        logits[k] = z - step;
        double below = loss_run(loss, logits, target, teacher, 1, unused);
        logits[k] = z;
        double slope = 0.5 * (above - below) / (2 * (double)step);
        ck_assert_msg(fabs(slope - dlogits[k]) < 2e-4, "label %u: %g instead of %g", k, dlogits[k],
                      slope);
    }
}

START_TEST(cross_entropy_of_even_logits_is_log_of_the_labels)
{
    const struct loss loss = {.scores = SCORES_SOFTMAX, .labels = LABELS};
    const float logits[LABELS] = {1, 1, 1, 1, 1}, target[LABELS] = {0, 1, 0, 0, 0};
    float dlogits[LABELS];
    ck_assert_double_lt(fabs(loss_run(&loss, logits, target, NULL, 1, dlogits) - log(5)), 1e-12);
    ck_assert_double_lt(fabs(dlogits[0] - 0.2), 1e-7);
    ck_assert_double_lt(fabs(dlogits[1] + 0.8), 1e-7);
}
END_TEST

START_TEST(huge_logits_do_not_overflow)
{
    struct loss loss = {.scores = SCORES_SOFTMAX, .labels = LABELS};
    const float logits[LABELS] = {1e30f, -1e30f, 0, 3e4f, -3e4f}, target[LABELS] = {1, 0, 0, 0, 0};
    float dlogits[LABELS];
    ck_assert_double_eq(loss_run(&loss, logits, target, NULL, 1, dlogits), 0);
    loss.scores = SCORES_SIGMOID;
    double value = loss_run(&loss, logits, target, NULL, 1, dlogits);
    ck_assert(isfinite(value));
    for (unsigned k = 0; k < LABELS; k++)
        ck_assert(isfinite(dlogits[k]));
}
END_TEST

START_TEST(gradients_are_slopes)
{
    const float one[LABELS] = {0, 0, 1, 0, 0}, several[LABELS] = {1, 0, 1, 0, 0};
    const float teacher[LABELS] = {0.3f, -1, 2, 0.5f, 1};
    struct loss loss = {.scores = SCORES_SOFTMAX, .labels = LABELS};
    check_gradient(&loss, one, NULL);
    loss.smoothing = 0.1f;
    check_gradient(&loss, one, NULL);
    loss.weights = class_weights;
    check_gradient(&loss, one, NULL);
    loss.adjustment = adjustment;
    check_gradient(&loss, one, NULL);
    loss.teacher_share = 0.7f;
    loss.teacher_temperature = 3;
    check_gradient(&loss, one, teacher);
    loss.scores = SCORES_SIGMOID;
    check_gradient(&loss, several, NULL);
    const float numbers[LABELS] = {0.5f, -2, 0, 1.25f, 3};
    check_gradient(&(struct loss){.scores = SCORES_NONE, .labels = LABELS}, numbers, NULL);
}
END_TEST

START_TEST(square_error_is_the_mean_over_the_outputs)
{
    const struct loss loss = {.scores = SCORES_NONE, .labels = 2};
    const float logits[2] = {1, -2}, target[2] = {0.5f, 1};
    float dlogits[2];
    ck_assert_double_eq_tol(loss_run(&loss, logits, target, NULL, 0.25f, dlogits), 9.25 / 2, 1e-12);
    ck_assert_float_eq_tol(dlogits[0], 0.125f, 1e-7f);
    ck_assert_float_eq_tol(dlogits[1], -0.75f, 1e-7f);
}
END_TEST

START_TEST(class_weights_multiply_the_loss)
{
    struct loss loss = {.scores = SCORES_SOFTMAX, .labels = LABELS};
    const float logits[LABELS] = {1, 2, 0, -1, 0.5f}, target[LABELS] = {0, 0, 0, 1, 0};
    float plain[LABELS], weighted[LABELS];
    double value = loss_run(&loss, logits, target, NULL, 1, plain);
    loss.weights = class_weights;
    ck_assert_double_lt(fabs(loss_run(&loss, logits, target, NULL, 1, weighted) - 3 * value), 1e-9);
    for (unsigned k = 0; k < LABELS; k++)
        ck_assert_double_lt(fabs(weighted[k] - 3 * plain[k]), 1e-6);
}
END_TEST

START_TEST(a_teacher_with_the_same_logits_leaves_no_gradient)
{
    const struct loss loss = {
        .scores = SCORES_SOFTMAX, .labels = LABELS, .teacher_share = 1, .teacher_temperature = 2};
    const float logits[LABELS] = {1, 2, 0, -1, 0.5f}, target[LABELS] = {0, 0, 0, 1, 0};
    float dlogits[LABELS];
    loss_run(&loss, logits, target, logits, 1, dlogits);
    for (unsigned k = 0; k < LABELS; k++)
        ck_assert_double_lt(fabs(dlogits[k]), 1e-7);
}
END_TEST

START_TEST(the_loss_of_a_word_is_cross_entropy)
{
    const struct loss loss = {.scores = SCORES_SOFTMAX, .labels = LABELS};
    const float target[LABELS] = {0, 0, 0, 1, 0};
    for (int i = 0; i < 2; i++) { /* without label smoothing, and with it */
        float logits[LABELS] = {1, 2, 0, -1, 0.5f}, dlogits[LABELS];
        struct loss own = loss;
        own.smoothing = (float)i * 0.2f;
        double value = loss_run(&own, logits, target, NULL, 0.25f, dlogits);
        ck_assert_double_lt(fabs(loss_word(logits, LABELS, 3, own.smoothing, 0.25f) - value), 1e-6);
        for (unsigned k = 0; k < LABELS; k++)
            ck_assert_double_lt(fabs(logits[k] - dlogits[k]), 1e-6);
    }
}
END_TEST

/* ---- against the formulas of loss.h ---- */

static double softmax_of(const double *z, unsigned k)
{
    double sum = 0;
    for (unsigned i = 0; i < LABELS; i++)
        sum += exp(z[i]);
    return exp(z[k]) / sum;
}

/* L and dL/dz of one input, term by term. */
static double reference(const struct loss *loss, const float *logits, const float *target,
                        const float *teacher, double *slopes)
{
    double z[LABELS], t[LABELS], s = (double)loss->smoothing, value = 0, weight = 0, given = 0;
    double a = teacher != NULL ? (double)loss->teacher_share : 0;
    double heat = teacher != NULL ? (double)loss->teacher_temperature : 1, warm[LABELS],
           own[LABELS];
    for (unsigned k = 0; k < LABELS; k++) {
        z[k] = (double)logits[k];
        own[k] = z[k] + (loss->adjustment != NULL ? (double)loss->adjustment[k] : 0);
        warm[k] = z[k] / heat;
        t[k] = teacher != NULL ? (double)teacher[k] / heat : 0;
        weight += (double)(target[k] * (loss->weights != NULL ? loss->weights[k] : 1));
        given += (double)target[k];
    }
    weight = given > 0 ? weight / given : 1;
    for (unsigned k = 0; k < LABELS; k++) {
        bool softmax = loss->scores == SCORES_SOFTMAX;
        double p = softmax ? softmax_of(own, k) : 1 / (1 + exp(-z[k]));
        double q = (1 - s) * (double)target[k] + s / (softmax ? LABELS : 2);
        if (!softmax) {
            value -= (q * log(p) + (1 - q) * log(1 - p)) / LABELS;
            slopes[k] = weight * (p - q) / LABELS;
            continue;
        }
        double taught = softmax_of(t, k), learnt = softmax_of(warm, k);
        value -= (1 - a) * q * log(p) + a * heat * heat * taught * log(learnt);
        slopes[k] = weight * ((1 - a) * (p - q) + a * heat * (learnt - taught));
    }
    return weight * value;
}

/* Each label in turn is the true one, then some of them together, then none. */
START_TEST(losses_are_those_of_the_formulas)
{
    static const float targets[][LABELS] = {
        {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}, {1, 0, 1}, {0, 1, 1, 1, 1}, {0}};
    static const float logits[LABELS] = {1.5f, -0.25f, 0.5f, -2, 0.125f};
    static const float teacher[LABELS] = {0.5f, 1, -1.5f, 0.25f, 2};
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) {
            struct loss loss = {.scores = kind == 1 ? SCORES_SIGMOID : SCORES_SOFTMAX,
                                .labels = LABELS,
                                .smoothing = 0.25f,
                                .weights = i == 1 ? NULL : class_weights,
                                .adjustment = i % 2 == 0 ? NULL : adjustment,
                                .teacher_share = 0.375f,
                                .teacher_temperature = 2.5f};
            const float *says = kind == 2 ? teacher : NULL;
            double slopes[LABELS], want = reference(&loss, logits, targets[i], says, slopes);
            float found[LABELS];
            ck_assert_double_eq_tol(loss_run(&loss, logits, targets[i], says, 0.125f, found), want,
                                    1e-6 * fabs(want) + 1e-7);
            for (unsigned k = 0; k < LABELS; k++)
                ck_assert_double_eq_tol((double)found[k], 0.125 * slopes[k], 1e-7);
        }
}
END_TEST

/* ---- a toy problem ---- */

enum { TOY_INPUTS = 3, TOY_LABELS = 3 };
static const double toy_prior[TOY_LABELS] = {0.9, 0.08, 0.02};
static const double toy_likelihood[TOY_LABELS][TOY_INPUTS] = {
    {0.7, 0.2, 0.1}, {0.2, 0.6, 0.2}, {0.1, 0.3, 0.6}};

/* Softmax of the logits that are best for one input of the toy problem, all of its labels weighing
 * what they occur; found by descent. */
static void learn_toy(const struct loss *loss, unsigned input, double found[LABELS])
{
    double seen = 0, z[LABELS] = {0};
    float logits[TOY_LABELS] = {0}, slopes[TOY_LABELS];
    for (unsigned y = 0; y < TOY_LABELS; y++)
        seen += toy_prior[y] * toy_likelihood[y][input];
    for (unsigned step = 0; step < 60000; step++) {
        for (unsigned k = 0; k < TOY_LABELS; k++)
            logits[k] = (float)z[k];
        for (unsigned y = 0; y < TOY_LABELS; y++) {
            float target[TOY_LABELS] = {0}, share;
            share = (float)(toy_prior[y] * toy_likelihood[y][input] / seen);
            target[y] = 1;
            loss_run(loss, logits, target, NULL, share, slopes);
            for (unsigned k = 0; k < TOY_LABELS; k++)
                z[k] -= (double)slopes[k];
        }
    }
    for (unsigned k = TOY_LABELS; k < LABELS; k++)
        z[k] = -1e3;
    for (unsigned k = 0; k < TOY_LABELS; k++)
        found[k] = softmax_of(z, k);
}

/* The posterior of this input under another prior. */
static double toy_posterior(const double prior[TOY_LABELS], unsigned input, unsigned label)
{
    double sum = 0;
    for (unsigned y = 0; y < TOY_LABELS; y++)
        sum += prior[y] * toy_likelihood[y][input];
    return prior[label] * toy_likelihood[label][input] / sum;
}

/* tau 1 serves the answer to balanced classes, also when the losses are weighted, tau 1/2 that to
 * the roots of the prior, and tau 0 that to the data. */
START_TEST(an_adjusted_loss_is_least_where_the_prior_is_gone)
{
    static const float weights[TOY_LABELS] = {0.5f, 2, 8};
    static const double taus[] = {0, 0.5, 1, 1};
    for (unsigned i = 0; i < 4; i++) {
        float offsets[TOY_LABELS];
        double left[TOY_LABELS], found[LABELS];
        for (unsigned y = 0; y < TOY_LABELS; y++) {
            double prior = toy_prior[y] * (i == 3 ? (double)weights[y] : 1);
            offsets[y] = (float)(taus[i] * log(prior));
            left[y] = pow(prior, 1 - taus[i]);
        }
        const struct loss loss = {.scores = SCORES_SOFTMAX,
                                  .labels = TOY_LABELS,
                                  .weights = i == 3 ? weights : NULL,
                                  .adjustment = offsets};
        for (unsigned input = 0; input < TOY_INPUTS; input++) {
            learn_toy(&loss, input, found);
            for (unsigned y = 0; y < TOY_LABELS; y++)
                ck_assert_double_eq_tol(found[y], toy_posterior(left, input, y), 1e-4);
        }
    }
}
END_TEST

/* The largest logit first, in the middle and last; ten times as large as fp32's exp can take. */
START_TEST(the_loss_of_a_word_is_minus_the_log_of_its_share)
{
    for (unsigned word = 0; word < LABELS; word++) {
        float logits[LABELS] = {1000, 1000, 1000, 1000, 1000}, want = logf(4 + expf(-3)) + 3;
        logits[word] -= 3;
        double share = exp(-3) / (4 + exp(-3));
        ck_assert_double_eq_tol(loss_word(logits, LABELS, word, 0, 0.5f), (double)want, 1e-6);
        for (unsigned k = 0; k < LABELS; k++)
            ck_assert_double_eq_tol((double)logits[k],
                                    0.5 * (k == word ? share - 1 : (1 - share) / 4), 1e-4);
    }
}
END_TEST

SUITE("loss", cross_entropy_of_even_logits_is_log_of_the_labels, huge_logits_do_not_overflow,
      gradients_are_slopes, square_error_is_the_mean_over_the_outputs,
      class_weights_multiply_the_loss, a_teacher_with_the_same_logits_leaves_no_gradient,
      the_loss_of_a_word_is_cross_entropy, losses_are_those_of_the_formulas,
      an_adjusted_loss_is_least_where_the_prior_is_gone,
      the_loss_of_a_word_is_minus_the_log_of_its_share)
