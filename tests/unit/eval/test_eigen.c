#include "engine/eval/eigen.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

static struct err err;

/* a = sum_i values[i] v_i v_i' for random orthonormal v: values falls by `ratio` each. */
static void make_matrix(double *a, double *values, double ratio)
{
    static double start[N * N], basis[N * N], found[N];
    float *random = numbers_new(N * N, 1, 7);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            start[i * N + j] = (double)random[i * N + j] + (double)random[j * N + i];
    ck_assert_int_eq(eigen_all(start, N, found, basis, &err), ERR_OK);
    memset(a, 0, N * N * sizeof *a);
    for (size_t i = 0; i < N; i++) {
        values[i] = pow(ratio, (double)i);
        for (size_t d = 0; d < N; d++)
            eigen_add(a + d * N, basis + i * N, values[i] * basis[i * N + d], N);
    }
    free(random);
}

/* |a v - value v| and |v_i . v_j - (i == j)| */
static void expect_eigen(const double *a, const double *values, const double *vectors, size_t k,
                         double within)
{
    for (size_t i = 0; i < k; i++) {
        const double *v = vectors + i * N;
        for (size_t d = 0; d < N; d++)
            ck_assert_double_eq_tol(eigen_dot(a + d * N, v, N), values[i] * v[d], within);
        for (size_t j = 0; j < k; j++)
            ck_assert_double_eq_tol(eigen_dot(v, vectors + j * N, N), i == j, 1e-9);
    }
}

START_TEST(eigen_all_finds_every_pair_in_falling_order)
{
    static double a[N * N], kept[N * N], values[N], found[N], vectors[N * N];
    make_matrix(a, values, 0.8);
    memcpy(kept, a, sizeof a);
    ck_assert_int_eq(eigen_all(a, N, found, vectors, &err), ERR_OK);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(found[i], values[i], 1e-10);
    expect_eigen(kept, found, vectors, N, 1e-10);
}
END_TEST

START_TEST(eigen_leading_finds_the_largest_pairs)
{
    static double a[N * N], values[N], found[N], vectors[N * N];
    static const size_t ks[] = {1, 5, 31, 32, 39, 40};
    make_matrix(a, values, 0.6);
    for (size_t t = 0; t < sizeof ks / sizeof ks[0]; t++) {
        ck_assert_int_eq(eigen_leading(a, N, ks[t], found, vectors, &err), ERR_OK);
        for (size_t i = 0; i < ks[t]; i++)
            ck_assert_double_eq_tol(found[i], values[i], 1e-9);
        expect_eigen(a, found, vectors, ks[t], 1e-9);
    }
}
END_TEST

START_TEST(eigen_leading_of_few_directions_is_still_orthonormal)
{
    static double a[N * N], values[N], vectors[N * N];
    for (size_t d = 0; d < N; d++)
        a[d * N + d] = d < 2 ? 3.0 - (double)d : 0;
    ck_assert_int_eq(eigen_leading(a, N, 6, values, vectors, &err), ERR_OK);
    ck_assert_double_eq_tol(values[0], 3, 1e-12);
    ck_assert_double_eq_tol(values[1], 2, 1e-12);
    expect_eigen(a, values, vectors, 6, 1e-9);
}
END_TEST

START_TEST(eigen_cholesky_solves_and_refuses_what_is_not_positive)
{
    static double a[N * N], values[N], l[N * N], x[N], b[N];
    make_matrix(a, values, 0.9);
    memcpy(l, a, sizeof a);
    ck_assert(eigen_cholesky(l, N));
    for (size_t d = 0; d < N; d++)
        x[d] = b[d] = (double)d - 7;
    eigen_forward(l, N, x);
    eigen_backward(l, N, x);
    for (size_t d = 0; d < N; d++)
        ck_assert_double_eq_tol(eigen_dot(a + d * N, x, N), b[d], 1e-8);
    ck_assert(!eigen_cholesky((double[]){1, 2, 2, 1}, 2));
    ck_assert(!eigen_cholesky((double[]){0}, 1));
}
END_TEST

START_TEST(eigen_refuses_numbers_that_are_not_finite)
{
    double a[] = {1, NAN, NAN, 1}, values[2], vectors[4];
    err = (struct err){0};
    ck_assert_int_eq(eigen_all(a, 2, values, vectors, &err), ERR_UNUSABLE);
    err = (struct err){0};
}
END_TEST

SUITE("eigen", eigen_all_finds_every_pair_in_falling_order, eigen_leading_finds_the_largest_pairs,
      eigen_leading_of_few_directions_is_still_orthonormal,
      eigen_cholesky_solves_and_refuses_what_is_not_positive,
      eigen_refuses_numbers_that_are_not_finite)
