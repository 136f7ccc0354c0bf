/* Every instruction set's gradients against the oracle: sizes that do and do not fill vectors,
 * strides, the aliases that backward.h allows, and its other promises. The numbers behind a row are
 * NaN: they must not be read into a sum, and nothing may be written there. */
#include "tests/support/backward_reference.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const struct backward *backward;
    const struct kernels *twin; /* the same instructions */
} variants[] = {{&backward_avx512, &kernels_avx512},
                {&backward_avx2, &kernels_avx2},
                {&backward_generic, &kernels_generic},
                {&backward_reference, &kernels_reference}};
static const size_t sizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 48, 64, 80, 100, 197, 513};
enum { VARIANTS = sizeof variants / sizeof variants[0], SIZES = sizeof sizes / sizeof sizes[0] };
enum { GAP = 3 };

/* The one that this test loops over; NULL if this CPU cannot run it. */
static const struct backward *variant(int v)
{
    return kernels_runnable(variants[v].twin) ? variants[v].backward : NULL; /* test_kernels says */
}

/* [rows, width] with GAP NaNs behind each row. */
static float *matrix_new(size_t rows, size_t width, float range, uint32_t seed)
{
    size_t stride = width + GAP;
    float *x = numbers_new(rows * stride, range, seed);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = width; c < stride; c++)
            x[r * stride + c] = NAN;
    return x;
}

/* max |a - b| over max |b| (or 0.1, if all are nearly zero), infinite if the gaps are no longer
 * NaN. */
static double matrix_difference(const float *a, const float *b, size_t rows, size_t width)
{
    double worst = 0, largest = 0.1;
    for (size_t r = 0; r < rows; r++, a += width + GAP, b += width + GAP) {
        worst = fmax(worst, numbers_difference(a, b, width));
        for (size_t c = 0; c < width; c++)
            largest = fmax(largest, fabs((double)b[c]));
        for (size_t c = width; c < width + GAP; c++)
            worst = isnan(a[c]) ? worst : INFINITY;
    }
    return worst / largest;
}

/* ---- layer norm ---- */

struct norm {
    size_t rows, width, stride;
    bool is_rms;
    float *x, *dy, *gamma, *residual, *dx, *expected;
    float stats[2 * 8], stats_expected[2 * 8];
};

static struct norm norm_new(size_t rows, size_t width, float offset)
{
    struct norm n = {.rows = rows, .width = width, .stride = width + GAP};
    n.x = matrix_new(rows, width, 4, 1);
    n.dy = matrix_new(rows, width, 1, 2);
    n.gamma = numbers_new(width, 2, 3);
    n.residual = matrix_new(rows, width, 0.5f, 4);
    n.dx = matrix_new(rows, width, 9, 5);
    n.expected = matrix_new(rows, width, 9, 6);
    for (size_t i = 0; i < rows * n.stride; i++)
        n.x[i] += offset;
    return n;
}

static void norm_free(struct norm *n)
{
    free(n->x), free(n->dy), free(n->gamma), free(n->residual), free(n->dx), free(n->expected);
}

static void norm_run(const struct norm *n, const struct backward *backward, float *dx, float *stats,
                     const float *dy, const float *residual)
{
    (n->is_rms ? backward->rms_norm : backward->layer_norm)(dx, n->stride, stats, dy, n->stride,
                                                            n->x, n->stride, n->gamma, residual,
                                                            n->stride, n->rows, n->width, 1e-5f);
}

static void check_norm(const struct backward *backward, size_t rows, size_t width, float offset,
                       bool with_residual, bool is_rms)
{
    struct norm n = norm_new(rows, width, offset);
    n.is_rms = is_rms;
    const float *residual = with_residual ? n.residual : NULL;
    norm_run(&n, &backward_reference, n.expected, n.stats_expected, n.dy, residual);
    norm_run(&n, backward, n.dx, n.stats, n.dy, residual);
    /* A row of a single number has an rstd of 300, and its terms cancel. */
    double bound = width == 1 ? 1e-3 : 1e-5 + fabs((double)offset) * 1e-6;
    ck_assert_msg(matrix_difference(n.dx, n.expected, rows, width) < bound, "%s, %zu x %zu: %g",
                  backward->name, rows, width, matrix_difference(n.dx, n.expected, rows, width));
    for (size_t i = is_rms; i < 2 * rows && width > 1; i += 1 + is_rms)
        ck_assert_msg(fabsf(n.stats[i] / n.stats_expected[i] - 1) < 1e-4f, "%s: stats %zu",
                      backward->name, i);
    norm_free(&n);
}

START_TEST(layer_norm_gradient_agrees_with_the_oracle)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            for (size_t rows = 1; rows <= 6; rows++)
                check_norm(variant(v), rows, sizes[s], rows == 5 ? 30 : 0.25f, rows % 2 == 0,
                           false);
}
END_TEST

START_TEST(rms_norm_gradient_agrees_with_the_oracle)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            for (size_t rows = 1; rows <= 6; rows++)
                check_norm(variant(v), rows, sizes[s], 0.25f, rows % 2 == 0, true);
}
END_TEST

START_TEST(layer_norm_gradient_may_overwrite_its_operands)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < 2 * SIZES && variant(v) != NULL; s++) {
            struct norm n = norm_new(6, sizes[s / 2], 0);
            n.is_rms = s % 2 == 1;
            size_t bytes = n.rows * n.stride * sizeof *n.dx;
            norm_run(&n, variant(v), n.expected, n.stats, n.dy, n.residual);
            memcpy(n.dx, n.residual, bytes);
            norm_run(&n, variant(v), n.dx, n.stats, n.dy, n.dx);
            ck_assert_msg(!memcmp(n.dx, n.expected, bytes), "%s: residual", variant(v)->name);
            memcpy(n.dx, n.dy, bytes);
            norm_run(&n, variant(v), n.dx, n.stats, n.dx, n.residual);
            ck_assert_msg(!memcmp(n.dx, n.expected, bytes), "%s: dy", variant(v)->name);
            norm_free(&n);
        }
}
END_TEST

/* ---- sums over rows ---- */

/* Room for dgamma, dbeta and the plain sums of [rows, width]. */
struct sums {
    size_t rows, width, stride;
    float *x, *dy, *stats, *gamma, *beta, *plain;
};

static struct sums sums_new(size_t rows, size_t width)
{
    struct sums s = {.rows = rows, .width = width, .stride = width + GAP};
    s.x = matrix_new(rows, width, 4, 1);
    s.dy = matrix_new(rows, width, 1, 2);
    s.stats = numbers_new(2 * rows, 1, 3);
    s.gamma = numbers_new(width, 1, 4);
    s.beta = numbers_new(width, 1, 5);
    s.plain = numbers_new(width, 1, 6);
    return s;
}

static void sums_free(struct sums *s)
{
    free(s->x), free(s->dy), free(s->stats), free(s->gamma), free(s->beta), free(s->plain);
}

static void sums_take(const struct sums *s, const struct backward *backward, size_t first,
                      size_t last)
{
    backward->layer_norm_columns(s->gamma, s->beta, s->dy, s->stride, s->x, s->stride, s->stats,
                                 s->rows, first, last);
    backward->column_sums(s->plain, s->dy, s->stride, s->rows, first, last);
}

/* Bounds are for a sum of 41 random numbers up to 5: fp32's 6e-8 of the largest partial sum. */
static void expect_sums(const struct sums *s, const struct sums *expected, double bound,
                        const char *name)
{
    ck_assert_msg(numbers_difference(s->gamma, expected->gamma, s->width) <= bound, "%s: dgamma %g",
                  name, numbers_difference(s->gamma, expected->gamma, s->width));
    ck_assert_msg(numbers_difference(s->beta, expected->beta, s->width) <= bound, "%s: dbeta",
                  name);
    ck_assert_msg(numbers_difference(s->plain, expected->plain, s->width) <= bound, "%s: sums",
                  name);
}

START_TEST(sums_over_rows_agree_with_the_oracle_and_are_added)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int i = 0; i < SIZES && variant(v) != NULL; i++)
            for (size_t rows = 0; rows < 42; rows += rows < 9 ? 1 : 16) {
                struct sums s = sums_new(rows, sizes[i]), expected = sums_new(rows, sizes[i]);
                sums_take(&s, variant(v), 0, s.width);
                sums_take(&expected, &backward_reference, 0, s.width);
                expect_sums(&s, &expected, 3e-5, variant(v)->name);
                sums_free(&s), sums_free(&expected);
            }
}
END_TEST

/* One width is larger than the columns that the first-level cache holds at a time. */
START_TEST(sums_over_rows_are_bit_identical_wherever_columns_are_cut)
{
    static const size_t widths[] = {5, 70, 2500}, rows = 27;
    for (int v = 0; v < VARIANTS; v++)
        for (int w = 0; w < 3 && variant(v) != NULL; w++)
            for (size_t part = 1; part < 40 && part < widths[w]; part += 3) {
                struct sums cut = sums_new(rows, widths[w]), whole = sums_new(rows, widths[w]);
                sums_take(&whole, variant(v), 0, whole.width);
                for (size_t first = 0; first < cut.width; first += part * (1 + first % 97)) {
                    size_t last = first + part * (1 + first % 97);
                    sums_take(&cut, variant(v), first, last < cut.width ? last : cut.width);
                }
                expect_sums(&cut, &whole, 0, variant(v)->name);
                sums_free(&cut), sums_free(&whole);
            }
}
END_TEST

START_TEST(sums_over_rows_leave_the_other_columns)
{
    for (int v = 0; v < VARIANTS; v++) {
        if (variant(v) == NULL)
            continue;
        struct sums s = sums_new(9, 80), before = sums_new(9, 80), all = sums_new(9, 80);
        sums_take(&s, variant(v), 13, 54);
        sums_take(&all, variant(v), 0, 80);
        memcpy(before.gamma + 13, all.gamma + 13, 41 * sizeof(float));
        memcpy(before.beta + 13, all.beta + 13, 41 * sizeof(float));
        memcpy(before.plain + 13, all.plain + 13, 41 * sizeof(float));
        expect_sums(&s, &before, 0, variant(v)->name);
        sums_free(&s), sums_free(&before), sums_free(&all);
    }
}
END_TEST

/* ---- activations ---- */

/* -20 .. 20, every seventh a thousand times as large. */
static void fill_range(float *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)(i - count / 2) * 40 / (float)count * (i % 7 == 0 ? 1000 : 1);
}

START_TEST(activations_and_their_slopes_are_exact_over_the_whole_range)
{
    enum { COUNT = 40001 };
    float *x = numbers_new(COUNT, 0, 0), *y = numbers_new(COUNT, 0, 0);
    float *expected = numbers_new(COUNT, 0, 0), *dy = numbers_new(COUNT, 2, 1);
    fill_range(x, COUNT);
    for (int v = 0; v < VARIANTS; v++)
        for (int a = 0; a < ACTIVATION_COUNT && variant(v) != NULL; a++) {
            enum activation act = (enum activation)a;
            backward_reference.activate(expected, x, COUNT, act);
            variant(v)->activate(y, x, COUNT, act);
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(fabsf(y[i] - expected[i]) <= 3e-7f * fmaxf(1, fabsf(expected[i])),
                              "%s: activation %d of %g is %g", variant(v)->name, a, (double)x[i],
                              (double)y[i]);
            backward_reference.activation(expected, dy, x, COUNT, act);
            variant(v)->activation(y, dy, x, COUNT, act);
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(fabsf(y[i] - expected[i]) <= 6e-7f * fabsf(dy[i]),
                              "%s: slope of activation %d at %g is %g", variant(v)->name, a,
                              (double)x[i], (double)(y[i] / dy[i]));
        }
    free(x), free(y), free(expected), free(dy);
}
END_TEST

/* The gradient of a neuron that is almost off is small and not noise, down to 1e-17. The polynomial
 * of GELU was fitted to absolute errors and has fewer digits there; GELU's slope is 0 at -0.75. */
START_TEST(slopes_keep_their_digits_in_the_tails)
{
    static const enum activation acts[] = {ACTIVATION_GELU, ACTIVATION_GELU_TANH, ACTIVATION_TANH};
    static const float bounds[] = {3e-3f, 1e-5f, 1e-6f};
    for (int v = 0; v < VARIANTS; v++)
        for (int a = 0; a < 3 && variant(v) != NULL; a++)
            for (int i = 0; i < 1000; i++) {
                float x = -1.25f - (float)i * 0.007f, one = 1, slope, expected;
                variant(v)->activation(&slope, &one, &x, 1, acts[a]);
                backward_reference.activation(&expected, &one, &x, 1, acts[a]);
                ck_assert_msg(fabsf(slope / expected - 1) < bounds[a],
                              "%s: activation %d at %g: %g", variant(v)->name, acts[a], (double)x,
                              (double)slope);
            }
}
END_TEST

START_TEST(slopes_at_infinities_and_nan_are_what_they_should_be)
{
    for (int v = 0; v < VARIANTS - 1; v++) {
        const float x[5] = {INFINITY, -INFINITY, 3e38f, -3e38f, NAN}, dy[5] = {1, 1, 1, 1, 1};
        float dx[5];
        if (variant(v) == NULL)
            continue;
        for (int a = ACTIVATION_GELU; a < ACTIVATION_TANH; a++) {
            variant(v)->activation(dx, dy, x, 5, (enum activation)a);
            ck_assert_msg(dx[0] == 1 && fabsf(dx[1]) < 1e-9f, "%s, %d", variant(v)->name, a);
            ck_assert_msg(dx[2] == 1 && fabsf(dx[3]) < 1e-9f, "%s, %d", variant(v)->name, a);
            ck_assert_msg(isnan(dx[4]) || a == ACTIVATION_RELU, "%s, %d", variant(v)->name, a);
        }
        variant(v)->activation(dx, dy, x, 4, ACTIVATION_TANH);
        ck_assert(dx[0] < 1e-30f && dx[1] < 1e-30f && dx[2] < 1e-30f && dx[3] < 1e-30f);
    }
}
END_TEST

START_TEST(gate_gradient_agrees_with_the_oracle_and_writes_nothing_behind)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            for (int a = 0; a < ACTIVATION_COUNT; a++) {
                size_t n = sizes[s];
                float *x = numbers_new(2 * n, 6, 4), *dy = numbers_new(n, 2, 6);
                float *dx = numbers_new(2 * n + 1, 1, 5), *expected = numbers_new(2 * n + 1, 1, 5);
                backward_reference.gate(expected, dy, x, n, (enum activation)a);
                variant(v)->gate(dx, dy, x, n, (enum activation)a);
                ck_assert_msg(numbers_difference(dx, expected, 2 * n + 1) < 1e-5, "%s, %zu, %d",
                              variant(v)->name, n, a);
                free(x), free(dy), free(dx), free(expected);
            }
}
END_TEST

START_TEST(activation_gradient_may_overwrite_dy_and_writes_nothing_behind)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            for (int a = 0; a < ACTIVATION_COUNT; a++) {
                size_t n = sizes[s];
                float *x = matrix_new(1, n, 4, 1), *dy = matrix_new(1, n, 1, 2);
                float *dx = matrix_new(1, n, 1, 3), *y = matrix_new(1, n, 1, 3);
                variant(v)->activation(dx, dy, x, n, (enum activation)a);
                variant(v)->activation(dy, dy, x, n, (enum activation)a);
                ck_assert_msg(matrix_difference(dx, dy, 1, n) == 0, "%s", variant(v)->name);
                variant(v)->activate(y, x, n, (enum activation)a);
                ck_assert(isnan(y[n]) && isnan(dy[n]) && isnan(dx[n]));
                free(x), free(dy), free(dx), free(y);
            }
}
END_TEST

/* ---- softmax ---- */

START_TEST(softmax_gradient_agrees_with_the_oracle_and_may_overwrite_dp)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++) {
            size_t n = sizes[s];
            float *p = matrix_new(1, n, 3, 1), *dp = matrix_new(1, n, 2, 2);
            float *ds = matrix_new(1, n, 1, 3), *expected = matrix_new(1, n, 1, 3);
            kernels_reference.softmax(p, p, n);
            backward_reference.softmax(expected, p, dp, n, 0.125f);
            variant(v)->softmax(ds, p, dp, n, 0.125f);
            ck_assert_msg(numbers_difference(ds, expected, n) < 1e-7, "%s, n = %zu: %g",
                          variant(v)->name, n, numbers_difference(ds, expected, n));
            ck_assert(isnan(ds[n]));
            variant(v)->softmax(dp, p, dp, n, 0.125f);
            ck_assert_msg(matrix_difference(dp, ds, 1, n) == 0, "%s: in place", variant(v)->name);
            free(p), free(dp), free(ds), free(expected);
        }
}
END_TEST

/* ---- dropout ---- */

/* An index that overflows on the way included. */
START_TEST(dropout_draws_the_same_mask_in_all_variants)
{
    static const float rates[] = {0, 1e-3f, 0.1f, 0.5f, 0.9f, 0.99999994f};
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            for (int r = 0; r < 6; r++) {
                size_t n = sizes[s];
                float *x = matrix_new(1, n, 2, 1), *expected = matrix_new(1, n, 2, 1);
                uint32_t key = 12345u * (uint32_t)r, first = (uint32_t)s * 7 - 40;
                backward_reference.dropout(expected, expected, n, key, first, rates[r]);
                variant(v)->dropout(x, x, n, key, first, rates[r]);
                ck_assert_msg(matrix_difference(x, expected, 1, n) == 0, "%s, rate %g, n = %zu",
                              variant(v)->name, (double)rates[r], n);
                free(x), free(expected);
            }
}
END_TEST

START_TEST(dropout_of_a_part_is_the_part_of_the_whole)
{
    enum { COUNT = 1000, CUT = 333 };
    for (int v = 0; v < VARIANTS; v++) {
        if (variant(v) == NULL)
            continue;
        float *x = numbers_new(COUNT, 2, 1), *whole = numbers_new(COUNT, 0, 0);
        variant(v)->dropout(whole, x, COUNT, 9, 100, 0.5f);
        variant(v)->dropout(x + CUT, x + CUT, COUNT - CUT, 9, 100 + CUT, 0.5f);
        variant(v)->dropout(x, x, CUT, 9, 100, 0.5f);
        ck_assert(numbers_difference(x, whole, COUNT) == 0);
        free(x), free(whole);
    }
}
END_TEST

/* The share kept, within five standard deviations, and two keys that agree as often as chance. */
START_TEST(dropout_keeps_the_promised_share_and_scales_it)
{
    enum { COUNT = 1 << 20 };
    const double rates[] = {0.1, 0.25, 0.5};
    float *x = numbers_new(COUNT, 0, 0), *y = numbers_new(COUNT, 0, 0),
          *z = numbers_new(COUNT, 0, 0);
    for (int i = 0; i < COUNT; i++)
        x[i] = 3;
    for (int r = 0; r < 3; r++) {
        double keep = 1 - rates[r], both = 0, kept = 0;
        backward_best()->dropout(y, x, COUNT, 1, 0, (float)rates[r]);
        backward_best()->dropout(z, x, COUNT, 2, 0, (float)rates[r]);
        for (int i = 0; i < COUNT; i++) {
            ck_assert(y[i] == 0 || fabs(y[i] - 3 / keep) < 1e-6);
            kept += y[i] != 0;
            both += y[i] != 0 && z[i] != 0;
        }
        ck_assert_msg(fabs(kept - COUNT * keep) < 5 * sqrt(COUNT * keep * (1 - keep)), "%g", kept);
        keep *= keep;
        ck_assert_msg(fabs(both - COUNT * keep) < 5 * sqrt(COUNT * keep * (1 - keep)), "%g", both);
    }
    free(x), free(y), free(z);
}
END_TEST

/* ---- the optimiser's step ---- */

START_TEST(square_sum_agrees_with_double)
{
    static const size_t counts[] = {0, 1, 17, 1023, 1024, 1025, 100003, 1 << 20};
    for (int v = 0; v < VARIANTS; v++)
        for (int i = 0; i < 8 && variant(v) != NULL; i++) {
            float *x = numbers_new(counts[i], 1e-3f, 1);
            double expected = 0;
            for (size_t k = 0; k < counts[i]; k++)
                expected += (double)x[k] * x[k];
            double sum = variant(v)->square_sum(x, counts[i]);
            ck_assert_msg(fabs(sum - expected) <= 3e-7 * expected, "%s, n = %zu: %g, not %g",
                          variant(v)->name, counts[i], sum, expected);
            free(x);
        }
}
END_TEST

/* Algorithm 2 as it is written, all state in double: w, m, v. */
static void naive_adamw(double state[3], double g, int step, const struct adamw *a)
{
    double beta1 = a->beta1, beta2 = a->beta2;
    state[1] = beta1 * state[1] + (1 - beta1) * g;
    state[2] = beta2 * state[2] + (1 - beta2) * g * g;
    double mean = state[1] / (1 - pow(beta1, step)), square = state[2] / (1 - pow(beta2, step));
    state[0] -= a->rate * (mean / (sqrt(square) + a->eps) + a->decay * state[0]);
}

static void check_adamw(const struct backward *backward, size_t n)
{
    enum { STEPS = 20 };
    struct adamw a = {.rate = 1e-2f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.05f};
    float *w = matrix_new(1, n, 1, 1), *m = matrix_new(1, n, 0, 0), *v = matrix_new(1, n, 0, 0);
    float *g = matrix_new(1, n, 2, 2);
    double(*naive)[3] = calloc(n, sizeof *naive);
    for (size_t i = 0; i < n; i++)
        naive[i][0] = w[i];
    for (int t = 1; t <= STEPS; t++) {
        numbers_fill(g, n, 1e-3f * (float)t, (uint32_t)t);
        a.c1 = (float)(1 - pow(a.beta1, t));
        a.c2 = (float)(1 - pow(a.beta2, t));
        a.g_scale = t % 2 ? 0.5f : 1;
        backward->adamw(w, m, v, g, n, &a);
        for (size_t i = 0; i < n; i++)
            naive_adamw(naive[i], (double)g[i] * a.g_scale, t, &a);
    }
    for (size_t i = 0; i < n; i++) { /* 20 steps of 0.01 */
        ck_assert_msg(fabs(w[i] - naive[i][0]) < 1e-6, "%s, %zu of %zu: w %.9g, not %.9g",
                      backward->name, i, n, (double)w[i], naive[i][0]);
        ck_assert_msg(fabs(m[i] - naive[i][1]) < 1e-8, "%s: m", backward->name);
        ck_assert_msg(fabs(v[i] - naive[i][2]) < 1e-6 * naive[i][2], "%s: v", backward->name);
    }
    ck_assert(isnan(w[n]) && isnan(m[n]) && isnan(v[n]));
    free(w), free(m), free(v), free(g), free(naive);
}

START_TEST(adamw_follows_the_equations_in_double_over_twenty_steps)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++)
            check_adamw(variant(v), sizes[s]);
}
END_TEST

/* rate x decay = 1e-7 is less than a unit in the last place of a weight. Each weight comes twice,
 * with opposite gradients of random size: the steps cancel and leave every weight to round its own
 * way, so that the mean must shrink by 1e-7 (a common factor 1 - 1e-7 would round to 1.19e-7). */
START_TEST(adamw_keeps_the_digits_of_a_small_decay)
{
    enum { HALF = 1 << 16, COUNT = 2 * HALF };
    const struct adamw a = {1e-5f, 0.9f, 0.999f, 1e-8f, 0.01f, 1, 1, 1};
    for (int v = 0; v < VARIANTS; v++) {
        if (variant(v) == NULL)
            continue;
        float *w = numbers_new(COUNT, 0.5f, 1), *mean = numbers_new(COUNT, 0, 0);
        float *square = numbers_new(COUNT, 1e-3f, 2), *g = numbers_new(COUNT, 1, 3);
        double lost = 0, total = 0;
        for (int i = 0; i < COUNT; i++) {
            w[i] = i < HALF ? w[i] + 1.5f : w[i - HALF];
            g[i] = i < HALF ? g[i] : -g[i - HALF];
            square[i] = i < HALF ? fabsf(square[i]) + 1e-3f : square[i - HALF];
            total += w[i];
            lost += w[i];
        }
        variant(v)->adamw(w, mean, square, g, COUNT, &a);
        for (int i = 0; i < COUNT; i++)
            lost -= w[i];
        ck_assert_msg(fabs(lost / total - 1e-7) < 2e-9, "%s: %g", variant(v)->name, lost / total);
        free(w), free(mean), free(square), free(g);
    }
}
END_TEST

START_TEST(moving_average_agrees_with_the_oracle_and_writes_nothing_behind)
{
    for (int v = 0; v < VARIANTS; v++)
        for (int s = 0; s < SIZES && variant(v) != NULL; s++) {
            size_t n = sizes[s];
            float *average = matrix_new(1, n, 1, 1), *expected = matrix_new(1, n, 1, 1);
            float *w = matrix_new(1, n, 1, 2);
            variant(v)->moving_average(average, w, n, 0.999f);
            backward_reference.moving_average(expected, w, n, 0.999f);
            ck_assert_msg(matrix_difference(average, expected, 1, n) < 1.3e-7, "%s",
                          variant(v)->name);
            free(average), free(expected), free(w);
        }
}
END_TEST

START_TEST(backward_best_runs_here)
{
    bool found = false;
    for (int v = 0; v < VARIANTS; v++)
        found = found || variant(v) == backward_best();
    ck_assert(found && backward_best() != &backward_reference);
    ck_assert_str_eq(backward_best()->name, kernels_best()->name);
}
END_TEST

SUITE("backward", layer_norm_gradient_agrees_with_the_oracle,
      rms_norm_gradient_agrees_with_the_oracle, layer_norm_gradient_may_overwrite_its_operands,
      sums_over_rows_agree_with_the_oracle_and_are_added,
      sums_over_rows_are_bit_identical_wherever_columns_are_cut,
      sums_over_rows_leave_the_other_columns,
      activations_and_their_slopes_are_exact_over_the_whole_range,
      slopes_keep_their_digits_in_the_tails, slopes_at_infinities_and_nan_are_what_they_should_be,
      gate_gradient_agrees_with_the_oracle_and_writes_nothing_behind,
      activation_gradient_may_overwrite_dy_and_writes_nothing_behind,
      softmax_gradient_agrees_with_the_oracle_and_may_overwrite_dp,
      dropout_draws_the_same_mask_in_all_variants, dropout_of_a_part_is_the_part_of_the_whole,
      dropout_keeps_the_promised_share_and_scales_it, square_sum_agrees_with_double,
      adamw_follows_the_equations_in_double_over_twenty_steps,
      adamw_keeps_the_digits_of_a_small_decay,
      moving_average_agrees_with_the_oracle_and_writes_nothing_behind, backward_best_runs_here)
