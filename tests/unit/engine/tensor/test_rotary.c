/* rotary.h and the kernels behind it: the angles, both halves of a head, every instruction set, and
 * the way back. */
#include "engine/tensor/rotary.h"

#include "engine/tensor/kernels.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kernels *const variants[] = {&kernels_avx512, &kernels_avx2, &kernels_generic};
static const size_t widths[] = {2, 4, 6, 14, 16, 30, 32, 34, 64, 66, 128};
enum {
    VARIANTS = sizeof variants / sizeof *variants,
    WIDTHS = sizeof widths / sizeof *widths,
    PLACES = 40,
    HEADS = 3,
};

static float *new_table(size_t places, size_t d, double base)
{
    float *table = numbers_new(rotary_floats(places, d), 0, 0);
    rotary_fill(table, places, d, base);
    return table;
}

/* inv_freq = 1 / base ** (arange(0, d, 2) / d), as transformers writes it. */
START_TEST(angles_are_place_times_inverse_frequency)
{
    enum { D = 14 };
    float *table = new_table(8192, D, 160000);
    for (size_t place = 0; place < 8192; place += 117)
        for (size_t i = 0; i < D / 2; i++) {
            double angle = (double)place / pow(160000, 2.0 * (double)i / D);
            const float *turn = rotary_at(table, place, D);
            ck_assert_double_eq_tol((double)turn[i], cos(angle), 1e-7);
            ck_assert_double_eq_tol((double)turn[D / 2 + i], sin(angle), 1e-7);
        }
    free(table);
}
END_TEST

/* q cos + rotate_half(q) sin, rotate_half being the second half negated, then the first. */
static void expect_turned(const float *y, const float *x, const float *turn, size_t d)
{
    size_t half = d / 2;
    for (size_t c = 0; c < d; c++) {
        double partner = c < half ? -(double)x[c + half] : (double)x[c - half];
        double expected =
            (double)x[c] * (double)turn[c % half] + partner * (double)turn[half + c % half];
        ck_assert_double_eq_tol((double)y[c], expected, 1e-5);
    }
}

START_TEST(a_head_is_turned_by_halves_as_the_oracle_does_and_nothing_behind)
{
    for (int w = 0; w < WIDTHS; w++) {
        size_t d = widths[w], n = HEADS * d;
        float *table = new_table(PLACES, d, 10000), *x = numbers_new(n + 1, 4, 3);
        float *expected = numbers_new(n + 1, 4, 3), *y = numbers_new(n + 1, 4, 3);
        const float *turn = rotary_at(table, PLACES - 1, d);
        kernels_reference.rotate(expected, turn, HEADS, d, 1);
        for (size_t h = 0; h < HEADS; h++)
            expect_turned(expected + h * d, x + h * d, turn, d);
        for (int v = 0; v < VARIANTS; v++) {
            if (!kernels_runnable(variants[v]))
                continue;
            memcpy(y, x, (n + 1) * sizeof *x);
            variants[v]->rotate(y, turn, HEADS, d, 1);
            ck_assert_msg(numbers_difference(y, expected, n + 1) < 1e-6, "%s, width %zu",
                          variants[v]->name, d);
            variants[v]->rotate(y, turn, HEADS, d, -1);
            ck_assert_msg(numbers_difference(y, x, n + 1) < 1e-6, "%s, width %zu, back",
                          variants[v]->name, d);
        }
        free(table), free(x), free(expected), free(y);
    }
}
END_TEST

/* The gradient is d/dx sum dy rotate(x): the map is linear, so any step gives its slope. */
START_TEST(the_gradient_is_the_turn_back)
{
    enum { D = 10, N = HEADS * D };
    float *table = new_table(PLACES, D, 10000), *x = numbers_new(N, 2, 5),
          *dy = numbers_new(N, 2, 6);
    float *dx = numbers_new(N, 2, 6), y[N];
    const float *turn = rotary_at(table, 7, D);
    kernels_reference.rotate(dx, turn, HEADS, D, -1);
    for (size_t i = 0; i < N; i++) {
        double slope = 0;
        for (int side = -1; side <= 1; side += 2) {
            memcpy(y, x, sizeof y);
            y[i] += (float)side;
            kernels_reference.rotate(y, turn, HEADS, D, 1);
            for (size_t k = 0; k < N; k++)
                slope += side * (double)dy[k] * (double)y[k] / 2;
        }
        ck_assert_double_eq_tol((double)dx[i], slope, 1e-5);
    }
    free(table), free(x), free(dy), free(dx);
}
END_TEST

START_TEST(products_of_query_and_key_depend_on_their_distance_only)
{
    enum { D = 32 };
    float *table = new_table(PLACES, D, 10000), *q = numbers_new(D, 2, 5),
          *k = numbers_new(D, 2, 6);
    double first = 0;
    for (size_t place = 0; place + 5 < PLACES; place++) {
        float turned[2][D];
        double product = 0;
        memcpy(turned[0], q, sizeof turned[0]);
        memcpy(turned[1], k, sizeof turned[1]);
        kernels_best()->rotate(turned[0], rotary_at(table, place + 5, D), 1, D, 1);
        kernels_best()->rotate(turned[1], rotary_at(table, place, D), 1, D, 1);
        for (size_t c = 0; c < D; c++)
            product += (double)turned[0][c] * (double)turned[1][c];
        first = place == 0 ? product : first;
        ck_assert_double_eq_tol(product, first, 1e-5);
    }
    free(table), free(q), free(k);
}
END_TEST

START_TEST(bf16_rows_are_turned_in_fp32_and_rounded_once)
{
    for (int w = 0; w < WIDTHS; w++) {
        size_t d = widths[w], n = HEADS * d;
        float *table = new_table(PLACES, d, 10000), *x = numbers_new(n, 4, 3);
        const float *turn = rotary_at(table, 3, d);
        uint16_t halves[3][HEADS * 128 + 1] = {{0}};
        kernels_reference.round_bf16(halves[0], x, n);
        memcpy(halves[1], halves[0], sizeof halves[0]);
        kernels_reference.rotate_bf16(halves[1], turn, HEADS, d);
        for (size_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)halves[0][i] << 16;
            memcpy(&x[i], &bits, sizeof bits);
        }
        kernels_reference.rotate(x, turn, HEADS, d, 1);
        kernels_reference.round_bf16(halves[2], x, n);
        ck_assert_mem_eq(halves[1], halves[2], sizeof halves[1]);
        for (int v = 0; v < VARIANTS; v++) {
            if (!kernels_runnable(variants[v]))
                continue;
            memcpy(halves[2], halves[0], sizeof halves[0]);
            variants[v]->rotate_bf16(halves[2], turn, HEADS, d);
            for (size_t i = 0; i <= n; i++) /* a tie that fp32 sums break either way */
                ck_assert_msg(abs(halves[2][i] - halves[1][i]) <= 1, "%s, width %zu, %zu",
                              variants[v]->name, d, i);
        }
        free(table), free(x);
    }
}
END_TEST

START_TEST(rotary_passes_a_nan_on)
{
    enum { D = 34 };
    float *table = new_table(PLACES, D, 10000);
    for (int v = 0; v < VARIANTS; v++)
        for (size_t at = 0; at < D && kernels_runnable(variants[v]); at++) {
            float x[D] = {0};
            x[at] = NAN;
            variants[v]->rotate(x, rotary_at(table, 2, D), 1, D, 1);
            ck_assert(isnan(x[at]) && isnan(x[(at + D / 2) % D]));
        }
    free(table);
}
END_TEST

SUITE("rotary", angles_are_place_times_inverse_frequency,
      a_head_is_turned_by_halves_as_the_oracle_does_and_nothing_behind,
      the_gradient_is_the_turn_back, products_of_query_and_key_depend_on_their_distance_only,
      bf16_rows_are_turned_in_fp32_and_rounded_once, rotary_passes_a_nan_on)
