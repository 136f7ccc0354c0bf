/* Every variant of the tiles against naive sums. */
#include "engine/tensor/gemm/gemm.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = GEMM_ROWS_MAX, GROUPS_MAX = 144 };

/* Activations [ROWS, stride], other ones transposed, and one panel, as bytes that are valid in the
 * precision. */
struct problem {
    const struct gemm *gemm;
    size_t groups, stride;
    unsigned char *a;
    unsigned char *columns; /* A transposed: [groups, stride] */
    unsigned char *panel;
    size_t cut_stride; /* fp32 in parts: A and the panel as the tile reads them; else NULL */
    unsigned char *cut_a, *cut_panel;
};

static void cut(struct problem *p)
{
    p->cut_stride = operand_parts_stride(p->groups);
    p->cut_a = calloc(ROWS, p->cut_stride);
    p->cut_panel = aligned_alloc(64, p->groups * GEMM_CUT_BYTES);
    for (size_t r = 0; r < ROWS; r++)
        kernels_reference.cut_f32((uint16_t *)(void *)(p->cut_a + r * p->cut_stride),
                                  (const float *)(const void *)(p->a + r * p->stride), p->groups);
    for (size_t g = 0; g < p->groups; g += 16) /* in pieces */
        p->gemm->cut(p->cut_panel, p->panel, g, g + 16);
}

static void drop(struct problem *p)
{
    free(p->a), free(p->columns), free(p->panel), free(p->cut_a), free(p->cut_panel);
}

/* int8: the whole range, -127 and 127 included, which is where products saturate if they can. */
static void fill(unsigned char *bytes, size_t count, enum precision precision, uint32_t seed,
                 bool is_weight)
{
    float *x = numbers_new(count, 1, seed);
    if (precision == PRECISION_F32)
        memcpy(bytes, x, count / 4 * 4);
    else if (precision == PRECISION_BF16)
        kernels_reference.round_bf16((uint16_t *)(void *)bytes, x, count / 2);
    else
        for (size_t i = 0; i < count; i++) {
            int value = (int)lrintf(x[i] * 190);
            value = value > 127 ? 127 : value < -127 ? -127 : value;
            bytes[i] = (unsigned char)(is_weight ? value : value + 128);
        }
    free(x);
}

/* Makes two neighbouring weights of one sign GEMM_PAIR_MAX together where they are more. */
static void limit_pairs(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        const int sum = (int8_t)bytes[i] + (int8_t)bytes[i + 1];
        if (abs(sum) > GEMM_PAIR_MAX)
            bytes[i + 1] =
                (unsigned char)((sum > 0 ? GEMM_PAIR_MAX : -GEMM_PAIR_MAX) - (int8_t)bytes[i]);
    }
}

static struct problem new_problem(const struct gemm *gemm, size_t groups)
{
    size_t stride = (groups > ROWS ? groups : ROWS) * 4 + 12;
    struct problem problem = {.gemm = gemm, .groups = groups, .stride = stride};
    problem.a = malloc(ROWS * problem.stride);
    problem.columns = malloc(groups * problem.stride);
    problem.panel = aligned_alloc(64, groups * 128);
    fill(problem.a, ROWS * problem.stride, gemm->precision, 1, false);
    fill(problem.columns, groups * problem.stride, gemm->precision, 3, false);
    fill(problem.panel, groups * 128, gemm->precision, 2, true);
    if (gemm->paired)
        limit_pairs(problem.panel, groups * 128);
    if (gemm->cut != NULL)
        cut(&problem);
    return problem;
}

static double number(const unsigned char *group, enum precision precision, unsigned e, int zero)
{
    float value;
    uint16_t half;
    uint32_t bits;
    if (precision == PRECISION_INT8)
        return zero != 0 ? group[e] - zero : (int8_t)group[e];
    memcpy(&half, group + 2 * e, 2);
    memcpy(&bits, group, 4);
    bits = precision == PRECISION_BF16 ? (uint32_t)half << 16 : bits;
    memcpy(&value, &bits, 4);
    return value;
}

/* The sum as the variant defines it, and the sum of the terms' sizes; `columns`: a is transposed.
 */
static double naive(const struct problem *p, size_t r, size_t c, bool columns, double *size)
{
    enum precision precision = p->gemm->precision;
    unsigned per_group = 4 / (unsigned)precision_bytes(precision);
    double sum = *size = 0;
    for (size_t g = 0; g < p->groups; g++)
        for (unsigned e = 0; e < per_group; e++) {
            const unsigned char *a =
                columns ? p->columns + g * p->stride + r * 4 : p->a + r * p->stride + g * 4;
            double x = number(a, precision, e, 128);
            if (p->gemm->biased)
                x += 128;
            double term = x * number(p->panel + (g * 32 + c) * 4, precision, e, 0);
            sum += term;
            *size += fabs(term);
        }
    return sum;
}

static void check_tile(const struct problem *p, unsigned rows, bool columns, bool accumulate)
{
    _Alignas(64) float sums[(ROWS + 1) * GEMM_COLUMNS];
    bool integer = p->gemm->precision == PRECISION_INT8;
    const struct gemm_ahead ahead = gemm_share(p->panel, p->groups, 0, 1);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        memcpy(&sums[i], integer ? (const void *)&(int32_t){7} : (const void *)&(float){7}, 4);
    if (p->gemm->cut != NULL)
        p->gemm->tile(sums, p->cut_a, p->cut_stride, p->cut_panel, p->groups, &ahead, rows,
                      accumulate);
    else
        (columns ? p->gemm->tile_columns : p->gemm->tile)(sums, columns ? p->columns : p->a,
                                                          p->stride, p->panel, p->groups, &ahead,
                                                          rows, accumulate);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < GEMM_COLUMNS; c++) {
            double size, expected = naive(p, r, c, columns, &size) + (accumulate ? 7 : 0);
            int32_t whole;
            memcpy(&whole, &sums[r * GEMM_COLUMNS + c], 4);
            double got = integer ? whole : sums[r * GEMM_COLUMNS + c];
            ck_assert_msg(fabs(got - expected) <= (integer ? 0 : 1e-6 * (size + 7)),
                          "%s %s: %u rows, %zu groups, sum [%zu, %zu] is %g, not %g", p->gemm->name,
                          precision_name(p->gemm->precision), rows, p->groups, r, c, got, expected);
        }
    float untouched = sums[rows * GEMM_COLUMNS];
    ck_assert(memcmp(&untouched, integer ? (const void *)&(int32_t){7} : (const void *)&(float){7},
                     4) == 0);
}

static void check_heights(const struct gemm *gemm)
{
    static const size_t groups[] = {1, 2, 7, 64, GROUPS_MAX};
    for (size_t g = 0; g < sizeof groups / sizeof *groups && gemm_runnable(gemm); g++) {
        const size_t unit = gemm->group_unit;
        struct problem problem = new_problem(gemm, (groups[g] + unit - 1) / unit * unit);
        for (unsigned rows = 1; rows <= gemm->rows_max; rows++) {
            check_tile(&problem, rows, false, false);
            check_tile(&problem, rows, false, true);
            if (gemm->tile_columns == NULL)
                continue;
            check_tile(&problem, rows, true, false);
            check_tile(&problem, rows, true, true);
        }
        drop(&problem);
    }
}

START_TEST(tiles_of_every_height_agree_with_naive_sums)
{
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        check_heights(gemm_variants[v]);
}
END_TEST

START_TEST(fp32_in_parts_agrees_with_naive_sums)
{
    check_heights(&gemm_amx_f32);
}
END_TEST

START_TEST(int8_sums_do_not_saturate_at_the_ends_of_the_range)
{
    for (unsigned v = 0; gemm_variants[v] != NULL; v++) {
        if (gemm_variants[v]->precision != PRECISION_INT8 || !gemm_runnable(gemm_variants[v]))
            continue;
        struct problem problem = new_problem(gemm_variants[v], GROUPS_MAX);
        for (int sign = -1; sign <= 1; sign += 2) {
            memset(problem.a, 128 + 127 * sign, ROWS * problem.stride);
            memset(problem.panel, 127, problem.groups * 128);
            if (gemm_variants[v]->paired)
                memset(problem.panel, GEMM_PAIR_MAX / 2, problem.groups * 128);
            check_tile(&problem, gemm_variants[v]->rows_max, false, false);
        }
        drop(&problem);
    }
}
END_TEST

/* The other tests leave out what this processor does not run; here it is said. */
START_TEST(every_precision_has_a_variant_that_runs_here)
{
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        if (!gemm_runnable(gemm_variants[v]))
            suite_skipped(gemm_variants[v]->name, "this processor does not run this product");
    for (int p = 0; p < PRECISION_COUNT; p++) {
        const struct gemm *best = gemm_best((enum precision)p);
        ck_assert_ptr_nonnull(best);
        ck_assert_int_eq(best->precision, p);
        ck_assert(gemm_runnable(best));
        ck_assert_uint_le(best->rows_max, GEMM_ROWS_MAX);
    }
}
END_TEST

SUITE("gemm", tiles_of_every_height_agree_with_naive_sums, fp32_in_parts_agrees_with_naive_sums,
      int8_sums_do_not_saturate_at_the_ends_of_the_range,
      every_precision_has_a_variant_that_runs_here)
