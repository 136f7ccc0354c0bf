/* Every instruction set's kernels against the oracle, at sizes that do and do not fill vectors. */
#include "engine/tensor/kernels.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kernels *const variants[] = {&kernels_avx512, &kernels_avx2, &kernels_generic};
static const size_t sizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 48, 64, 80, 100, 197, 513};
enum { VARIANTS = sizeof variants / sizeof variants[0], SIZES = sizeof sizes / sizeof sizes[0] };

START_TEST(layer_norm_agrees_with_the_oracle)
{
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        for (int s = 0; s < SIZES; s++) {
            size_t width = sizes[s], rows = 5, n = rows * width;
            float *x = numbers_new(n, 4, 1), *gamma = numbers_new(width, 1, 2);
            float *beta = numbers_new(width, 1, 3);
            float *y = numbers_new(n, 0, 0), *expected = numbers_new(n, 0, 0);
            kernels_reference.layer_norm(expected, x, gamma, beta, rows, width, 1e-5f);
            variants[v]->layer_norm(y, x, gamma, beta, rows, width, 1e-5f);
            ck_assert_msg(numbers_difference(y, expected, n) < 1e-5, "%s, width %zu: %g",
                          variants[v]->name, width, numbers_difference(y, expected, n));
            variants[v]->layer_norm(x, x, gamma, beta, rows, width, 1e-5f);
            ck_assert_msg(memcmp(x, y, n * sizeof *x) == 0, "in place differs");
            free(x), free(gamma), free(beta), free(y), free(expected);
        }
    }
}
END_TEST

/* [3, columns] with gaps between the rows, from fp32 or int32 sums. */
static void check_epilogue(const struct kernels *kernels, size_t columns, enum activation act,
                           bool with_residual, bool integer)
{
    size_t rows = 3, stride = columns + 5, n = rows * stride;
    float *sums = numbers_new(n, 6, 4), *bias = numbers_new(columns, 1, 5);
    float *residual = numbers_new(n, 2, 6), *scale = numbers_new(columns, 1, 8);
    float *y = numbers_new(n, 1, 9), *expected = numbers_new(n, 1, 9);
    int32_t *offset = calloc(columns, sizeof *offset);
    for (size_t i = 0; integer && i < n; i++)
        ((int32_t *)(void *)sums)[i] = (int32_t)(sums[i] * 1000);
    for (size_t c = 0; c < columns; c++)
        offset[c] = (int32_t)c * 10;
    struct epilogue epilogue = {.y = expected,
                                .y_stride = stride,
                                .sums = sums,
                                .sums_stride = stride,
                                .row_scale = integer ? (float[]){1e-3f, 2e-3f, 0} : NULL,
                                .column_scale = integer ? scale : NULL,
                                .offset = integer ? offset : NULL,
                                .bias = bias,
                                .residual = with_residual ? residual : NULL,
                                .residual_stride = stride,
                                .rows = rows,
                                .columns = columns,
                                .act = act};
    kernels_reference.epilogue(&epilogue);
    epilogue.y = y;
    kernels->epilogue(&epilogue);
    double difference = numbers_difference(y, expected, n);
    ck_assert_msg(difference < 2e-6, "%s, %zu columns, activation %d, %s sums: %g", kernels->name,
                  columns, act, integer ? "int32" : "fp32", difference);
    free(sums), free(bias), free(residual), free(scale), free(y), free(expected), free(offset);
}

START_TEST(epilogue_agrees_with_the_oracle_and_leaves_the_gap_between_rows)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (int act = 0; act < ACTIVATION_COUNT; act++)
                for (int mode = 0; mode < 4; mode++)
                    check_epilogue(variants[v], sizes[s], (enum activation)act, mode & 1, mode & 2);
}
END_TEST

static void activate(const struct kernels *kernels, float *x, const float *zero, size_t n,
                     enum activation act)
{
    struct epilogue epilogue = {.y = x,
                                .y_stride = n,
                                .sums = x,
                                .sums_stride = n,
                                .bias = zero,
                                .rows = 1,
                                .columns = n,
                                .act = act};
    kernels->epilogue(&epilogue);
}

START_TEST(gelu_is_exact_over_the_whole_range)
{
    enum { COUNT = 40001 };
    float *x = numbers_new(COUNT, 0, 0), *expected = numbers_new(COUNT, 0, 0);
    float *zero = calloc(COUNT, sizeof *zero);
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        for (int act = ACTIVATION_GELU; act < ACTIVATION_COUNT; act++) {
            for (int i = 0; i < COUNT; i++)
                expected[i] = x[i] = (float)(i - COUNT / 2) * 5e-4f * (i % 7 == 0 ? 1000 : 1);
            activate(&kernels_reference, expected, zero, COUNT, (enum activation)act);
            activate(variants[v], x, zero, COUNT, (enum activation)act);
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(fabsf(x[i] - expected[i]) <= 1.5e-6f + 2e-7f * fabsf(expected[i]),
                              "%s: activation %d gives %g for %g", variants[v]->name, act,
                              (double)x[i], (double)expected[i]);
        }
    }
    free(x), free(expected), free(zero);
}
END_TEST

/* A product that lies in the middle between two integers may go to either: the vector kernels
 * round once, the oracle twice. */
START_TEST(quantize_rounds_to_the_nearest_step_and_writes_nothing_behind)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            size_t n = sizes[s];
            float *x = numbers_new(n, 3, (uint32_t)n);
            uint8_t q[600], expected[600];
            memset(q, 0xAA, sizeof q);
            float max = variants[v]->max_abs(x, n);
            ck_assert(max == kernels_reference.max_abs(x, n)); /* exact */
            variants[v]->quantize(q, x, n, 127 / max);
            kernels_reference.quantize(expected, x, n, 127 / max);
            for (size_t i = 0; i < n; i++)
                ck_assert_msg(
                    q[i] == expected[i] || fabsf(x[i] * 127 / max + 128 - (float)q[i]) < 0.5001f,
                    "%s: %g becomes %d", variants[v]->name, (double)(x[i] * 127 / max), q[i]);
            ck_assert_int_eq(q[n], 0xAA);
            free(x);
        }
}
END_TEST

START_TEST(bf16_is_rounded_to_nearest_even)
{
    static const float given[] = {0, -0.0f, 1, -1.5f, 1.00390625f, 1.01171875f, 3.0e38f, 1e-40f};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            size_t n = sizes[s];
            float *x = numbers_new(n, 1e3f, (uint32_t)n);
            uint16_t out[600], expected[600];
            memcpy(x, given, (n < 8 ? n : 8) * sizeof *x);
            memset(out, 0xAA, sizeof out);
            variants[v]->round_bf16(out, x, n);
            kernels_reference.round_bf16(expected, x, n);
            ck_assert_msg(memcmp(out, expected, n * sizeof *out) == 0, "%s", variants[v]->name);
            ck_assert_int_eq(out[n], 0xAAAA);
            free(x);
        }
}
END_TEST

START_TEST(softmax_agrees_with_the_oracle_also_for_huge_logits)
{
    static const float ranges[] = {0, 1, 50, 3e4f};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (int r = 0; r < 4; r++) {
                size_t n = sizes[s];
                float *x = numbers_new(n, ranges[r], 7), *p = numbers_new(n, 0, 0);
                float *expected = numbers_new(n, 0, 0);
                kernels_reference.softmax(expected, x, n);
                variants[v]->softmax(p, x, n);
                ck_assert_msg(numbers_difference(p, expected, n) < 1e-6, "%s, n = %zu",
                              variants[v]->name, n);
                free(x), free(p), free(expected);
            }
}
END_TEST

static void check_attention(const struct kernels *kernels, size_t n, size_t d)
{
    size_t stride = 3 * d + 7, out_stride = d + 3;
    float *qkv = numbers_new(n * stride, 2, (uint32_t)(n * 1000 + d));
    float *out = numbers_new(n * out_stride, 1, 9), *expected = numbers_new(n * out_stride, 1, 9);
    float *scratch = numbers_new(attention_scratch(n, d), 1e30f, 10);
    kernels_reference.attention(expected, out_stride, qkv, qkv + d, qkv + 2 * d, stride, n, d,
                                scratch);
    numbers_fill(scratch, attention_scratch(n, d), 1e30f, 10);
    kernels->attention(out, out_stride, qkv, qkv + d, qkv + 2 * d, stride, n, d, scratch);
    double difference = numbers_difference(out, expected, n * out_stride);
    ck_assert_msg(difference < 5e-6, "%s, n = %zu, d = %zu: %g", kernels->name, n, d, difference);
    free(qkv), free(out), free(expected), free(scratch);
}

START_TEST(attention_agrees_with_the_oracle_at_odd_lengths_and_widths)
{
    static const size_t widths[] = {1, 5, 16, 20, 32, 33, 64, 80};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
                if (sizes[s] < 200 || widths[w] == 64)
                    check_attention(variants[v], sizes[s], widths[w]);
}
END_TEST

SUITE("kernels", layer_norm_agrees_with_the_oracle,
      epilogue_agrees_with_the_oracle_and_leaves_the_gap_between_rows,
      gelu_is_exact_over_the_whole_range,
      quantize_rounds_to_the_nearest_step_and_writes_nothing_behind,
      bf16_is_rounded_to_nearest_even, softmax_agrees_with_the_oracle_also_for_huge_logits,
      attention_agrees_with_the_oracle_at_odd_lengths_and_widths)
