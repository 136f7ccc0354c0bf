/* optimizer.h over the parameters of a tiny BERT: who decays, who rests, who is slower. */
#include "engine/train/optimizer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct parameters parameters;
    struct optimizer optimizer;
    struct team *team;
    float *gradient, *before;
};

static void open_fixture(struct fixture *f, const struct optimizer_options *options)
{
    struct err err = {0};
    struct spec spec = {.family = family_find("bert", NULL),
                        .layers = 2,
                        .heads = 2,
                        .hidden = 16,
                        .intermediate = 32,
                        .qkv_bias = true,
                        .vocab_size = 11,
                        .positions = 8,
                        .token_types = 2,
                        .label_count = 3};
    *f = (struct fixture){0};
    ck_assert_int_eq(parameters_open(&f->parameters, &spec, PARAMETERS_CLASSIFIER, &err), ERR_OK);
    parameters_init(&f->parameters, 1);
    for (unsigned i = 0; i < f->parameters.count; i++) /* biases and betas too have a size */
        for (size_t k = 0; k < f->parameters.list[i].count; k++)
            f->parameters.values[f->parameters.list[i].offset + k] += 0.5f;
    ck_assert_int_eq(optimizer_open(&f->optimizer, &f->parameters, options, &err), ERR_OK);
    ck_assert_int_eq(team_open(&f->team, 2, &err), ERR_OK);
    f->gradient = calloc(f->parameters.numbers, sizeof(float));
    f->before = malloc(f->parameters.numbers * sizeof(float));
    memcpy(f->before, f->parameters.values, f->parameters.numbers * sizeof(float));
}

static void close_fixture(struct fixture *f)
{
    optimizer_close(&f->optimizer);
    parameters_close(&f->parameters);
    team_close(f->team);
    free(f->gradient);
    free(f->before);
}

static void fill_gradient(struct fixture *f, float value)
{
    for (unsigned i = 0; i < f->parameters.count; i++)
        for (size_t k = 0; k < f->parameters.list[i].count; k++)
            f->gradient[f->parameters.list[i].offset + k] = value;
}

/* How far the first number of a tensor has gone down. */
static float moved(const struct fixture *f, const struct parameter *tensor)
{
    return f->before[tensor->offset] - f->parameters.values[tensor->offset];
}

/* AdamW's first step is the rate, whatever the gradient's size. */
static const struct optimizer_options plain = {
    .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .layer_decay = 1};

START_TEST(norms_and_biases_do_not_decay)
{
    struct fixture f;
    struct optimizer_options options = plain;
    options.weight_decay = 0.1f;
    open_fixture(&f, &options);
    optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 0); /* no gradient: decay alone */
    for (unsigned i = 0; i < f.parameters.count; i++) {
        const struct parameter *tensor = &f.parameters.list[i];
        bool decays = tensor->kind == PARAMETER_WEIGHT || tensor->kind == PARAMETER_EMBEDDING;
        float expected = decays ? 0.001f * f.before[tensor->offset] : 0;
        ck_assert_msg(fabsf(moved(&f, tensor) - expected) < 1e-6f, "%s", tensor->name);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(lower_blocks_learn_slower)
{
    struct fixture f;
    struct optimizer_options options = plain;
    options.layer_decay = 0.5f;
    open_fixture(&f, &options);
    fill_gradient(&f, 1);
    optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 0);
    for (unsigned i = 0; i < f.parameters.count; i++) {
        const struct parameter *tensor = &f.parameters.list[i];
        float expected = 0.01f * powf(0.5f, (float)(3 - tensor->depth));
        ck_assert_msg(fabsf(moved(&f, tensor) - expected) < 1e-5f, "%s: %g instead of %g",
                      tensor->name, moved(&f, tensor), expected);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(frozen_depths_rest)
{
    struct fixture f;
    open_fixture(&f, &plain);
    fill_gradient(&f, 1);
    optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 3);
    for (unsigned i = 0; i < f.parameters.count; i++)
        ck_assert_msg((moved(&f, &f.parameters.list[i]) != 0) == (f.parameters.list[i].depth == 3),
                      "%s", f.parameters.list[i].name);
    close_fixture(&f);
}
END_TEST

START_TEST(long_gradients_are_clipped)
{
    struct fixture f;
    struct optimizer_options options = plain;
    options.clip = 1;
    open_fixture(&f, &options);
    fill_gradient(&f, 3);
    struct optimizer_report report = optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 0);
    double sum = 0;
    for (size_t i = 0; i < f.parameters.numbers; i++) { /* m = 0.1 g after one step */
        sum += 100.0 * f.optimizer.m[i] * f.optimizer.m[i];
        ck_assert_float_eq(f.gradient[i], 0);
    }
    ck_assert_double_gt(report.norm, 100);
    ck_assert_double_eq_tol(sqrt(sum), 1, 1e-4);
    close_fixture(&f);
}
END_TEST

START_TEST(a_gradient_that_is_not_finite_changes_nothing)
{
    struct fixture f;
    struct optimizer_options options = plain;
    options.average_decay = 0.9f;
    open_fixture(&f, &options);
    fill_gradient(&f, 1);
    f.gradient[f.parameters.list[3].offset] = NAN;
    struct optimizer_report report = optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 0);
    ck_assert(report.skipped);
    ck_assert_uint_eq(f.optimizer.steps, 0);
    ck_assert_mem_eq(f.before, f.parameters.values, f.parameters.numbers * sizeof(float));
    ck_assert_mem_eq(f.before, f.optimizer.average, f.parameters.numbers * sizeof(float));
    ck_assert_float_eq(f.gradient[f.parameters.list[3].offset], 0);
    close_fixture(&f);
}
END_TEST

START_TEST(the_average_follows_and_is_what_is_kept)
{
    struct fixture f;
    struct optimizer_options options = plain;
    options.average_decay = 0.9f;
    open_fixture(&f, &options);
    const struct parameter *tensor = &f.parameters.list[0];
    float last = f.before[tensor->offset], average = last;
    for (unsigned t = 1; t <= 30; t++) {
        fill_gradient(&f, 1);
        optimizer_step(&f.optimizer, f.team, f.gradient, 0.01f, 0);
        float decay = fminf(0.9f, (1.0f + (float)t) / (10.0f + (float)t));
        average = decay * average + (1 - decay) * f.parameters.values[tensor->offset];
    }
    ck_assert_ptr_eq(optimizer_best(&f.optimizer), f.optimizer.average);
    ck_assert_float_eq_tol(f.optimizer.average[tensor->offset], average, 1e-4f);
    ck_assert_float_lt(f.parameters.values[tensor->offset], average);
    close_fixture(&f);
}
END_TEST

SUITE("optimizer", norms_and_biases_do_not_decay, lower_blocks_learn_slower, frozen_depths_rest,
      long_gradients_are_clipped, a_gradient_that_is_not_finite_changes_nothing,
      the_average_follows_and_is_what_is_kept)
