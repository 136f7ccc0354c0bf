/* Every instruction set's kernels against the oracle, at sizes that do and do not fill vectors. */
#include "engine/tensor/kernels.h"
#include "engine/tensor/simd.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kernels *const variants[] = {&kernels_avx512, &kernels_avx2, &kernels_generic};
static const size_t sizes[] = {1,  2,  3,  7,  8,  9,  12,  15,  16, 17,
                               31, 32, 33, 48, 64, 80, 100, 197, 513};
enum { VARIANTS = sizeof variants / sizeof variants[0], SIZES = sizeof sizes / sizeof sizes[0] };

/* The other tests leave out what this processor does not run; here it is said. */
START_TEST(kernels_run_here_at_least_in_plain_c)
{
    for (int v = 0; v < VARIANTS; v++)
        if (!kernels_runnable(variants[v]))
            suite_skipped(variants[v]->name, "this processor does not run these kernels");
    ck_assert(kernels_runnable(&kernels_generic));
    ck_assert(kernels_runnable(kernels_best()));
}
END_TEST

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
            kernels_reference.layer_norm(expected, width, x, width, gamma, beta, rows, width,
                                         1e-5f);
            variants[v]->layer_norm(y, width, x, width, gamma, beta, rows, width, 1e-5f);
            ck_assert_msg(numbers_difference(y, expected, n) < 1e-5, "%s, width %zu: %g",
                          variants[v]->name, width, numbers_difference(y, expected, n));
            variants[v]->layer_norm(x, width, x, width, gamma, beta, rows, width, 1e-5f);
            ck_assert_msg(memcmp(x, y, n * sizeof *x) == 0, "in place differs");
            free(x), free(gamma), free(beta), free(y), free(expected);
        }
    }
}
END_TEST

START_TEST(rms_norm_agrees_with_the_oracle)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            const size_t width = sizes[s], rows = 5, stride = width + 3, n = rows * stride;
            float *x = numbers_new(n, 4, 1), *gamma = numbers_new(width, 1, 2);
            float *y = numbers_new(n, 1, 3), *expected = numbers_new(n, 1, 3);
            kernels_reference.rms_norm(expected, stride, x, stride, gamma, rows, width, 1e-6f);
            variants[v]->rms_norm(y, stride, x, stride, gamma, rows, width, 1e-6f);
            ck_assert_msg(numbers_difference(y, expected, n) < 1e-5, "%s, width %zu: %g",
                          variants[v]->name, width, numbers_difference(y, expected, n));
            variants[v]->rms_norm(x, stride, x, stride, gamma, rows, width, 1e-6f);
            for (size_t r = 0; r < rows; r++)
                ck_assert_mem_eq(x + r * stride, y + r * stride, width * sizeof *x);
            free(x), free(gamma), free(y), free(expected);
        }
}
END_TEST

START_TEST(rms_norm_of_what_is_beyond_fp32_is_no_number)
{
    static const float given[] = {NAN, INFINITY, 3e38f};
    float gamma[20], y[20];
    for (size_t i = 0; i < 20; i++)
        gamma[i] = 1;
    for (int v = 0; v < VARIANTS; v++)
        for (size_t g = 0; g < 3 && kernels_runnable(variants[v]); g++) {
            float x[20] = {1, 2, 3};
            x[17] = given[g];
            variants[v]->rms_norm(y, 20, x, 20, gamma, 1, 20, 1e-6f);
            for (size_t i = 0; i < 20; i++)
                ck_assert_msg(isnan(y[i]), "%s: %g", variants[v]->name, (double)given[g]);
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
    int32_t *sum = calloc(columns, sizeof *sum);
    for (size_t i = 0; integer && i < n; i++)
        ((int32_t *)(void *)sums)[i] = (int32_t)(sums[i] * 1000);
    for (size_t c = 0; c < columns; c++)
        sum[c] = (int32_t)c % 7 - 3;
    struct epilogue epilogue = {.y = expected,
                                .y_stride = stride,
                                .sums = sums,
                                .sums_stride = stride,
                                .row_scale = integer ? (float[]){1e-3f, 2e-3f, 0} : NULL,
                                .column_scale = integer ? scale : NULL,
                                .row_zero = integer ? (int32_t[]){0, -127, 127} : NULL,
                                .column_sum = integer ? sum : NULL,
                                .zero_point = act % 2 == 0 ? 128 : 0,
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
    const bool is_gelu = act == ACTIVATION_GELU; /* coarse for bytes, and from fp32 to bf16 */
    ck_assert_msg(difference < (is_gelu && integer ? 6e-5 : 2e-6),
                  "%s, %zu columns, activation %d, %s sums: %g", kernels->name, columns, act,
                  integer ? "int32" : "fp32", difference);
    uint16_t *halves = malloc(n * sizeof *halves), *rounded = malloc(n * sizeof *rounded);
    memset(halves, 0xA5, n * sizeof *halves);
    memset(rounded, 0xA5, n * sizeof *rounded);
    epilogue.y_bf16 = halves;
    kernels->epilogue(&epilogue);
    for (size_t r = 0; r < rows; r++)
        kernels->round_bf16(rounded + r * stride, y + r * stride, columns);
    for (size_t i = 0; i < n && is_gelu; i++) {
        const uint32_t bits = (uint32_t)halves[i] << 16;
        float wide;
        memcpy(&wide, &bits, sizeof wide);
        if (i % stride < columns &&
            fabsf(wide - expected[i]) < (integer ? 2e-6f : 6e-5f) + fabsf(expected[i]) / 256)
            rounded[i] = halves[i];
    }
    ck_assert_msg(memcmp(halves, rounded, n * sizeof *halves) == 0, "%s, %zu columns in bf16",
                  kernels->name, columns);
    free(halves), free(rounded);
    free(sums), free(bias), free(residual), free(scale), free(y), free(expected), free(sum);
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

/* Widths are odd, in place and not, and nothing is written behind. */
START_TEST(gate_agrees_with_the_oracle_and_may_overwrite_its_operand)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (int act = 0; act < ACTIVATION_COUNT; act++) {
                size_t n = sizes[s];
                float *x = numbers_new(2 * n, 6, 4), *y = numbers_new(n + 1, 1, 5);
                float *expected = numbers_new(n + 1, 1, 5);
                kernels_reference.gate(expected, x, n, (enum activation)act);
                variants[v]->gate(y, x, n, (enum activation)act);
                ck_assert_msg(numbers_difference(y, expected, n + 1) < 1e-5, "%s, %zu, %d",
                              variants[v]->name, n, act);
                variants[v]->gate(x, x, n, (enum activation)act);
                ck_assert_mem_eq(x, y, n * sizeof *x);
                free(x), free(y), free(expected);
            }
}
END_TEST

/* Both GELUs and tanh over [-20, 20] and, every seventh, over [-20000, 20000]. */
START_TEST(activations_are_exact_over_the_whole_range)
{
    enum { COUNT = 40001 };
    float *x = numbers_new(COUNT, 0, 0), *expected = numbers_new(COUNT, 0, 0);
    float *zero = calloc(COUNT, sizeof *zero);
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        for (int act = ACTIVATION_GELU; act < ACTIVATION_COUNT; act++) {
            for (int i = 0; i < COUNT; i++)
                expected[i] = x[i] = (float)(i - COUNT / 2) * 1e-3f * (i % 7 == 0 ? 1000 : 1);
            activate(&kernels_reference, expected, zero, COUNT, (enum activation)act);
            activate(variants[v], x, zero, COUNT, (enum activation)act);
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(fabsf(x[i] - expected[i]) <= 3e-7f * fmaxf(1, fabsf(expected[i])),
                              "%s: activation %d gives %g for %g", variants[v]->name, act,
                              (double)x[i], (double)expected[i]);
        }
    }
    free(x), free(expected), free(zero);
}
END_TEST

/* libm's erf in double over a million points, where the polynomial works and where it is clamped;
 * around 0 the relative digits too. */
START_TEST(gelu_stays_within_its_stated_error)
{
    enum { BATCH = 4096, BATCHES = 256 };
    static float x[BATCH], y[BATCH], zero[BATCH];
    for (int v = 0; v < VARIANTS; v++)
        for (int batch = 0; batch < BATCHES && kernels_runnable(variants[v]); batch++) {
            for (int i = 0; i < BATCH; i++)
                y[i] = x[i] = (float)(batch * BATCH + i - BATCH * BATCHES / 2) * 2.4e-5f;
            activate(variants[v], y, zero, BATCH, ACTIVATION_GELU);
            for (int i = 0; i < BATCH; i++) {
                double expected = 0.5 * x[i] * (1 + erf(x[i] / sqrt(2)));
                double bound = 2e-7 * fmax(1, fabs((double)x[i]));
                if (fabsf(x[i]) < 0.25f)
                    bound = 1.5e-6 * fabs(expected);
                ck_assert_msg(fabs(y[i] - expected) <= bound, "%s: %.9g for %.9g, not %.9g",
                              variants[v]->name, (double)y[i], (double)x[i], expected);
            }
        }
}
END_TEST

START_TEST(gelu_of_infinities_and_nan_is_what_it_should_be)
{
    for (int v = 0; v < VARIANTS; v++) {
        float y[5] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f}, zero[5] = {0};
        if (!kernels_runnable(variants[v]))
            continue;
        activate(variants[v], y, zero, 5, ACTIVATION_GELU);
        ck_assert(isinf(y[0]) && fabsf(y[1]) < 1e-9f && isnan(y[2]));
        ck_assert(y[3] == 3e38f && fabsf(y[4]) < 1e-9f);
    }
}
END_TEST

/* The bits of what is not a number differ; processors make the second one. */
static float nan_of(int i)
{
    static const uint32_t bits[] = {0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFFC001FF};
    float x;
    memcpy(&x, &bits[i % 4], sizeof x);
    return x;
}

enum { WIDTH = 37 }; /* whole vectors and a part */

static unsigned count_nan(const float *x, size_t n)
{
    unsigned count = 0;
    for (size_t i = 0; i < n; i++)
        count += isnan(x[i]);
    return count;
}

START_TEST(activations_let_nan_pass_and_touch_no_neighbour)
{
    float zero[WIDTH] = {0};
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        for (size_t at = 0; at < WIDTH && kernels_runnable(kernels); at++)
            for (int act = 0; act < ACTIVATION_COUNT; act++) {
                float y[WIDTH] = {0};
                y[at] = nan_of((int)at);
                activate(kernels, y, zero, WIDTH, (enum activation)act);
                ck_assert_msg(isnan(y[at]) && count_nan(y, WIDTH) == 1, "%s, activation %d, %zu",
                              kernels->name, act, at);
            }
    }
}
END_TEST

START_TEST(activations_of_infinities_are_their_limits_or_not_finite)
{
    static const float limits[ACTIVATION_COUNT][2] = {
        [ACTIVATION_NONE] = {INFINITY, -INFINITY},
        [ACTIVATION_GELU] = {INFINITY, 0},
        [ACTIVATION_GELU_TANH] = {INFINITY, 0},
        [ACTIVATION_RELU] = {INFINITY, 0},
        [ACTIVATION_TANH] = {1, -1},
    };
    float zero[2] = {0};
    for (int v = 0; v < VARIANTS; v++)
        for (int act = 0; act < ACTIVATION_COUNT && kernels_runnable(variants[v]); act++) {
            float y[2] = {INFINITY, -INFINITY};
            activate(variants[v], y, zero, 2, (enum activation)act);
            for (int i = 0; i < 2; i++)
                ck_assert_msg(y[i] == limits[act][i] || fabsf(y[i] - limits[act][i]) < 1e-9f ||
                                  !isfinite(y[i]),
                              "%s, activation %d: %g", variants[v]->name, act, y[i]);
        }
}
END_TEST

START_TEST(softmax_of_nan_or_infinity_is_nan_throughout)
{
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        for (size_t at = 0; at < WIDTH && kernels_runnable(kernels); at++)
            for (int infinite = 0; infinite < 2; infinite++) {
                float x[WIDTH] = {0};
                x[at] = infinite ? INFINITY : nan_of((int)at);
                kernels->softmax(x, x, WIDTH);
                ck_assert_msg(count_nan(x, WIDTH) == WIDTH, "%s, %zu", kernels->name, at);
            }
    }
}
END_TEST

START_TEST(softmax_of_minus_infinity_is_zero)
{
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        float x[WIDTH] = {0};
        if (!kernels_runnable(kernels))
            continue;
        x[3] = x[36] = -INFINITY;
        kernels->softmax(x, x, WIDTH);
        ck_assert(x[3] < 1e-37f && x[36] < 1e-37f && fabsf(x[0] * (WIDTH - 2) - 1) < 1e-5f);
    }
}
END_TEST

START_TEST(layer_norm_of_nan_or_infinity_is_nan_in_that_row_alone)
{
    enum { ROWS = 5 };
    float zero[WIDTH] = {0};
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        for (size_t at = 0; at < ROWS * WIDTH && kernels_runnable(kernels); at++) {
            float x[ROWS * WIDTH] = {0};
            x[at] = at % 2 == 0 ? nan_of((int)at) : at % 4 == 1 ? INFINITY : -INFINITY;
            kernels->layer_norm(x, WIDTH, x, WIDTH, zero, zero, ROWS, WIDTH, 1e-5f);
            ck_assert_msg(count_nan(x + at / WIDTH * WIDTH, WIDTH) == WIDTH &&
                              count_nan(x, ROWS * WIDTH) == WIDTH,
                          "%s, %zu", kernels->name, at);
        }
    }
}
END_TEST

/* 1e25 squared is no float. */
START_TEST(layer_norm_of_a_variance_beyond_fp32_is_nan)
{
    for (int v = 0; v < VARIANTS; v++) {
        float x[WIDTH], ones[WIDTH], zero[WIDTH] = {0};
        for (int i = 0; i < WIDTH; i++) {
            x[i] = i % 2 == 0 ? 1e25f : -1e25f;
            ones[i] = 1;
        }
        if (!kernels_runnable(variants[v]))
            continue;
        variants[v]->layer_norm(x, WIDTH, x, WIDTH, ones, zero, 1, WIDTH, 1e-5f);
        ck_assert_msg(count_nan(x, WIDTH) == WIDTH, "%s: %g", variants[v]->name, (double)x[0]);
    }
}
END_TEST

START_TEST(max_abs_of_nan_is_nan_and_of_infinity_infinite)
{
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        for (size_t at = 0; at < WIDTH && kernels_runnable(kernels); at++) {
            float x[WIDTH];
            for (size_t i = 0; i < WIDTH; i++)
                x[i] = i % 2 == 0 ? 3e38f : -INFINITY;
            ck_assert(kernels->max_abs(x, WIDTH) == INFINITY);
            x[at] = nan_of((int)at);
            ck_assert_msg(isnan(kernels->max_abs(x, WIDTH)), "%s, %zu", kernels->name, at);
        }
    }
}
END_TEST

START_TEST(range_has_zero_in_it_and_both_ends_of_a_nan_are_nan)
{
    for (int v = -1; v < VARIANTS; v++)
        for (int s = 0; s < SIZES; s++) {
            const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
            if (!kernels_runnable(kernels))
                continue;
            const size_t n = sizes[s];
            for (int shift = -1; shift <= 1; shift++) {
                float *x = numbers_new(n, 3, (uint32_t)n), low = 0, high = 0, found_low, found_high;
                for (size_t i = 0; i < n; i++) {
                    x[i] += 4 * (float)shift;
                    low = x[i] < low ? x[i] : low;
                    high = x[i] > high ? x[i] : high;
                }
                kernels->range(&found_low, &found_high, x, n);
                ck_assert(found_low == low && found_high == high);
                x[n / 2] = nan_of(s);
                kernels->range(&found_low, &found_high, x, n);
                ck_assert_msg(isnan(found_low) && isnan(found_high), "%s, %zu", kernels->name, n);
                free(x);
            }
        }
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
            const int zero = s % 2 == 0 ? 0 : -3;
            const float inverse = 124 / max;
            variants[v]->quantize(q, x, n, inverse, zero);
            kernels_reference.quantize(expected, x, n, inverse, zero);
            for (size_t i = 0; i < n; i++)
                ck_assert_msg(q[i] == expected[i] ||
                                  fabsf(x[i] * inverse + 128 + (float)zero - (float)q[i]) < 0.5001f,
                              "%s: %g becomes %d", variants[v]->name, (double)(x[i] * inverse),
                              q[i]);
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

/* Returns a bf16 as a number. */
static float widened(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

START_TEST(fp32_is_cut_into_three_bf16_whose_sum_it_is)
{
    static const float given[] = {0, -0.0f, 1, 1.00000012f, -3.4028235e38f, 1e-30f, 0.1f};
    enum { NUMBERS = 800, HALVES = 3 * NUMBERS };
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            const size_t n = sizes[s], end = (n + 31) / 32 * 96;
            float *x = numbers_new(n, 1e3f, (uint32_t)n);
            uint16_t out[HALVES], expected[HALVES];
            memcpy(x, given, (n < 7 ? n : 7) * sizeof *x);
            memset(out, 0xAA, sizeof out), memset(expected, 0, sizeof expected);
            variants[v]->cut_f32(out, x, n);
            kernels_reference.cut_f32(expected, x, n);
            for (size_t i = 0; i < n; i++) {
                const size_t at = i / 32 * 96 + i % 32;
                ck_assert_float_eq(widened(out[at]) + widened(out[at + 32]) + widened(out[at + 64]),
                                   x[i]);
                for (size_t part = 0; part < 96; part += 32)
                    ck_assert_msg(out[at + part] == expected[at + part], "%s, %zu of %zu",
                                  variants[v]->name, i, n);
            }
            ck_assert_uint_eq(out[end], 0xAAAA);
            free(x);
        }
}
END_TEST

START_TEST(parts_of_what_is_no_number_are_no_number)
{
    static const uint32_t bits[] = {0x7F800000, 0xFF800000, 0x7F800001, 0x7FFFFFFF, 0xFFC00000};
    for (int v = 0; v < VARIANTS; v++)
        for (size_t i = 0; i < sizeof bits / sizeof *bits && kernels_runnable(variants[v]); i++) {
            uint16_t out[96];
            float x;
            memcpy(&x, &bits[i], sizeof x);
            variants[v]->cut_f32(out, &x, 1);
            const float sum = widened(out[0]) + widened(out[32]) + widened(out[64]);
            ck_assert_msg(isnan(sum), "%s: %08x", variants[v]->name, bits[i]);
        }
}
END_TEST

START_TEST(bf16_pairs_are_two_rounded_numbers)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            size_t n = sizes[s];
            float *low = numbers_new(n, 1e3f, 1), *high = numbers_new(n, 1e-3f, 2);
            uint16_t halves[2][600];
            uint32_t pairs[601];
            memset(pairs, 0xAA, sizeof pairs);
            kernels_reference.round_bf16(halves[0], low, n);
            kernels_reference.round_bf16(halves[1], high, n);
            variants[v]->pair_bf16(pairs, low, high, n);
            for (size_t i = 0; i < n; i++)
                ck_assert_uint_eq(pairs[i], halves[0][i] | (uint32_t)halves[1][i] << 16);
            ck_assert_uint_eq(pairs[n], 0xAAAAAAAA);
            free(low), free(high);
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

START_TEST(log_sum_agrees_with_the_oracle_also_for_huge_logits)
{
    static const float ranges[] = {0, 1, 50, 3e4f};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (int r = 0; r < 4; r++) {
                size_t n = sizes[s];
                float *x = numbers_new(n, ranges[r], 7), max, expected_max;
                float expected = kernels_reference.log_sum(&expected_max, x, n);
                float sum = variants[v]->log_sum(&max, x, n);
                ck_assert_msg(fabsf(sum - expected) < 1e-6f * (1 + expected) && max == expected_max,
                              "%s, n = %zu: %g, %g", variants[v]->name, n, (double)sum,
                              (double)expected);
                free(x);
            }
}
END_TEST

START_TEST(log_sum_of_what_is_not_finite_is_nan)
{
    static const float odd[] = {NAN, INFINITY};
    float x[SIMD_WIDTH * 2 + 3], max;
    const size_t n = sizeof x / sizeof *x;
    for (int v = 0; v < VARIANTS; v++)
        for (size_t at = 0; at < 2 * n && kernels_runnable(variants[v]); at++) {
            for (size_t i = 0; i < n; i++)
                x[i] = (float)i;
            x[at % n] = odd[at / n];
            ck_assert_msg(isnan(variants[v]->log_sum(&max, x, n)), "%s, %zu", variants[v]->name,
                          at);
            x[at % n] = -INFINITY;
            ck_assert(isfinite(variants[v]->log_sum(&max, x, n)));
            for (size_t i = 0; i < n; i++)
                x[i] = -INFINITY;
            ck_assert(isnan(variants[v]->log_sum(&max, x, n)));
        }
}
END_TEST

START_TEST(next_above_finds_each_number_above)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++) {
            size_t n = sizes[s];
            float *x = numbers_new(n, 1, 8);
            for (float bound = -1.5f; bound < 1.5f; bound += 0.25f)
                for (size_t from = 0; from <= n; from++)
                    ck_assert_uint_eq(variants[v]->next_above(x, from, n, bound),
                                      kernels_reference.next_above(x, from, n, bound));
            ck_assert_uint_eq(variants[v]->next_above(x, 0, n, x[n - 1]) < n,
                              kernels_reference.next_above(x, 0, n, x[n - 1]) < n);
            free(x);
        }
}
END_TEST

/* e^x as the softmax of {0, x} gives it, to a few ulp at any size. */
START_TEST(softmax_keeps_the_digits_of_small_probabilities)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int i = 0; i < 8000 && kernels_runnable(variants[v]); i++) {
            float x[2] = {0, (float)i * -0.01f}, p[2];
            variants[v]->softmax(p, x, 2);
            double expected = exp(x[1]) / (1 + exp(x[1]));
            ck_assert_msg(fabs(p[1] / expected - 1) < 4e-7, "%s: %g for %g", variants[v]->name,
                          (double)p[1], (double)x[1]);
        }
}
END_TEST

/* ---- attention ---- */

/* Queries that attend to keys of another matrix, with numbers that must not be read behind the last of each. */
struct problem {
    size_t count, n, d, q_stride, kv_stride, out_stride;
    float *q, *kv, *out, *expected, *scratch;
};

enum { BEHIND = 3 };

static struct problem problem_new(size_t count, size_t n, size_t d, float q_range)
{
    struct problem p = {.count = count,
                        .n = n,
                        .d = d,
                        .q_stride = d + 5,
                        .kv_stride = 2 * d + 7,
                        .out_stride = d + 3};
    size_t q_rows = count + BEHIND, rows = n + BEHIND, outs = (count + BEHIND) * p.out_stride;
    p.q = numbers_new(q_rows * p.q_stride, q_range, (uint32_t)(n * 1000 + d));
    p.kv = numbers_new(rows * p.kv_stride, 2, (uint32_t)(n * 1000 + d + 1));
    p.out = numbers_new(outs, 1, 9);
    p.expected = numbers_new(outs, 1, 9);
    p.scratch = numbers_new(attention_scratch(d), 1e30f, 10);
    for (size_t i = count * p.q_stride; i < q_rows * p.q_stride; i++)
        p.q[i] = NAN;
    for (size_t i = n * p.kv_stride; i < rows * p.kv_stride; i++)
        p.kv[i] = NAN;
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->q), free(p->kv), free(p->out), free(p->expected), free(p->scratch);
}

static void problem_solve(const struct problem *p, const struct kernels *kernels, float *out)
{
    numbers_fill(p->scratch, attention_scratch(p->d), 1e30f, 10);
    kernels->attention(&(struct attention_io){.out = out,
                                              .out_stride = p->out_stride,
                                              .q = p->q,
                                              .k = p->kv,
                                              .v = p->kv + p->d,
                                              .q_stride = p->q_stride,
                                              .kv_stride = p->kv_stride,
                                              .count = p->count,
                                              .n = p->n,
                                              .d = p->d,
                                              .scratch = p->scratch});
}

/* Compares with the oracle, including the rows behind the last query: nobody may write there. */
static void problem_check(const struct problem *p, const struct kernels *kernels, double bound)
{
    size_t numbers = (p->count + BEHIND) * p->out_stride;
    problem_solve(p, &kernels_reference, p->expected);
    for (size_t i = 0; i < p->count * p->d; i++) /* what is written is not read before */
        p->out[i / p->d * p->out_stride + i % p->d] = NAN;
    problem_solve(p, kernels, p->out);
    double difference = numbers_difference(p->out, p->expected, numbers);
    ck_assert_msg(difference < bound, "%s, count = %zu, n = %zu, d = %zu: %g", kernels->name,
                  p->count, p->n, p->d, difference);
}

static void check_attention(const struct kernels *kernels, size_t count, size_t n, size_t d)
{
    struct problem p = problem_new(count, n, d, 2);
    problem_check(&p, kernels, 5e-6);
    problem_free(&p);
}

START_TEST(attention_agrees_with_the_oracle_at_odd_lengths_and_widths)
{
    static const size_t widths[] = {1, 2, 3, 5, 16, 20, 24, 31, 32, 33, 48, 64, 80, 127};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && kernels_runnable(variants[v]); s++)
            for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
                check_attention(variants[v], 1 + (sizes[s] * 7 + w * 5) % ATTENTION_QUERIES,
                                sizes[s], widths[w]);
}
END_TEST

START_TEST(attention_agrees_with_the_oracle_for_every_number_of_queries)
{
    for (int v = 0; v < VARIANTS; v++)
        for (size_t count = 1; count <= ATTENTION_QUERIES && kernels_runnable(variants[v]); count++)
            check_attention(variants[v], count, 33, 24);
}
END_TEST

START_TEST(attention_agrees_with_the_oracle_around_the_borders_of_key_tiles)
{
    for (int v = 0; v < VARIANTS; v++)
        for (size_t n = 1; n <= 600 && kernels_runnable(variants[v]); n++)
            if (n % ATTENTION_KEYS < 20 || n % ATTENTION_KEYS > ATTENTION_KEYS - 10)
                check_attention(variants[v], 3 + n % 30, n, 12);
}
END_TEST

/* fp32 keeps a score s to about |s| 2^-22, and that is the relative error of its exponential. */
START_TEST(attention_survives_scores_of_any_magnitude)
{
    static const float ranges[] = {0, 1e-20f, 20, 2.5e3f}; /* scores up to about 4 times as much */
    static const double bounds[] = {5e-6, 5e-6, 1e-4, 1e-2};
    for (int v = 0; v < VARIANTS; v++)
        for (size_t r = 0; r < 4 && kernels_runnable(variants[v]); r++)
            for (size_t n = 5; n < 500; n += 149) {
                struct problem p = problem_new(32, n, 16, ranges[r]);
                problem_check(&p, variants[v], bounds[r]);
                problem_free(&p);
            }
}
END_TEST

/* Scores that grow (or fall) from key to key, by up to `step`, one slope for each query. */
static void check_slope(const struct kernels *kernels, float step)
{
    struct problem p = problem_new(32, 500, 16, 0);
    for (size_t i = 0; i < p.count; i++)
        p.q[i * p.q_stride] = step * (float)i / 8; /* 4 = sqrt(d); at most 4 step */
    for (size_t j = 0; j < p.n; j++)
        p.kv[j * p.kv_stride] = (float)j;
    problem_check(&p, kernels, 1e-5 + fabs((double)step) * 500 * 5e-7);
    problem_free(&p);
}

START_TEST(attention_rescales_when_the_maximum_grows_tile_after_tile)
{
    static const float steps[] = {0.001f, 0.05f, 1, 20, -0.05f, -20};
    for (int v = 0; v < VARIANTS; v++)
        for (size_t s = 0; s < sizeof steps / sizeof *steps && kernels_runnable(variants[v]); s++)
            check_slope(variants[v], steps[s]);
}
END_TEST

START_TEST(attention_of_a_query_is_the_same_alone_and_in_any_block)
{
    for (int v = 0; v < VARIANTS; v++) {
        if (!kernels_runnable(variants[v]))
            continue;
        struct problem p = problem_new(ATTENTION_QUERIES, 197, 48, 2);
        problem_solve(&p, variants[v], p.expected);
        for (size_t i = 0; i < p.count; i++) {
            variants[v]->attention(&(struct attention_io){.out = p.out,
                                                          .out_stride = p.out_stride,
                                                          .q = p.q + i * p.q_stride,
                                                          .k = p.kv,
                                                          .v = p.kv + p.d,
                                                          .q_stride = p.q_stride,
                                                          .kv_stride = p.kv_stride,
                                                          .count = 1 + i % (p.count - i),
                                                          .n = p.n,
                                                          .d = p.d,
                                                          .scratch = p.scratch});
            ck_assert_msg(!memcmp(p.out, p.expected + i * p.out_stride, p.d * sizeof *p.out),
                          "%s: query %zu differs", variants[v]->name, i);
        }
        problem_free(&p);
    }
}
END_TEST

/* ---- the mean over heads ---- */

static void check_mean(const struct kernels *kernels, size_t count, size_t n, size_t heads,
                       size_t d)
{
    size_t stride = 2 * heads * d + 5, out_stride = n + 3, outs = (count + BEHIND) * out_stride;
    float *q = numbers_new((count + n) * stride, 2, (uint32_t)(n * 100 + d)), *k = q + heads * d;
    float *out = numbers_new(outs, 1, 9), *expected = numbers_new(outs, 1, 9);
    float *scratch = numbers_new(attention_mean_scratch(n, d), 1e30f, 10);
    kernels_reference.attention_mean(&(struct attention_io){.out = expected,
                                                            .out_stride = out_stride,
                                                            .q = q,
                                                            .k = k,
                                                            .q_stride = stride,
                                                            .kv_stride = stride,
                                                            .count = count,
                                                            .n = n,
                                                            .heads = heads,
                                                            .d = d,
                                                            .scratch = scratch});
    kernels->attention_mean(&(struct attention_io){.out = out,
                                                   .out_stride = out_stride,
                                                   .q = q,
                                                   .k = k,
                                                   .q_stride = stride,
                                                   .kv_stride = stride,
                                                   .count = count,
                                                   .n = n,
                                                   .heads = heads,
                                                   .d = d,
                                                   .scratch = scratch});
    double difference = numbers_difference(out, expected, outs);
    ck_assert_msg(difference < 2e-6, "%s, count = %zu, n = %zu, heads = %zu, d = %zu: %g",
                  kernels->name, count, n, heads, d, difference);
    free(q), free(out), free(expected), free(scratch);
}

/* A NaN in a query is that query's, one in a key everybody's, one in a value a column's. */
START_TEST(attention_lets_nan_pass_to_all_that_depends_on_it)
{
    enum { COUNT = 5, KEYS = 150, D = 8 };
    float *scratch = aligned_alloc(64, (attention_scratch(D) * sizeof(float) + 63) / 64 * 64);
    for (int v = -1; v < VARIANTS; v++) {
        const struct kernels *kernels = v < 0 ? &kernels_reference : variants[v];
        for (int i = 0; i < 30 && kernels_runnable(kernels); i++) {
            float out[COUNT * D];
            float *qkv[3];
            for (unsigned m = 0; m < 3; m++)
                qkv[m] = numbers_new(KEYS * D, 1, m + 1);
            size_t row = i < 10 ? (size_t)i % COUNT : (size_t)i * 5, column = (size_t)i % D;
            qkv[i / 10][row * D + column] = nan_of(i);
            kernels->attention(&(struct attention_io){.out = out,
                                                      .out_stride = D,
                                                      .q = qkv[0],
                                                      .k = qkv[1],
                                                      .v = qkv[2],
                                                      .q_stride = D,
                                                      .kv_stride = D,
                                                      .count = COUNT,
                                                      .n = KEYS,
                                                      .d = D,
                                                      .scratch = scratch});
            unsigned expected = i < 10 ? D : i < 20 ? COUNT * D : COUNT;
            ck_assert_msg(count_nan(out, COUNT * D) == expected, "%s, %d: %u", kernels->name, i,
                          count_nan(out, COUNT * D));
            for (unsigned m = 0; m < 3; m++)
                free(qkv[m]);
        }
    }
    free(scratch);
}
END_TEST

START_TEST(attention_mean_agrees_with_the_oracle_and_writes_nothing_behind)
{
    for (int v = 0; v < VARIANTS; v++)
        for (size_t n = 1; n <= 400 && kernels_runnable(variants[v]); n += 1 + n / 3)
            for (size_t heads = 1; heads <= 5; heads += 2)
                check_mean(variants[v], 1 + (n * 7 + heads) % ATTENTION_QUERIES, n, heads,
                           3 + 5 * heads);
}
END_TEST

START_TEST(attention_mean_of_every_query_sums_to_one)
{
    enum { N = 197, HEADS = 3, D = 16 };
    float *q = numbers_new((size_t)N * HEADS * D, 3, 1);
    float *out = numbers_new((size_t)ATTENTION_QUERIES * N, 1, 2);
    float *scratch = numbers_new(attention_mean_scratch(N, D), 1, 3);
    kernels_best()->attention_mean(&(struct attention_io){.out = out,
                                                          .out_stride = N,
                                                          .q = q,
                                                          .k = q,
                                                          .q_stride = HEADS * D,
                                                          .kv_stride = HEADS * D,
                                                          .count = ATTENTION_QUERIES,
                                                          .n = N,
                                                          .heads = HEADS,
                                                          .d = D,
                                                          .scratch = scratch});
    for (size_t i = 0; i < ATTENTION_QUERIES; i++) {
        double sum = 0;
        for (size_t j = 0; j < N; j++)
            sum += (double)out[i * N + j];
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
    free(q), free(out), free(scratch);
}
END_TEST

SUITE("kernels", kernels_run_here_at_least_in_plain_c,
      gate_agrees_with_the_oracle_and_may_overwrite_its_operand,
      activations_let_nan_pass_and_touch_no_neighbour,
      activations_of_infinities_are_their_limits_or_not_finite,
      softmax_of_nan_or_infinity_is_nan_throughout, softmax_of_minus_infinity_is_zero,
      layer_norm_of_nan_or_infinity_is_nan_in_that_row_alone,
      layer_norm_of_a_variance_beyond_fp32_is_nan, max_abs_of_nan_is_nan_and_of_infinity_infinite,
      range_has_zero_in_it_and_both_ends_of_a_nan_are_nan,
      attention_lets_nan_pass_to_all_that_depends_on_it, layer_norm_agrees_with_the_oracle,
      rms_norm_agrees_with_the_oracle, rms_norm_of_what_is_beyond_fp32_is_no_number,
      epilogue_agrees_with_the_oracle_and_leaves_the_gap_between_rows,
      activations_are_exact_over_the_whole_range, gelu_stays_within_its_stated_error,
      gelu_of_infinities_and_nan_is_what_it_should_be,
      quantize_rounds_to_the_nearest_step_and_writes_nothing_behind,
      bf16_is_rounded_to_nearest_even, fp32_is_cut_into_three_bf16_whose_sum_it_is,
      parts_of_what_is_no_number_are_no_number, bf16_pairs_are_two_rounded_numbers,
      softmax_agrees_with_the_oracle_also_for_huge_logits,
      log_sum_agrees_with_the_oracle_also_for_huge_logits, log_sum_of_what_is_not_finite_is_nan,
      next_above_finds_each_number_above, softmax_keeps_the_digits_of_small_probabilities,
      attention_agrees_with_the_oracle_at_odd_lengths_and_widths,
      attention_agrees_with_the_oracle_for_every_number_of_queries,
      attention_agrees_with_the_oracle_around_the_borders_of_key_tiles,
      attention_survives_scores_of_any_magnitude,
      attention_rescales_when_the_maximum_grows_tile_after_tile,
      attention_of_a_query_is_the_same_alone_and_in_any_block,
      attention_mean_agrees_with_the_oracle_and_writes_nothing_behind,
      attention_mean_of_every_query_sums_to_one)
