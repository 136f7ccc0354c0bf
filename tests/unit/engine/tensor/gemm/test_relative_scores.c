/* The scores that disentangled attention adds, compared with the equation as naive sums: every
 * variant of the tiles, odd sizes, blocks of queries at any place. */
#include "engine/tensor/gemm/relative_scores.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 3, TOKENS = 150, SPAN = 20, ROWS = 2 * SPAN, APART = 6 };

/* Distances share rows beyond the span, as logarithmic buckets do. */
static unsigned row_of_distance(long t)
{
    long row = (labs(t) < SPAN / 2 ? t : t < 0 ? (t - SPAN) / 3 : (t + SPAN) / 3) + SPAN;
    return row < 0 ? 0 : row < ROWS ? (unsigned)row : ROWS - 1;
}

struct problem {
    const struct gemm *gemm;
    size_t d, width, n; /* width: numbers of a row of q and k */
    float *q, *k;       /* [n, HEADS d], rows `width` apart, as they are multiplied */
    float *rows[RELATIVE_SIDES];
    uint16_t *rounded[2]; /* q and k in bf16 */
    float *tables[RELATIVE_SIDES], *scratch, *room, *out;
    unsigned row_of[2 * TOKENS - 1];
    struct relative_scores scores;
};

/* x to bf16 and back. */
static void round_numbers(uint16_t *out, float *x, size_t count)
{
    kernels_reference.round_bf16(out, x, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)out[i] << 16;
        memcpy(&x[i], &bits, sizeof bits);
    }
}

static void problem_open(struct problem *p, const struct gemm *gemm, size_t d, size_t n)
{
    *p = (struct problem){.gemm = gemm, .d = d, .width = HEADS * d + APART, .n = n};
    p->q = numbers_new(n * p->width, 1, 1);
    p->k = numbers_new(n * p->width, 1, 2);
    for (int i = 0; i < 2 && gemm->precision == PRECISION_BF16; i++) {
        p->rounded[i] = calloc(n * p->width, sizeof *p->rounded[i]);
        round_numbers(p->rounded[i], i == 0 ? p->q : p->k, n * p->width);
    }
    for (long t = 1 - TOKENS; t < TOKENS; t++)
        p->row_of[t + TOKENS - 1] = row_of_distance(t);
    p->scores =
        (struct relative_scores){.gemm = gemm, .heads = HEADS, .d = d, .tokens_max = TOKENS};
    p->room = numbers_new(33 * d, 1, 3);
    for (int side = 0; side < RELATIVE_SIDES; side++) {
        size_t floats = relative_scores_floats(gemm, HEADS, d, TOKENS);
        p->rows[side] = numbers_new(ROWS * p->width, 1, 4 + (unsigned)side);
        p->tables[side] = numbers_new(floats, 1, 6);
        relative_scores_pack(&p->scores, p->tables[side], (enum relative_side)side, p->rows[side],
                             p->width, p->row_of + TOKENS - 1, p->room);
    }
    p->scratch = numbers_new(relative_scores_scratch(n), 1, 7);
    p->out = numbers_new(n * ATTENTION_QUERIES, 1, 8);
}

static void problem_close(struct problem *p)
{
    free(p->q), free(p->k), free(p->room), free(p->scratch), free(p->out);
    for (int i = 0; i < 2; i++)
        free(p->rounded[i]), free(p->rows[i]), free(p->tables[i]);
}

static void run(struct problem *p, size_t head, size_t first, size_t count)
{
    bool is_bf16 = p->gemm->precision == PRECISION_BF16;
    size_t bytes = is_bf16 ? sizeof(uint16_t) : sizeof(float), stride = p->width * bytes;
    const char *q = is_bf16 ? (const char *)p->rounded[0] : (const char *)p->q;
    const char *k = is_bf16 ? (const char *)p->rounded[1] : (const char *)p->k;
    relative_scores_run(&p->scores, head, q + first * stride + head * p->d * bytes,
                        k + head * p->d * bytes, stride, first, count, p->n, p->out, p->scratch);
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double expected(const struct problem *p, size_t head, size_t i, size_t j)
{
    size_t row = row_of_distance((long)i - (long)j) * p->width + head * p->d;
    double sum = 0;
    if (p->scores.tables[RELATIVE_KEYS] != NULL)
        sum += dot(p->q + i * p->width + head * p->d, p->rows[RELATIVE_KEYS] + row, p->d);
    if (p->scores.tables[RELATIVE_QUERIES] != NULL)
        sum += dot(p->k + j * p->width + head * p->d, p->rows[RELATIVE_QUERIES] + row, p->d);
    return sum / sqrt((double)p->d);
}

/* The tables are rounded to bf16 after they are divided: each of 2 d products is off by 2^-9 at
 * most. */
static double bound_of(const struct problem *p)
{
    return p->gemm->precision == PRECISION_BF16 ? 2 * sqrt((double)p->d) / 512 : 1e-5;
}

static void check_block(struct problem *p, size_t head, size_t first, size_t count)
{
    run(p, head, first, count);
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(fabs((double)p->out[j * ATTENTION_QUERIES + i] -
                               expected(p, head, first + i, j)) < bound_of(p),
                          "%s: d %zu, n %zu, head %zu, query %zu, key %zu: %g, not %g",
                          p->gemm->name, p->d, p->n, head, first + i, j,
                          (double)p->out[j * ATTENTION_QUERIES + i],
                          expected(p, head, first + i, j));
}

static void check_blocks(struct problem *p)
{
    static const size_t counts[] = {ATTENTION_QUERIES, ATTENTION_QUERIES / 2, 1, 7};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t first = 0; first < p->n; first += counts[c] + 3 * (counts[c] < 16))
            check_block(p, c % HEADS, first, p->n - first < counts[c] ? p->n - first : counts[c]);
}

/* Calls check for every runnable variant in fp32 or bf16. */
static void each_variant(void (*check)(const struct gemm *gemm))
{
    unsigned count = 0;
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        if (gemm_variants[v]->precision != PRECISION_INT8 &&
            gemm_variants[v]->tile_columns != NULL && gemm_runnable(gemm_variants[v])) {
            check(gemm_variants[v]);
            count++;
        }
    ck_assert_uint_ge(count, 2);
}

static void check_sizes(const struct gemm *gemm)
{
    static const size_t widths[] = {2, 10, 16, 64}, lengths[] = {1, 2, 31, 32, 33, 65, 127, TOKENS};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct problem p;
            problem_open(&p, gemm, widths[w], lengths[l]);
            check_blocks(&p);
            problem_close(&p);
        }
}

START_TEST(scores_are_those_of_the_equation_at_any_size)
{
    each_variant(check_sizes);
}
END_TEST

static void check_sides(const struct gemm *gemm)
{
    for (int missing = 0; missing < RELATIVE_SIDES; missing++) {
        struct problem p;
        problem_open(&p, gemm, 12, 70);
        p.scores.tables[missing] = NULL;
        check_blocks(&p);
        problem_close(&p);
    }
}

START_TEST(either_term_may_be_missing)
{
    each_variant(check_sides);
}
END_TEST

static void check_independence(const struct gemm *gemm)
{
    float alone[TOKENS];
    struct problem p;
    problem_open(&p, gemm, 16, 101);
    for (size_t query = 0; query < p.n; query += 9) {
        run(&p, 1, query, 1);
        for (size_t j = 0; j < p.n; j++)
            alone[j] = p.out[j * ATTENTION_QUERIES];
        for (size_t first = query < 20 ? 0 : query - 20; first <= query; first += 5) {
            run(&p, 1, first, p.n - first < 30 ? p.n - first : 30);
            for (size_t j = 0; j < p.n; j++)
                ck_assert_float_eq(p.out[j * ATTENTION_QUERIES + query - first], alone[j]);
        }
    }
    problem_close(&p);
}

START_TEST(a_query_does_not_depend_on_its_block)
{
    each_variant(check_independence);
}
END_TEST

/* A NaN in a query reaches its row, a NaN in a key reaches its column, and neither reaches another
 * score. */
START_TEST(relative_scores_pass_a_nan_on_to_the_scores_that_use_it)
{
    struct problem p;
    problem_open(&p, gemm_best(PRECISION_F32), 16, 90);
    p.q[40 * p.width + 5] = p.k[50 * p.width + 7] = NAN;
    run(&p, 0, 32, 32);
    for (size_t j = 0; j < p.n; j++)
        for (size_t i = 0; i < 32; i++)
            ck_assert_int_eq(isnan(p.out[j * ATTENTION_QUERIES + i]) != 0, i == 8 || j == 50);
    problem_close(&p);
}
END_TEST

SUITE("relative_scores", scores_are_those_of_the_equation_at_any_size, either_term_may_be_missing,
      a_query_does_not_depend_on_its_block, relative_scores_pass_a_nan_on_to_the_scores_that_use_it)
