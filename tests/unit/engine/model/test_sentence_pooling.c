/* sentence_pooling.h against its formulas, on small numbers by hand and in double on seeded ones;
 * and against what the package sentence-transformers answered: tests/data/sentences/NOTICE.md.
 * ATTND_SENTENCES names a directory with more of the same. */
#include "engine/model/sentence_pooling.h"

#include "engine/format/safetensors.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 37, WIDTH_MAX = 131, STRIDE = 136, OUT_MAX = 90 };

/* ---- by hand ---- */

/* Three tokens of two states, four numbers apart; what stands between must not be read. */
static const float small[] = {1, -2, 99, 99, 4, 0, 99, 99, 7, -10, 99, 99};

static void expect_pooled(enum sentence_mode mode, unsigned first, unsigned end, double a, double b)
{
    const struct sentence_pooling pooling = {.modes = {mode}, .count = 1};
    const struct sentence_tokens tokens = {.x = small, .stride = 4, .first = first, .end = end};
    float out[3] = {-1, -1, 42};
    sentence_pool(out, &pooling, &tokens, 2);
    ck_assert_double_eq_tol((double)out[0], a, 1e-6);
    ck_assert_double_eq_tol((double)out[1], b, 1e-6);
    ck_assert_double_eq((double)out[2], 42);
}

START_TEST(poolings_of_three_tokens_are_those_by_hand)
{
    expect_pooled(SENTENCE_CLS, 0, 3, 1, -2);
    expect_pooled(SENTENCE_MAX, 0, 3, 7, 0);
    expect_pooled(SENTENCE_MEAN, 0, 3, 4, -4);
    expect_pooled(SENTENCE_MEAN_SQRT_LENGTH, 0, 3, 12 / sqrt(3), -12 / sqrt(3));
    expect_pooled(SENTENCE_WEIGHTED_MEAN, 0, 3, 30 / 6.0, -32 / 6.0);
    expect_pooled(SENTENCE_LAST_TOKEN, 0, 3, 7, -10);
}
END_TEST

START_TEST(a_prompts_tokens_do_not_count)
{
    expect_pooled(SENTENCE_CLS, 1, 3, 1, -2); /* the first of all */
    expect_pooled(SENTENCE_MAX, 1, 3, 7, 0);
    expect_pooled(SENTENCE_MAX, 2, 3, 7, -10);
    expect_pooled(SENTENCE_MEAN, 1, 3, 5.5, -5);
    expect_pooled(SENTENCE_MEAN_SQRT_LENGTH, 1, 3, 11 / sqrt(2), -10 / sqrt(2));
    expect_pooled(SENTENCE_WEIGHTED_MEAN, 1, 3, 29 / 5.0, -30 / 5.0); /* weights 2 and 3 */
    expect_pooled(SENTENCE_LAST_TOKEN, 1, 2, 4, 0);
}
END_TEST

START_TEST(poolings_lie_side_by_side_in_the_given_order)
{
    const struct sentence_pooling pooling = {
        .modes = {SENTENCE_LAST_TOKEN, SENTENCE_CLS, SENTENCE_MEAN}, .count = 3};
    const struct sentence_tokens tokens = {.x = small, .stride = 4, .first = 0, .end = 3};
    static const float expected[] = {7, -10, 1, -2, 4, -4};
    float out[6];
    sentence_pool(out, &pooling, &tokens, 2);
    ck_assert_mem_eq(out, expected, sizeof expected);
}
END_TEST

/* ---- in double ---- */

static double pooled(enum sentence_mode mode, const float *x, unsigned first, unsigned end)
{
    double sum = 0, weighted = 0, weights = 0, max = -INFINITY;
    for (unsigned t = first; t < end; t++) {
        const double value = (double)x[t * STRIDE];
        sum += value;
        weighted += (t + 1.0) * value;
        weights += t + 1.0;
        max = fmax(max, value);
    }
    switch (mode) {
    case SENTENCE_CLS:
        return (double)x[0];
    case SENTENCE_MAX:
        return max;
    case SENTENCE_MEAN:
        return sum / (end - first);
    case SENTENCE_MEAN_SQRT_LENGTH:
        return sum / sqrt(end - first);
    case SENTENCE_WEIGHTED_MEAN:
        return weighted / weights;
    default:
        return (double)x[(end - 1) * STRIDE];
    }
}

static void expect_formula(const float *x, enum sentence_mode mode, unsigned first, unsigned end,
                           unsigned width)
{
    const struct sentence_pooling pooling = {.modes = {mode}, .count = 1};
    const struct sentence_tokens tokens = {.x = x, .stride = STRIDE, .first = first, .end = end};
    float out[WIDTH_MAX];
    sentence_pool(out, &pooling, &tokens, width);
    for (unsigned c = 0; c < width; c++) {
        const double expected = pooled(mode, x + c, first, end);
        ck_assert_double_eq_tol((double)out[c], expected, 1e-7 * fabs(expected) + 1e-12);
    }
}

START_TEST(each_pooling_of_each_range_is_its_formula)
{
    static const unsigned widths[] = {1, 7, 63, 64, 65, 128, WIDTH_MAX};
    float *x = numbers_new(TOKENS * STRIDE, 3, 5);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (unsigned first = 0; first < TOKENS; first += 3)
            for (unsigned end = first + 1; end <= TOKENS; end += 5)
                for (int mode = 0; mode < SENTENCE_MODES; mode++)
                    expect_formula(x, (enum sentence_mode)mode, first, end, widths[w]);
    free(x);
}
END_TEST

START_TEST(a_long_text_loses_no_precision)
{
    enum { LONG = 32768 };
    const struct sentence_pooling pooling = {.modes = {SENTENCE_MEAN, SENTENCE_WEIGHTED_MEAN},
                                             .count = 2};
    struct sentence_tokens tokens = {.stride = 1, .end = LONG};
    float *x = numbers_new(LONG, 1, 9), out[2];
    double sum = 0, weighted = 0;
    for (unsigned t = 0; t < LONG; t++) {
        x[t] += 100; /* fp32 sums would lose three digits */
        sum += (double)x[t];
        weighted += (t + 1.0) * (double)x[t];
    }
    tokens.x = x;
    sentence_pool(out, &pooling, &tokens, 1);
    ck_assert_double_eq_tol((double)out[0], sum / LONG, 1e-5);
    ck_assert_double_eq_tol((double)out[1], weighted / (LONG * (LONG + 1.0) / 2), 1e-5);
    free(x);
}
END_TEST

START_TEST(a_nan_reaches_the_vector)
{
    static const enum sentence_mode modes[] = {SENTENCE_MAX, SENTENCE_MEAN,
                                               SENTENCE_MEAN_SQRT_LENGTH, SENTENCE_WEIGHTED_MEAN};
    for (unsigned token = 0; token < 3; token++)
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
            const struct sentence_pooling pooling = {.modes = {modes[i]}, .count = 1};
            float x[] = {1, 5, 3, 6, 2, 7}, out[2];
            x[2 * token] = NAN;
            sentence_pool(out, &pooling,
                          &(struct sentence_tokens){.x = x, .stride = 2, .first = 0, .end = 3}, 2);
            ck_assert(isnan(out[0]));
            ck_assert(isfinite(out[1]));
        }
    float vector[] = {NAN, 1};
    sentence_normalize(vector, 2);
    ck_assert(isnan(vector[0]) && isnan(vector[1]));
}
END_TEST

/* ---- Dense, Normalize, truncation ---- */

static double activated(double x, enum sentence_activation activation)
{
    switch (activation) {
    case SENTENCE_TANH:
        return tanh(x);
    case SENTENCE_RELU:
        return x > 0 ? x : 0;
    case SENTENCE_GELU:
        return x / 2 * erfc(-x / sqrt(2));
    case SENTENCE_SILU:
        return x / (1 + exp(-x));
    case SENTENCE_SIGMOID:
        return 1 / (1 + exp(-x));
    default:
        return x;
    }
}

static struct sentence_step dense_of(unsigned in, unsigned out, const float *weight,
                                     const float *bias, enum sentence_activation activation)
{
    return (struct sentence_step){.kind = SENTENCE_DENSE,
                                  .dense = {.in = in,
                                            .out = out,
                                            .has_bias = bias != NULL,
                                            .activation = activation,
                                            .weight = weight,
                                            .bias = bias}};
}

/* Expects cls, then a Dense, to be the formula in double. */
static void expect_dense(unsigned out, const float *bias, enum sentence_activation activation)
{
    float *x = numbers_new(WIDTH_MAX, 1, 3), *weight = numbers_new(out * WIDTH_MAX, 0.3f, 4);
    struct sentence_modules modules = {.hidden = WIDTH_MAX,
                                       .pooling = {.modes = {SENTENCE_CLS}, .count = 1},
                                       .step_count = 1,
                                       .width = out};
    float scratch[2 * WIDTH_MAX], vector[OUT_MAX + 1];
    modules.steps[0] = dense_of(WIDTH_MAX, out, weight, bias, activation);
    vector[out] = 42;
    ck_assert_uint_eq(sentence_scratch(&modules), 2 * WIDTH_MAX);
    sentence_embed(vector, &modules, &(struct sentence_tokens){x, WIDTH_MAX, 0, 1}, scratch);
    for (unsigned o = 0; o < out; o++) {
        double sum = bias != NULL ? (double)bias[o] : 0;
        for (unsigned i = 0; i < WIDTH_MAX; i++)
            sum += (double)weight[o * WIDTH_MAX + i] * (double)x[i];
        ck_assert_double_eq_tol((double)vector[o], activated(sum, activation), 2e-6);
    }
    ck_assert_double_eq((double)vector[out], 42);
    free(x);
    free(weight);
}

START_TEST(each_dense_is_its_formula)
{
    float *bias = numbers_new(OUT_MAX, 1, 6);
    for (int i = 0; i < SENTENCE_ACTIVATIONS; i++) {
        expect_dense(OUT_MAX, bias, (enum sentence_activation)i);
        expect_dense(1, NULL, (enum sentence_activation)i);
    }
    free(bias);
}
END_TEST

START_TEST(steps_run_in_their_order)
{
    /* the mean of (3, 0) and (3, 8) is (3, 4), its direction (0.6, 0.8) */
    static const float x[] = {3, 0, 3, 8}, identity[] = {1, 0, 0, 1, 5, -5}, one[] = {0, 0, 1},
                       sums[] = {1, 1, 1, 1, 0, 0};
    static const unsigned scratch_numbers = 6;
    struct sentence_modules modules = {.hidden = 2,
                                       .pooling = {.modes = {SENTENCE_MEAN}, .count = 1},
                                       .step_count = 3,
                                       .width = 2};
    float scratch[6], vector[2];
    modules.steps[0].kind = SENTENCE_NORMALIZE;
    modules.steps[1] = dense_of(2, 3, identity, one, SENTENCE_RELU);
    modules.steps[2] = dense_of(3, 2, sums, NULL, SENTENCE_IDENTITY);
    ck_assert_uint_eq(sentence_scratch(&modules), scratch_numbers);
    sentence_embed(vector, &modules, &(struct sentence_tokens){x, 2, 0, 2}, scratch);
    ck_assert_double_eq_tol((double)vector[0], 0.6 + 0.8 + 0, 1e-6);
    ck_assert_double_eq_tol((double)vector[1], 0.6, 1e-6);
}
END_TEST

START_TEST(a_vector_is_normalised_and_a_tiny_one_divided_by_eps)
{
    float vector[] = {3, -4}, tiny[] = {3e-20f, 4e-20f}, zero[] = {0, 0}, huge[] = {3e30f, 4e30f};
    sentence_normalize(vector, 2);
    ck_assert_double_eq_tol((double)vector[0], 0.6, 1e-7);
    ck_assert_double_eq_tol((double)vector[1], -0.8, 1e-7);
    sentence_normalize(tiny, 2);
    ck_assert_double_eq_tol((double)tiny[0], 3e-8, 1e-14);
    sentence_normalize(zero, 2);
    ck_assert(zero[0] == 0 && zero[1] == 0);
    sentence_normalize(huge, 2); /* whose squares are beyond fp32 */
    ck_assert_double_eq_tol((double)huge[1], 0.8, 1e-7);
}
END_TEST

/* ---- the package's own answers ---- */

enum { PATH_BYTES = 512, NAME_BYTES = 64, CASES_MAX = 64 };

/* A directory of tests/data/sentences. */
struct answered {
    struct arena arena;
    struct sentence_modules modules;
    struct safetensors *states;
    float *scratch, *vector;
};

static void answered_open(struct answered *answered, const char *name)
{
    const char *root = getenv("ATTND_SENTENCES");
    char dir[PATH_BYTES], path[PATH_BYTES + NAME_BYTES];
    struct err err = {0};
    snprintf(dir, sizeof dir, "%s/%s", root != NULL ? root : "tests/data/sentences", name);
    snprintf(path, sizeof path, "%s/states.safetensors", dir);
    arena_init(&answered->arena);
    ck_assert_msg(sentence_modules_read(&answered->modules, dir, &answered->arena, &err) ==
                          ERR_OK &&
                      sentence_modules_load(&answered->modules, &answered->arena, &err) == ERR_OK &&
                      safetensors_open(&answered->states, path, &err) == ERR_OK,
                  "%s: %s", dir, err.text);
    answered->scratch =
        arena_alloc_array(&answered->arena, sentence_scratch(&answered->modules), sizeof(float));
    answered->vector = arena_alloc_array(&answered->arena, answered->modules.width, sizeof(float));
}

static void answered_close(struct answered *answered)
{
    safetensors_close(answered->states);
    arena_deinit(&answered->arena);
}

/* Returns the case's tensor, and its info; NULL: there is none. */
static const float *tensor_of(struct answered *answered, unsigned n, const char *name,
                              const struct tensor_info **info)
{
    char key[NAME_BYTES];
    struct err err = {0};
    snprintf(key, sizeof key, "%u.%s", n, name);
    *info = safetensors_find(answered->states, key);
    if (*info == NULL)
        return NULL;
    float *numbers = arena_alloc_array(&answered->arena, (*info)->count, sizeof *numbers);
    ck_assert_ptr_nonnull(numbers);
    ck_assert_int_eq(
        safetensors_read_f32(answered->states, *info, 0, (*info)->count, numbers, &err), ERR_OK);
    return numbers;
}

/* Returns the largest difference of the cut vectors, whole and normalised again. */
static double compare_cuts(struct answered *answered, unsigned n)
{
    const unsigned width = answered->modules.width, cuts[] = {8, width / 2};
    float *cut = arena_alloc_array(&answered->arena, width, sizeof *cut);
    double worst = 0;
    for (size_t i = 0; i < 2; i++)
        for (int normalizes = 0; normalizes <= 1; normalizes++) {
            char name[NAME_BYTES];
            const struct tensor_info *info;
            snprintf(name, sizeof name, "%s.%u", normalizes ? "cut_unit" : "cut", cuts[i]);
            const float *expected = tensor_of(answered, n, name, &info);
            ck_assert_ptr_nonnull(expected);
            memcpy(cut, answered->vector, width * sizeof *cut);
            ck_assert_uint_eq(info->count, cuts[i]);
            if (normalizes)
                sentence_normalize(cut, cuts[i]);
            worst = fmax(worst, numbers_relative_difference(cut, expected, info->count));
        }
    return worst;
}

/* Returns the largest relative difference of a case. */
static double compare(struct answered *answered, unsigned n)
{
    const struct tensor_info *info, *states;
    const float *first = tensor_of(answered, n, "first", &info);
    const float *expected = tensor_of(answered, n, "embedding", &info);
    const float *x = tensor_of(answered, n, "states", &states);
    ck_assert(first != NULL && expected != NULL && x != NULL);
    ck_assert_uint_eq(states->shape[1], answered->modules.hidden);
    ck_assert_uint_eq(info->count, answered->modules.width);
    const struct sentence_tokens tokens = {.x = x,
                                           .stride = states->shape[1],
                                           .first = (unsigned)*first,
                                           .end = (unsigned)states->shape[0]};
    sentence_embed(answered->vector, &answered->modules, &tokens, answered->scratch);
    return fmax(numbers_relative_difference(answered->vector, expected, info->count),
                compare_cuts(answered, n));
}

START_TEST(vectors_are_those_of_sentence_transformers)
{
    static const char *const names[] = {"st-bert-0", "st-cls-0", "st-max-0", "st-modernbert-0",
                                        "st-weighted-0"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct answered answered;
        const struct tensor_info *info;
        unsigned cases = 0;
        answered_open(&answered, names[i]);
        for (unsigned n = 0; n < CASES_MAX; n++) {
            if (tensor_of(&answered, n, "states", &info) == NULL)
                continue;
            const double worst = compare(&answered, n);
            ck_assert_msg(worst < 1e-6, "%s case %u: %g", names[i], n, worst);
            cases++;
        }
        ck_assert_uint_ge(cases, 3);
        answered_close(&answered);
    }
}
END_TEST

SUITE("sentence_pooling", poolings_of_three_tokens_are_those_by_hand, a_prompts_tokens_do_not_count,
      poolings_lie_side_by_side_in_the_given_order, each_pooling_of_each_range_is_its_formula,
      a_long_text_loses_no_precision, a_nan_reaches_the_vector, each_dense_is_its_formula,
      steps_run_in_their_order, a_vector_is_normalised_and_a_tiny_one_divided_by_eps,
      vectors_are_those_of_sentence_transformers)
