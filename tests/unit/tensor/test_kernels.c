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

static void check_epilogue(const struct kernels *kernels, size_t columns, enum activation act,
                           int with_residual)
{
    size_t rows = 3, stride = columns + 5, n = rows * stride;
    float *y = numbers_new(n, 6, 4), *bias = numbers_new(columns, 1, 5);
    float *residual = numbers_new(n, 2, 6), *expected = numbers_new(n, 6, 4);
    kernels_reference.epilogue(expected, bias, with_residual ? residual : NULL, rows, columns,
                               stride, act);
    kernels->epilogue(y, bias, with_residual ? residual : NULL, rows, columns, stride, act);
    double difference = numbers_difference(y, expected, n);
    ck_assert_msg(difference < 2e-6, "%s, %zu columns, activation %d: %g", kernels->name, columns,
                  act, difference);
    free(y), free(bias), free(residual), free(expected);
}

START_TEST(epilogue_agrees_with_the_oracle_and_leaves_the_gap_between_rows)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (int act = 0; act < ACTIVATION_COUNT; act++)
                for (int residual = 0; residual < 2; residual++)
                    check_epilogue(variants[v], sizes[s], (enum activation)act, residual);
}
END_TEST

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
            kernels_reference.epilogue(expected, zero, NULL, 1, COUNT, COUNT, (enum activation)act);
            variants[v]->epilogue(x, zero, NULL, 1, COUNT, COUNT, (enum activation)act);
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(fabsf(x[i] - expected[i]) <= 1.5e-6f + 2e-7f * fabsf(expected[i]),
                              "%s: activation %d gives %g for %g", variants[v]->name, act,
                              (double)x[i], (double)expected[i]);
        }
    }
    free(x), free(expected), free(zero);
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
      gelu_is_exact_over_the_whole_range, softmax_agrees_with_the_oracle_also_for_huge_logits,
      attention_agrees_with_the_oracle_at_odd_lengths_and_widths)
