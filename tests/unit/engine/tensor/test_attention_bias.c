/* Attention with numbers added to its scores: every kernel, fp32 and bf16, against the oracle, with
 * biases by difference and by matrix. The numbers behind the last query of a bias are NaN: they may
 * be read, but must not matter. */
#include "engine/tensor/attention_bf16.h"
#include "engine/tensor/kernels.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, VARIANTS = 4 };

static const struct kernels *const variants[VARIANTS] = {&kernels_generic, &kernels_avx2,
                                                         &kernels_avx512, &kernels_reference};

struct problem {
    size_t n, d, stride;
    float *qkv; /* [n, stride]: HEADS queries, keys, values of d numbers side by side */
    float *numbers;
    struct attention_bias bias;
    float *out, *expected, *scratch;
};

/* b[h, i, j] = table[h][i - j + n - 1]; vectors may read SIMD_WIDTH - 1 numbers behind. */
static void bias_by_difference(struct problem *p)
{
    size_t used = 2 * p->n - 1, step = simd_round_up(used) + SIMD_WIDTH;
    p->numbers = numbers_new(HEADS * step, 3, 11);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = used; i < step; i++)
            p->numbers[h * step + i] = NAN;
    p->bias =
        (struct attention_bias){.at = p->numbers + p->n - 1, .key_step = -1, .head_step = step};
}

/* b[h, i, j] = matrix[h][j][i] */
static void bias_by_matrix(struct problem *p)
{
    size_t step = simd_round_up(p->n), rows = HEADS * p->n;
    p->numbers = numbers_new(rows * step, 3, 12);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = p->n; i < step; i++)
            p->numbers[r * step + i] = NAN;
    p->bias = (struct attention_bias){
        .at = p->numbers, .key_step = (ptrdiff_t)step, .head_step = p->n * step};
}

static struct problem problem_new(size_t n, size_t d, void (*add)(struct problem *p))
{
    struct problem p = {.n = n, .d = d, .stride = 3 * HEADS * d + 8};
    size_t wide = HEADS * d > n ? HEADS * d : n;
    size_t fp32 = attention_mean_scratch(n, d) + attention_scratch(d);
    size_t bf16 =
        attention_bf16_mean_scratch(n, d) + attention_bf16_scratch(d) + attention_amx_scratch(d);
    p.qkv = numbers_new(n * p.stride, 2, (uint32_t)(n * 100 + d));
    p.out = numbers_new(n * wide, 1, 9);
    p.expected = numbers_new(n * wide, 1, 10);
    p.scratch = numbers_new(fp32 + bf16 + 2 * n, 1e30f, 10);
    add(&p);
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->qkv), free(p->numbers), free(p->out), free(p->expected), free(p->scratch);
}

static size_t block_of(const struct problem *p, size_t first)
{
    return p->n - first < ATTENTION_QUERIES ? p->n - first : ATTENTION_QUERIES;
}

/* out [n, HEADS d] in blocks of queries. */
static void attend(const struct problem *p, const struct kernels *kernels, float *out)
{
    size_t width = HEADS * p->d;
    for (size_t first = 0; first < p->n; first += ATTENTION_QUERIES)
        for (size_t h = 0; h < HEADS; h++) {
            struct attention_bias one = attention_bias_at(&p->bias, h, first);
            const float *key = p->qkv + width + h * p->d;
            kernels->attention(&(struct attention_io){.out = out + first * width + h * p->d,
                                                      .out_stride = width,
                                                      .q = p->qkv + first * p->stride + h * p->d,
                                                      .k = key,
                                                      .v = key + width,
                                                      .q_stride = p->stride,
                                                      .kv_stride = p->stride,
                                                      .count = block_of(p, first),
                                                      .n = p->n,
                                                      .d = p->d,
                                                      .bias = one,
                                                      .scratch = p->scratch});
        }
}

/* out [n, n], the mean over the heads. */
static void average(const struct problem *p, const struct kernels *kernels, float *out)
{
    for (size_t first = 0; first < p->n; first += ATTENTION_QUERIES) {
        struct attention_bias one = attention_bias_at(&p->bias, 0, first);
        kernels->attention_mean(&(struct attention_io){.out = out + first * p->n,
                                                       .out_stride = p->n,
                                                       .q = p->qkv + first * p->stride,
                                                       .k = p->qkv + HEADS * p->d,
                                                       .q_stride = p->stride,
                                                       .kv_stride = p->stride,
                                                       .count = block_of(p, first),
                                                       .n = p->n,
                                                       .heads = HEADS,
                                                       .d = p->d,
                                                       .bias = one,
                                                       .scratch = p->scratch});
    }
}

/* Word for word the equation of kernels.h, for one head's query. */
static void by_hand(const struct problem *p, size_t h, size_t i, double *out)
{
    double scores[300], total = 0, largest = -INFINITY;
    size_t width = HEADS * p->d;
    const float *q = p->qkv + i * p->stride + h * p->d;
    for (size_t j = 0; j < p->n; j++) {
        const float *k = p->qkv + j * p->stride + width + h * p->d;
        double dot = 0;
        for (size_t c = 0; c < p->d; c++)
            dot += (double)q[c] * (double)k[c];
        double b =
            (double)p->bias
                .at[(ptrdiff_t)(h * p->bias.head_step + i) + (ptrdiff_t)j * p->bias.key_step];
        scores[j] = dot / sqrt((double)p->d) + b;
        largest = fmax(largest, scores[j]);
    }
    for (size_t j = 0; j < p->n; j++)
        total += exp(scores[j] - largest);
    for (size_t c = 0; c < p->d; c++)
        out[c] = 0;
    for (size_t j = 0; j < p->n; j++)
        for (size_t c = 0; c < p->d; c++)
            out[c] += exp(scores[j] - largest) / total *
                      (double)p->qkv[j * p->stride + 2 * width + h * p->d + c];
}

static void (*const layouts[])(struct problem *p) = {bias_by_difference, bias_by_matrix};

START_TEST(the_oracle_adds_the_bias_to_the_scores_as_the_equation_says)
{
    for (size_t layout = 0; layout < 2; layout++) {
        struct problem p = problem_new(37, 6, layouts[layout]);
        double expected[6];
        attend(&p, &kernels_reference, p.out);
        for (size_t i = 0; i < p.n; i++)
            for (size_t h = 0; h < HEADS; h++) {
                by_hand(&p, h, i, expected);
                for (size_t c = 0; c < p.d; c++)
                    ck_assert_double_eq_tol((double)p.out[(i * HEADS + h) * p.d + c], expected[c],
                                            1e-6);
            }
        problem_free(&p);
    }
}
END_TEST

static void check_variants(size_t n, size_t d, void (*layout)(struct problem *p))
{
    struct problem p = problem_new(n, d, layout);
    for (int v = 0; v < VARIANTS - 1; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        attend(&p, &kernels_reference, p.expected);
        attend(&p, variants[v], p.out);
        ck_assert_msg(numbers_difference(p.out, p.expected, n * HEADS * d) < 5e-6,
                      "%s, n = %zu, d = %zu", variants[v]->name, n, d);
        average(&p, &kernels_reference, p.expected);
        average(&p, variants[v], p.out);
        ck_assert_msg(numbers_difference(p.out, p.expected, n * n) < 2e-6,
                      "mean: %s, n = %zu, d = %zu", variants[v]->name, n, d);
    }
    problem_free(&p);
}

START_TEST(biased_attention_agrees_with_the_oracle_at_odd_lengths_and_widths)
{
    static const size_t lengths[] = {1,  2,  3,  7,  8,   9,   15,  16,  17,  31,
                                     32, 33, 48, 65, 143, 144, 145, 197, 289, 300};
    static const size_t widths[] = {1, 5, 12, 16, 33, 64};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t layout = 0; layout < 2; layout++)
                check_variants(lengths[i], widths[w], layouts[layout]);
}
END_TEST

START_TEST(a_bias_of_zeros_changes_nothing_that_a_score_can_show)
{
    struct problem p = problem_new(150, 16, bias_by_difference);
    for (size_t i = 0; i < 2 * p.n - 1; i++)
        p.numbers[i] = p.numbers[p.bias.head_step + i] = 0;
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        attend(&p, variants[v], p.out);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t first = 0; first < p.n; first += ATTENTION_QUERIES)
                variants[v]->attention(
                    &(struct attention_io){.out = p.expected + (first * HEADS + h) * p.d,
                                           .out_stride = HEADS * p.d,
                                           .q = p.qkv + first * p.stride + h * p.d,
                                           .k = p.qkv + (HEADS + h) * p.d,
                                           .v = p.qkv + (2 * HEADS + h) * p.d,
                                           .q_stride = p.stride,
                                           .kv_stride = p.stride,
                                           .count = block_of(&p, first),
                                           .n = p.n,
                                           .d = p.d,
                                           .scratch = p.scratch});
        ck_assert_msg(numbers_difference(p.out, p.expected, p.n * HEADS * p.d) < 1e-7, "%s",
                      variants[v]->name);
    }
    problem_free(&p);
}
END_TEST

/* -100, as masks of shifted windows have it, and what a trained table may reach. */
START_TEST(large_biases_of_either_sign_pick_keys_and_overflow_nowhere)
{
    struct problem p = problem_new(200, 16, bias_by_matrix);
    for (size_t i = 0; i < HEADS * p.n * simd_round_up(p.n); i++)
        p.numbers[i] *= 1e4f;
    attend(&p, &kernels_reference, p.expected);
    for (int v = 0; v < VARIANTS - 1; v++)
        if (kernels_runnable(variants[v])) {
            attend(&p, variants[v], p.out);
            ck_assert_msg(numbers_difference(p.out, p.expected, p.n * HEADS * p.d) < 2e-2, "%s",
                          variants[v]->name);
        }
    problem_free(&p);
}
END_TEST

/* ---- bf16 ---- */

struct halves {
    struct problem p;
    uint16_t *qkv;
};

static struct halves halves_new(size_t n, size_t d, void (*layout)(struct problem *p))
{
    struct halves half = {.p = problem_new(n, d, layout)};
    size_t numbers = n * half.p.stride;
    half.qkv = malloc(numbers * sizeof *half.qkv);
    kernels_reference.round_bf16(half.qkv, half.p.qkv, numbers);
    for (size_t i = 0; i < numbers; i++) {
        uint32_t bits = (uint32_t)half.qkv[i] << 16;
        memcpy(&half.p.qkv[i], &bits, sizeof bits);
    }
    return half;
}

/* The softmax is rounded to 8 bits before it multiplies v, whose numbers are at most 2. */
static void check_bf16(size_t n, size_t d, void (*layout)(struct problem *p))
{
    struct halves half = halves_new(n, d, layout);
    struct problem *p = &half.p;
    size_t width = HEADS * d;
    attend(p, &kernels_reference, p->expected);
    for (int by_tiles = 0; by_tiles <= tile_state_permitted(); by_tiles++) {
        for (size_t first = 0; first < n; first += ATTENTION_QUERIES)
            for (size_t h = 0; h < HEADS; h++) {
                struct attention_bias one = attention_bias_at(&p->bias, h, first);
                const uint16_t *key = half.qkv + width + h * d;
                (by_tiles ? attention_amx : attention_bf16)(
                    &(struct attention_io){.out = p->out + first * width + h * d,
                                           .out_stride = width,
                                           .q = half.qkv + first * p->stride + h * d,
                                           .k = key,
                                           .v = key + width,
                                           .q_stride = p->stride,
                                           .kv_stride = p->stride,
                                           .count = block_of(p, first),
                                           .n = n,
                                           .d = d,
                                           .bias = one,
                                           .scratch = p->scratch});
            }
        ck_assert_msg(numbers_difference(p->out, p->expected, n * width) < 2.0 / 256,
                      "n = %zu, tiles %d", n, by_tiles);
    }
    average(p, &kernels_reference, p->expected);
    for (size_t first = 0; first < n; first += ATTENTION_QUERIES) {
        struct attention_bias one = attention_bias_at(&p->bias, 0, first);
        attention_bf16_mean(&(struct attention_io){.out = p->out + first * n,
                                                   .out_stride = n,
                                                   .q = half.qkv + first * p->stride,
                                                   .k = half.qkv + width,
                                                   .q_stride = p->stride,
                                                   .kv_stride = p->stride,
                                                   .count = block_of(p, first),
                                                   .n = n,
                                                   .heads = HEADS,
                                                   .d = d,
                                                   .bias = one,
                                                   .scratch = p->scratch});
    }
    ck_assert_msg(numbers_difference(p->out, p->expected, n * n) < 1e-5, "mean: n = %zu", n);
    free(half.qkv);
    problem_free(p);
}

START_TEST(biased_bf16_attention_agrees_with_the_oracle)
{
    static const size_t lengths[] = {1, 3, 16, 17, 33, 144, 145, 197, 289};
    if (!attention_bf16_runnable(32))
        suite_skip("this processor does not multiply bf16");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t layout = 0; layout < 2; layout++)
            check_bf16(lengths[i], i % 2 == 0 ? 32 : 64, layouts[layout]);
}
END_TEST

/* ---- one key in front of the others ---- */

/* Key 0 has no bias; the keys between it and key `from` are masked. */
static void mask_between(struct problem *p, size_t from)
{
    size_t step = simd_round_up(p->n);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t j = 0; j < from; j++)
            for (size_t i = 0; i < p->n; i++)
                p->numbers[(h * p->n + j) * step + i] = j == 0 ? 0 : -1e9f;
}

/* The keys from `from` on, and key 0 in front of them. */
static struct attention_bias front_bias(const struct problem *p, size_t h, size_t first,
                                        size_t from)
{
    struct attention_bias one = attention_bias_at(&p->bias, h, first);
    one.at = attention_bias_key(&one, from);
    one.global_rows = from;
    return one;
}

static void attend_front(const struct problem *p, const struct kernels *kernels,
                         const uint16_t *bf16, size_t from, float *out)
{
    size_t width = HEADS * p->d, n = p->n - from;
    for (size_t first = 0; first < p->n; first += ATTENTION_QUERIES)
        for (size_t h = 0; h < HEADS; h++) {
            struct attention_bias one = front_bias(p, h, first, from);
            size_t query = first * p->stride + h * p->d;
            size_t key = from * p->stride + width + h * p->d;
            float *to = out + first * width + h * p->d;
            if (bf16 != NULL)
                (tile_state_permitted() ? attention_amx : attention_bf16)(
                    &(struct attention_io){.out = to,
                                           .out_stride = width,
                                           .q = bf16 + query,
                                           .k = bf16 + key,
                                           .v = bf16 + key + width,
                                           .q_stride = p->stride,
                                           .kv_stride = p->stride,
                                           .count = block_of(p, first),
                                           .n = n,
                                           .d = p->d,
                                           .bias = one,
                                           .scratch = p->scratch});
            else
                kernels->attention(&(struct attention_io){.out = to,
                                                          .out_stride = width,
                                                          .q = p->qkv + query,
                                                          .k = p->qkv + key,
                                                          .v = p->qkv + key + width,
                                                          .q_stride = p->stride,
                                                          .kv_stride = p->stride,
                                                          .count = block_of(p, first),
                                                          .n = n,
                                                          .d = p->d,
                                                          .bias = one,
                                                          .scratch = p->scratch});
        }
}

/* out [n, n - from + 1] */
static void average_front(const struct problem *p, const struct kernels *kernels,
                          const uint16_t *bf16, size_t from, float *out)
{
    size_t n = p->n - from, key = from * p->stride + HEADS * p->d;
    for (size_t first = 0; first < p->n; first += ATTENTION_QUERIES) {
        struct attention_bias one = front_bias(p, 0, first, from);
        float *to = out + first * (n + 1);
        size_t query = first * p->stride;
        if (bf16 != NULL)
            attention_bf16_mean(&(struct attention_io){.out = to,
                                                       .out_stride = n + 1,
                                                       .q = bf16 + query,
                                                       .k = bf16 + key,
                                                       .q_stride = p->stride,
                                                       .kv_stride = p->stride,
                                                       .count = block_of(p, first),
                                                       .n = n,
                                                       .heads = HEADS,
                                                       .d = p->d,
                                                       .bias = one,
                                                       .scratch = p->scratch});
        else
            kernels->attention_mean(&(struct attention_io){.out = to,
                                                           .out_stride = n + 1,
                                                           .q = p->qkv + query,
                                                           .k = p->qkv + key,
                                                           .q_stride = p->stride,
                                                           .kv_stride = p->stride,
                                                           .count = block_of(p, first),
                                                           .n = n,
                                                           .heads = HEADS,
                                                           .d = p->d,
                                                           .bias = one,
                                                           .scratch = p->scratch});
    }
}

/* Attention to the first key and those from `from` on, against all keys with the others masked. */
static void check_front(const struct problem *p, const struct kernels *kernels,
                        const uint16_t *bf16, size_t from)
{
    size_t n = p->n - from;
    attend(p, &kernels_reference, p->expected);
    attend_front(p, kernels, bf16, from, p->out);
    ck_assert_msg(numbers_difference(p->out, p->expected, p->n * HEADS * p->d) <
                      (bf16 != NULL ? 2.0 / 256 : 5e-6),
                  "%s: %zu keys from %zu on", kernels->name, p->n, from);
    average(p, &kernels_reference, p->expected);
    average_front(p, kernels, bf16, from, p->out);
    for (size_t i = 0; i < p->n; i++) {
        const float *got = p->out + i * (n + 1), *whole = p->expected + i * p->n;
        ck_assert(fabs((double)got[0] - (double)whole[0]) < 1e-5);
        ck_assert(numbers_difference(got + 1, whole + from, n) < 1e-5);
    }
}

START_TEST(a_key_in_front_of_the_others_is_seen_by_all_without_a_bias)
{
    static const size_t lengths[] = {2, 17, 33, 150, 160, 300};
    static const size_t froms[] = {1, 2, 5, 16};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t f = 0; f < sizeof froms / sizeof *froms && froms[f] < lengths[i]; f++) {
            struct halves half = halves_new(lengths[i], 32, bias_by_matrix);
            mask_between(&half.p, froms[f]);
            for (int v = 0; v < VARIANTS; v++)
                if (kernels_runnable(variants[v]))
                    check_front(&half.p, variants[v], NULL, froms[f]);
            if (attention_bf16_runnable(32))
                check_front(&half.p, kernels_best(), half.qkv, froms[f]);
            free(half.qkv);
            problem_free(&half.p);
        }
}
END_TEST

SUITE("attention_bias", the_oracle_adds_the_bias_to_the_scores_as_the_equation_says,
      biased_attention_agrees_with_the_oracle_at_odd_lengths_and_widths,
      a_bias_of_zeros_changes_nothing_that_a_score_can_show,
      large_biases_of_either_sign_pick_keys_and_overflow_nowhere,
      biased_bf16_attention_agrees_with_the_oracle,
      a_key_in_front_of_the_others_is_seen_by_all_without_a_bias)
