/* optimizer.c over the parameters of a tiny BERT: parameters that decay, rest or are slower. */
#include "learn/train/loop/learner.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct parameters parameters;
    struct optimizer optimizer;
    struct thread_pool *pool;
    float *gradient, *before;
};

static void open_fixture_of(struct fixture *f, const struct optimizer_options *options,
                            unsigned words)
{
    struct err err = {0};
    struct spec spec = {.family = family_find("bert", NULL),
                        .layers = 2,
                        .heads = 2,
                        .hidden = 16,
                        .intermediate = 32,
                        .qkv_bias = true,
                        .vocab_size = words,
                        .positions = 8,
                        .token_types = 2,
                        .label_count = 3};
    *f = (struct fixture){0};
    ck_assert_int_eq(parameters_open(&f->parameters, &spec, HEAD_CLASSIFIER, &err), ERR_OK);
    parameters_init(&f->parameters, 1);
    for (unsigned i = 0; i < f->parameters.count; i++) /* biases and betas too have a size */
        for (size_t k = 0; k < f->parameters.list[i].row.count; k++)
            f->parameters.values[f->parameters.list[i].offset + k] += 0.5f;
    ck_assert_int_eq(optimizer_open(&f->optimizer, &f->parameters, options, &err), ERR_OK);
    ck_assert_int_eq(thread_pool_open(&f->pool, 2, &err), ERR_OK);
    f->gradient = calloc(f->parameters.numbers, sizeof(float));
    f->before = malloc(f->parameters.numbers * sizeof(float));
    memcpy(f->before, f->parameters.values, f->parameters.numbers * sizeof(float));
}

static void open_fixture(struct fixture *f, const struct optimizer_options *options)
{
    open_fixture_of(f, options, 11);
}

static void close_fixture(struct fixture *f)
{
    optimizer_close(&f->optimizer);
    parameters_close(&f->parameters);
    thread_pool_close(f->pool);
    free(f->gradient);
    free(f->before);
}

static void fill_gradient(struct fixture *f, float value)
{
    for (unsigned i = 0; i < f->parameters.count; i++)
        for (size_t k = 0; k < f->parameters.list[i].row.count; k++)
            f->gradient[f->parameters.list[i].offset + k] = value;
}

/* The distance that the first number of a tensor has gone down. */
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
    optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0); /* no gradient: decay alone */
    for (unsigned i = 0; i < f.parameters.count; i++) {
        const struct parameter *tensor = &f.parameters.list[i];
        bool decays = tensor->row.part == TENSOR_WEIGHT || tensor->row.part == TENSOR_TABLE;
        float expected = decays ? 0.001f * f.before[tensor->offset] : 0;
        ck_assert_msg(fabsf(moved(&f, tensor) - expected) < 1e-6f, "%s", tensor->row.name);
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
    optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0);
    for (unsigned i = 0; i < f.parameters.count; i++) {
        const struct parameter *tensor = &f.parameters.list[i];
        float expected = 0.01f * powf(0.5f, (float)(3 - tensor->row.depth));
        ck_assert_msg(fabsf(moved(&f, tensor) - expected) < 1e-5f, "%s: %g instead of %g",
                      tensor->row.name, moved(&f, tensor), expected);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(frozen_depths_rest)
{
    struct fixture f;
    open_fixture(&f, &plain);
    fill_gradient(&f, 1);
    optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 3);
    for (unsigned i = 0; i < f.parameters.count; i++)
        ck_assert_msg((moved(&f, &f.parameters.list[i]) != 0) ==
                          (f.parameters.list[i].row.depth == 3),
                      "%s", f.parameters.list[i].row.name);
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
    struct optimizer_report report = optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0);
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
    struct optimizer_report report = optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0);
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
        optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0);
        float decay = fminf(0.9f, (1.0f + (float)t) / (10.0f + (float)t));
        average = decay * average + (1 - decay) * f.parameters.values[tensor->offset];
    }
    ck_assert_ptr_eq(optimizer_best(&f.optimizer), f.optimizer.average);
    ck_assert_float_eq_tol(f.optimizer.average[tensor->offset], average, 1e-4f);
    ck_assert_float_lt(f.parameters.values[tensor->offset], average);
    close_fixture(&f);
}
END_TEST

/* ---- against a reference in double ---- */

struct reference {
    double *values, *m, *v, *average;
};

static double *doubles(const float *x, size_t n)
{
    double *copy = calloc(n, sizeof *copy);
    for (size_t i = 0; x != NULL && i < n; i++)
        copy[i] = (double)x[i];
    return copy;
}

/* One step by the formulas of backward.h, a number at a time. */
static void step_reference(const struct reference *r, const struct fixture *f,
                           const struct optimizer_options *o, double rate, unsigned t,
                           unsigned frozen_depth)
{
    double square = 0;
    for (size_t i = 0; i < f->parameters.numbers; i++)
        square += (double)f->gradient[i] * (double)f->gradient[i];
    double norm = sqrt(square), clip = (double)o->clip, scale = norm > clip ? clip / norm : 1;
    for (unsigned k = 0; k < f->parameters.count; k++) {
        const struct parameter *tensor = &f->parameters.list[k];
        bool decays = tensor->row.part == TENSOR_WEIGHT || tensor->row.part == TENSOR_TABLE;
        double own = rate * pow((double)o->layer_decay, 3.0 - tensor->row.depth);
        for (size_t i = tensor->offset; i < tensor->offset + tensor->row.count; i++) {
            double g = scale * (double)f->gradient[i], b1 = (double)o->beta1;
            double b2 = (double)o->beta2;
            if (tensor->row.depth < frozen_depth)
                continue;
            r->m[i] = b1 * r->m[i] + (1 - b1) * g;
            r->v[i] = b2 * r->v[i] + (1 - b2) * g * g;
            double m = r->m[i] / (1 - pow(b1, t)), v = r->v[i] / (1 - pow(b2, t));
            double decay = decays ? (double)o->weight_decay * r->values[i] : 0;
            r->values[i] -= own * (m / (sqrt(v) + (double)o->eps) + decay);
        }
    }
    double keep = fmin((double)o->average_decay, (1.0 + t) / (10.0 + t));
    for (size_t i = 0; i < f->parameters.numbers; i++)
        r->average[i] += (1 - keep) * (r->values[i] - r->average[i]);
}

static double largest_difference(const double *a, const float *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(a[i] - (double)b[i]));
    return largest;
}

static void fill_at_random(struct fixture *f, uint32_t seed)
{
    for (unsigned i = 0; i < f->parameters.count; i++)
        numbers_fill(f->gradient + f->parameters.list[i].offset, f->parameters.list[i].row.count, 1,
                     seed + i);
}

START_TEST(steps_are_those_of_the_formula)
{
    static const struct optimizer_options options = {.beta1 = 0.8f,
                                                     .beta2 = 0.95f,
                                                     .eps = 1e-2f,
                                                     .weight_decay = 0.25f,
                                                     .layer_decay = 0.5f,
                                                     .clip = 10,
                                                     .average_decay = 0.2f};
    struct fixture f;
    open_fixture(&f, &options);
    size_t n = f.parameters.numbers;
    struct reference r = {doubles(f.parameters.values, n), doubles(NULL, n), doubles(NULL, n),
                          doubles(f.parameters.values, n)};
    ck_assert_mem_eq(f.optimizer.average, f.parameters.values, n * sizeof(float));
    for (unsigned t = 1; t <= 4; t++) {
        unsigned frozen_depth = t == 3 ? 2 : 0;
        fill_at_random(&f, 100 * t);
        step_reference(&r, &f, &options, 0.02 * t, t, frozen_depth);
        struct optimizer_report report =
            optimizer_step(&f.optimizer, f.pool, f.gradient, 0.02f * (float)t, frozen_depth);
        ck_assert(!report.skipped && f.optimizer.steps == t);
        ck_assert_double_lt(largest_difference(r.values, f.parameters.values, n), 1e-5);
        ck_assert_double_lt(largest_difference(r.m, f.optimizer.m, n), 1e-6);
        ck_assert_double_lt(largest_difference(r.v, f.optimizer.v, n), 1e-6);
        ck_assert_double_lt(largest_difference(r.average, f.optimizer.average, n), 1e-5);
    }
    free(r.values);
    free(r.m);
    free(r.v);
    free(r.average);
    close_fixture(&f);
    ck_assert(f.optimizer.m == NULL && f.optimizer.parameters == NULL);
}
END_TEST

/* The gradient has three chunks and a bit. The numbers behind it are not counted. The norm has the
 * same bits for any pool. */
START_TEST(the_norm_is_of_every_chunk)
{
    enum { BEHIND = 1 << 17 };
    struct fixture f;
    struct err err = {0};
    double norm[3];
    open_fixture_of(&f, &plain, 13000);
    size_t n = f.parameters.numbers;
    ck_assert_uint_gt(n, 3 << 16);
    float *gradient = malloc((n + BEHIND) * sizeof *gradient);
    for (unsigned i = 0; i < 3; i++) {
        double square = 0;
        struct thread_pool *pool;
        ck_assert_int_eq(thread_pool_open(&pool, 3 - i, &err),
                         ERR_OK); /* nothing is left of before */
        numbers_fill(gradient, n, 1, 7);
        for (size_t k = n; k < n + BEHIND; k++)
            gradient[k] = 1000;
        for (size_t k = 0; k < n; k++)
            square += (double)gradient[k] * (double)gradient[k];
        norm[i] = optimizer_step(&f.optimizer, pool, gradient, 0, 0).norm;
        ck_assert_double_eq_tol(norm[i], sqrt(square), 1e-6 * sqrt(square));
        ck_assert(norm[i] == norm[0] && gradient[0] == 0 && gradient[n - 1] == 0);
        ck_assert_float_eq(gradient[n], 1000); /* not ours: not cleared */
        thread_pool_close(pool);
    }
    free(gradient);
    close_fixture(&f);
}
END_TEST

/* A gradient at the limit itself is not clipped: 16 numbers of 1 have the norm 4. */
START_TEST(a_gradient_at_the_limit_is_not_clipped)
{
    for (unsigned over = 0; over < 2; over++) {
        struct fixture f;
        struct optimizer_options options = plain;
        options.clip = over ? 2 : 4;
        open_fixture(&f, &options);
        const struct parameter *tensor = &f.parameters.list[0];
        for (unsigned i = 0; i < 16; i++)
            f.gradient[tensor->offset + i] = 1;
        ck_assert_double_eq(optimizer_step(&f.optimizer, f.pool, f.gradient, 0.01f, 0).norm, 4);
        ck_assert_float_eq_tol(f.optimizer.m[tensor->offset], over ? 0.05f : 0.1f, 1e-7f);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(without_an_average_the_values_are_kept)
{
    struct fixture f;
    open_fixture(&f, &plain);
    ck_assert_ptr_null(f.optimizer.average);
    ck_assert_ptr_eq(optimizer_best(&f.optimizer), f.parameters.values);
    close_fixture(&f);
}
END_TEST

SUITE("optimizer", norms_and_biases_do_not_decay, lower_blocks_learn_slower, frozen_depths_rest,
      long_gradients_are_clipped, a_gradient_that_is_not_finite_changes_nothing,
      the_average_follows_and_is_what_is_kept, steps_are_those_of_the_formula,
      the_norm_is_of_every_chunk, a_gradient_at_the_limit_is_not_clipped,
      without_an_average_the_values_are_kept)
