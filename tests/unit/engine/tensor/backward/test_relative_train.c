/* The terms by distance of a head in training: forward against the equation in double, backward
 * against the equation's gradient in double, for every fp32 variant of the tiles. */
#include "engine/tensor/backward/relative_train.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 70, SPAN = 12, ROWS = 2 * SPAN, SPARE = 5, BEHIND = 16 };

static unsigned row_of[2 * TOKENS_MAX - 1];

/* Rows of their own up to five, then three distances a row. */
static void fill_rows(void)
{
    for (long t = 1 - TOKENS_MAX; t < TOKENS_MAX; t++) {
        long row = SPAN + (labs(t) <= 5 ? t : t < 0 ? (t - 12) / 3 : (t + 12) / 3);
        row_of[t + TOKENS_MAX - 1] = row < 0 ? 0 : row < ROWS ? (unsigned)row : ROWS - 1;
    }
}

struct problem {
    struct relative_train head;
    size_t stride;                   /* of all rows */
    float *q, *k, *rows;             /* rows: of qr, then of kr beside it */
    float *bias, *dbias;             /* [n, m] */
    float *gradients[3], *before[3]; /* of q, k and rows: the sums, and the numbers before */
    float *scratch;
    size_t scratch_floats;
};

static size_t numbers_of(const struct problem *p, int which)
{
    return (which == 0 ? p->head.m : which == 1 ? p->head.n : ROWS) * p->stride;
}

static struct problem new_problem(const struct gemm *gemm, size_t m, size_t n, size_t d)
{
    struct problem p = {.stride = 2 * d + SPARE};
    fill_rows();
    p.q = numbers_new(m * p.stride, 1, 1);
    p.k = numbers_new(n * p.stride, 1, 2);
    p.rows = numbers_new(ROWS * p.stride, 1, 3);
    p.bias = numbers_new(n * m, 1, 4);
    p.dbias = numbers_new(n * m, 1, 5);
    p.scratch_floats = relative_train_scratch(n, ROWS, d);
    p.scratch = numbers_new(p.scratch_floats + BEHIND, 1, 6);
    for (size_t i = 0; i < BEHIND; i++)
        p.scratch[p.scratch_floats + i] = 123;
    p.head = (struct relative_train){.gemm = gemm,
                                     .q = p.q,
                                     .q_stride = p.stride,
                                     .m = m,
                                     .k = p.k,
                                     .k_stride = p.stride,
                                     .n = n,
                                     .d = d,
                                     .kr = p.rows + d,
                                     .qr = p.rows,
                                     .r_stride = p.stride,
                                     .row_of = row_of + TOKENS_MAX - 1,
                                     .divisor = sqrtf(3 * (float)d)};
    for (int i = 0; i < 3; i++) {
        p.gradients[i] = numbers_new(numbers_of(&p, i), 1, 7 + (unsigned)i);
        p.before[i] = numbers_new(numbers_of(&p, i), 1, 7 + (unsigned)i);
    }
    return p;
}

static void free_problem(struct problem *p)
{
    for (size_t i = 0; i < BEHIND; i++)
        ck_assert_float_eq(p->scratch[p->scratch_floats + i], 123);
    for (int i = 0; i < 3; i++)
        free(p->gradients[i]), free(p->before[i]);
    free(p->q), free(p->k), free(p->rows), free(p->bias), free(p->dbias), free(p->scratch);
}

/* The offset of the row of query i and key j. */
static size_t row_at(const struct problem *p, size_t i, size_t j)
{
    return p->head.row_of[(ptrdiff_t)i - (ptrdiff_t)j] * p->stride;
}

static double exact(const struct problem *p, size_t i, size_t j)
{
    const struct relative_train *head = &p->head;
    double sum = 0;
    for (size_t c = 0; c < head->d; c++) {
        if (head->kr != NULL)
            sum += (double)p->q[i * p->stride + c] * (double)head->kr[row_at(p, i, j) + c];
        if (head->qr != NULL)
            sum += (double)p->k[j * p->stride + c] * (double)head->qr[row_at(p, i, j) + c];
    }
    return sum / (double)head->divisor;
}

static void check_forward(struct problem *p)
{
    const struct relative_train *head = &p->head;
    relative_train_forward(head, p->bias, p->scratch);
    for (size_t j = 0; j < head->n; j++)
        for (size_t i = 0; i < head->m; i++)
            ck_assert_msg(fabs((double)p->bias[j * head->m + i] - exact(p, i, j)) < 1e-5,
                          "%s: m %zu, n %zu, d %zu: query %zu, key %zu", head->gemm->name, head->m,
                          head->n, head->d, i, j);
}

/* The sums to add to the gradients of q, k and rows. */
static void exact_backward(const struct problem *p, double *const sums[3])
{
    const struct relative_train *head = &p->head;
    const size_t d = head->d;
    for (size_t j = 0; j < head->n; j++)
        for (size_t i = 0; i < head->m; i++) {
            const double slope = (double)p->dbias[j * head->m + i] / (double)head->divisor;
            const size_t q = i * p->stride, k = j * p->stride, row = row_at(p, i, j);
            for (size_t c = 0; c < d && head->kr != NULL; c++) {
                sums[0][q + c] += slope * (double)head->kr[row + c];
                sums[2][row + d + c] += slope * (double)p->q[q + c];
            }
            for (size_t c = 0; c < d && head->qr != NULL; c++) {
                sums[1][k + c] += slope * (double)head->qr[row + c];
                sums[2][row + c] += slope * (double)p->k[k + c];
            }
        }
}

static void check_backward(struct problem *p)
{
    double *sums[3];
    for (int i = 0; i < 3; i++)
        sums[i] = calloc(numbers_of(p, i), sizeof *sums[i]);
    exact_backward(p, sums);
    relative_train_backward(&p->head, p->dbias, p->gradients[0], p->stride, p->gradients[1],
                            p->stride, p->gradients[2] + p->head.d, p->gradients[2], p->scratch);
    for (int i = 0; i < 3; i++) {
        for (size_t c = 0; c < numbers_of(p, i); c++) {
            double wanted = (double)p->before[i][c] + sums[i][c];
            ck_assert_msg(fabs((double)p->gradients[i][c] - wanted) < 2e-5 * (1 + fabs(wanted)),
                          "%s: m %zu, n %zu, d %zu: gradient %d, number %zu: %g, not %g",
                          p->head.gemm->name, p->head.m, p->head.n, p->head.d, i, c,
                          (double)p->gradients[i][c], wanted);
        }
        free(sums[i]);
    }
}

static void check(const struct gemm *gemm, size_t m, size_t n, size_t d, int missing)
{
    struct problem p = new_problem(gemm, m, n, d);
    if (missing == 1)
        p.head.kr = NULL;
    if (missing == 2)
        p.head.qr = NULL;
    check_forward(&p);
    check_backward(&p);
    free_problem(&p);
}

START_TEST(both_passes_are_the_equations_at_any_size)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {1, 33, 8},   {2, 2, 5},   {9, 17, 16},
                                      {17, 17, 10}, {32, 64, 64}, {40, 41, 3}, {70, 70, 33}};
    unsigned variants = 0;
    for (unsigned v = 0; gemm_variants[v] != NULL; v++) {
        if (gemm_variants[v]->precision != PRECISION_F32 || !gemm_runnable(gemm_variants[v]))
            continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check(gemm_variants[v], sizes[s][0], sizes[s][1], sizes[s][2], 0);
        variants++;
    }
    ck_assert_uint_ge(variants, 1);
}
END_TEST

START_TEST(either_term_may_be_missing_and_learns_nothing_then)
{
    for (int missing = 1; missing <= 2; missing++)
        check(gemm_best(PRECISION_F32), 20, 30, 12, missing);
}
END_TEST

SUITE("relative_train", both_passes_are_the_equations_at_any_size,
      either_term_may_be_missing_and_learns_nothing_then)
