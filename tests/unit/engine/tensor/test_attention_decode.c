/* Attention of one query whose keys lie in slots, against the oracle and against the attention of
 * blocks; and what a decoder relies on: heads and slots do not matter for each other. */
#include "engine/tensor/kernels.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kernels *const variants[] = {&kernels_avx512, &kernels_avx2, &kernels_generic};
enum { VARIANTS = sizeof variants / sizeof variants[0], HEADS = 3, KEYS = 300, WIDTH_MAX = 144 };
static const size_t widths[] = {1, 3, 6, 8, 16, 17, 24, 32, 64, 80, 128, 144};
static const size_t counts[] = {1, 2, 3, 5, 16, 17, 63, 64, 150, KEYS};

/* Keys and values of KEYS slots, side by side as in a cache. */
struct keys {
    size_t d;
    float *q, *kv, *bias, *out, *scores;
    uint32_t slots[KEYS];
    struct decode_io io;
};

static struct keys keys_new(size_t d, size_t n)
{
    struct keys keys = {.d = d,
                        .q = numbers_new(HEADS * d, 1, 1),
                        .kv = numbers_new(KEYS * 2 * HEADS * d, 1, 2),
                        .bias = numbers_new(HEADS * KEYS, 2, 3),
                        .out = numbers_new(HEADS * d, 1, 4),
                        .scores = numbers_new(HEADS * KEYS, 1, 5)};
    for (uint32_t i = 0; i < KEYS; i++)
        keys.slots[i] = i * 7 % KEYS; /* 7 and 300 have no common factor */
    keys.io = (struct decode_io){.out = keys.out,
                                 .q = keys.q,
                                 .k = keys.kv,
                                 .v = keys.kv + HEADS * d,
                                 .kv_stride = 2 * HEADS * d,
                                 .n = n,
                                 .d = d,
                                 .heads = HEADS,
                                 .scores = keys.scores,
                                 .scores_step = KEYS};
    return keys;
}

static void keys_free(struct keys *keys)
{
    free(keys->q), free(keys->kv), free(keys->bias), free(keys->out), free(keys->scores);
}

static void check(const struct kernels *kernels, size_t d, size_t n, bool has_slots, bool has_bias)
{
    struct keys keys = keys_new(d, n);
    float expected[HEADS * WIDTH_MAX], scores[HEADS * KEYS];
    struct decode_io io = keys.io;
    io.slots = keys.io.slots = has_slots ? keys.slots : NULL;
    io.bias = keys.io.bias = has_bias ? keys.bias : NULL;
    io.bias_step = keys.io.bias_step = KEYS;
    io.out = expected;
    io.scores = scores;
    kernels_reference.attention_decode(&io);
    kernels->attention_decode(&keys.io);
    const double out = numbers_difference(keys.out, expected, HEADS * d);
    ck_assert_msg(out < 1e-5, "%s, %zu numbers, %zu keys: %g", kernels->name, d, n, out);
    for (size_t h = 0; h < HEADS; h++)
        ck_assert_msg(numbers_difference(keys.scores + h * KEYS, scores + h * KEYS, n) < 1e-5,
                      "%s, %zu numbers, %zu keys: probabilities", kernels->name, d, n);
    keys_free(&keys);
}

START_TEST(attention_decode_agrees_with_the_oracle)
{
    for (int v = 0; v < VARIANTS; v++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths && kernels_runnable(variants[v]); w++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                for (int mode = 0; mode < 4; mode++)
                    check(variants[v], widths[w], counts[c], mode & 1, mode & 2);
}
END_TEST

/* The last query of a block sees the same keys: the same sums in another order. */
START_TEST(attention_decode_agrees_with_the_attention_of_blocks)
{
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const size_t d = widths[w], n = 150;
        const struct kernels *kernels = kernels_best();
        struct keys keys = keys_new(d, n);
        float *scratch = aligned_alloc(64, (attention_scratch(d) * sizeof *scratch + 63) / 64 * 64);
        float out[WIDTH_MAX], scaled[WIDTH_MAX];
        kernels->attention_decode(&keys.io);
        for (size_t h = 0; h < HEADS; h++) {
            for (size_t c = 0; c < d; c++) /* that kernel divides by sqrt(d) */
                scaled[c] = keys.q[h * d + c] * sqrtf((float)d);
            kernels->attention(&(struct attention_io){.out = out,
                                                      .out_stride = d,
                                                      .q = scaled,
                                                      .q_stride = d,
                                                      .k = keys.kv + h * d,
                                                      .v = keys.kv + (HEADS + h) * d,
                                                      .kv_stride = keys.io.kv_stride,
                                                      .count = 1,
                                                      .n = n,
                                                      .d = d,
                                                      .scratch = scratch});
            ck_assert_msg(numbers_difference(out, keys.out + h * d, d) < 1e-5, "%zu numbers", d);
        }
        free(scratch);
        keys_free(&keys);
    }
}
END_TEST

/* Bit by bit: heads computed alone, and keys moved to other slots. */
START_TEST(a_head_and_its_keys_give_the_same_wherever_they_lie)
{
    for (int v = 0; v < VARIANTS; v++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths && kernels_runnable(variants[v]);
             w++) {
            const size_t d = widths[w], row = 2 * HEADS * d;
            struct keys keys = keys_new(d, 77);
            float one[WIDTH_MAX];
            float *moved = numbers_new(KEYS * row, 1, 9);
            variants[v]->attention_decode(&keys.io);
            for (size_t j = 0; j < 77; j++)
                memcpy(moved + keys.slots[j] * row, keys.kv + j * row, row * sizeof *moved);
            for (size_t h = 0; h < HEADS; h++) {
                struct decode_io io = keys.io;
                io.out = one;
                io.q += h * d;
                io.k = moved + h * d;
                io.v = moved + (HEADS + h) * d;
                io.slots = keys.slots;
                io.heads = 1;
                variants[v]->attention_decode(&io);
                ck_assert_mem_eq(one, keys.out + h * d, d * sizeof *one);
            }
            free(moved);
            keys_free(&keys);
        }
}
END_TEST

START_TEST(probabilities_of_attention_decode_sum_to_one_and_no_number_stays_none)
{
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        struct keys keys = keys_new(24, 50);
        variants[v]->attention_decode(&keys.io);
        for (size_t h = 0; h < HEADS; h++) {
            double sum = 0;
            for (size_t j = 0; j < 50; j++)
                sum += (double)keys.scores[h * KEYS + j];
            ck_assert_double_eq_tol(sum, 1, 1e-6);
        }
        keys.kv[3] = NAN;
        variants[v]->attention_decode(&keys.io);
        ck_assert(isnan(keys.out[0]) && !isnan(keys.out[24]));
        keys_free(&keys);
    }
}
END_TEST

SUITE("attention_decode", attention_decode_agrees_with_the_oracle,
      attention_decode_agrees_with_the_attention_of_blocks,
      a_head_and_its_keys_give_the_same_wherever_they_lie,
      probabilities_of_attention_decode_sum_to_one_and_no_number_stays_none)
