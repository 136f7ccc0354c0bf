/* head_products of head_fit.h: both products are those of plain sums, of any shape, and the same in any pool.
 */
#include "learn/fit/head_fit.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static struct err err;

/* Below, at and above the sizes of tiles, panels and stretches. */
static const struct shape {
    size_t count;
    unsigned width, labels;
} shapes[] = {{1, 1, 1},    {7, 5, 2},     {32, 64, 14},  {33, 31, 15},
              {100, 63, 3}, {739, 96, 11}, {1700, 10, 9}, {50, 1600, 130}};

/* a [m, k] b [k, n], with b[i, j] = at[i rise + j step] */
static void check(const float *c, const float *a, const float *at, size_t m, size_t k, size_t n,
                  size_t rise, size_t step)
{
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (size_t i = 0; i < k; i++) {
                const double term = (double)a[r * k + i] * (double)at[i * rise + j * step];
                sum += term;
                size += fabs(term);
            }
            ck_assert_double_eq_tol((double)c[r * n + j], sum, 1e-6 * size + 1e-30);
        }
}

static void check_shape(const struct shape *shape, struct thread_pool *pool)
{
    const size_t count = shape->count, width = shape->width, labels = shape->labels;
    float *rows = numbers_new(count * width, 1, 1), *weights = numbers_new(labels * width, 1, 2);
    float *residual = numbers_new(labels * count, 1, 3);
    float *logits = numbers_new(labels * count, 1, 4), *slopes = numbers_new(labels * width, 1, 5);
    struct head_products *products;
    ck_assert(!head_products_open(&products, rows, count, shape->width, &err));
    head_products_logits(products, pool, shape->labels, weights, logits);
    head_products_slopes(products, pool, shape->labels, residual, slopes);
    check(logits, weights, rows, labels, width, count, 1, width);
    check(slopes, residual, rows, labels, count, width, width, 1);
    head_products_close(products);
    free(rows);
    free(weights);
    free(residual);
    free(logits);
    free(slopes);
}

START_TEST(head_products_are_those_of_plain_sums)
{
    struct thread_pool *pool;
    ck_assert(!thread_pool_open(&pool, 1, &err));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_shape(&shapes[i], pool);
    thread_pool_close(pool);
}
END_TEST

START_TEST(a_pool_changes_no_bit_of_a_product)
{
    enum { COUNT = 2000, WIDTH = 100, LABELS = 9 };
    static float logits[2][LABELS * COUNT], slopes[2][LABELS * WIDTH];
    float *rows = numbers_new(COUNT * WIDTH, 1, 1), *weights = numbers_new(LABELS * WIDTH, 1, 2);
    struct head_products *products;
    ck_assert(!head_products_open(&products, rows, COUNT, WIDTH, &err));
    for (unsigned i = 0; i < 2; i++) {
        struct thread_pool *pool;
        ck_assert(!thread_pool_open(&pool, 1 + 2 * i, &err));
        head_products_logits(products, pool, LABELS, weights, logits[i]);
        head_products_slopes(products, pool, LABELS, logits[i], slopes[i]);
        thread_pool_close(pool);
    }
    ck_assert_mem_eq(logits[0], logits[1], sizeof logits[0]);
    ck_assert_mem_eq(slopes[0], slopes[1], sizeof slopes[0]);
    head_products_close(products);
    free(rows);
    free(weights);
}
END_TEST

SUITE("head_products", head_products_are_those_of_plain_sums, a_pool_changes_no_bit_of_a_product)
