#include "learn/eval/fit/eigen.h"
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

static void refuse_cholesky(double *a, size_t n)
{
    struct err why = {0};
    ck_assert_int_eq(eigen_cholesky(a, n, &why), ERR_UNUSABLE);
}

START_TEST(eigen_cholesky_solves_and_refuses_what_is_not_positive)
{
    static double a[N * N], values[N], l[N * N], x[N], b[N];
    make_matrix(a, values, 0.9);
    memcpy(l, a, sizeof a);
    ck_assert(!eigen_cholesky(l, N, &err));
    for (size_t d = 0; d < N; d++)
        x[d] = b[d] = (double)d - 7;
    eigen_forward(l, N, x);
    eigen_backward(l, N, x);
    for (size_t d = 0; d < N; d++)
        ck_assert_double_eq_tol(eigen_dot(a + d * N, x, N), b[d], 1e-8);
    refuse_cholesky((double[]){1, 2, 2, 1}, 2);
    refuse_cholesky((double[]){0}, 1);
}
END_TEST

START_TEST(eigen_refuses_numbers_that_are_not_finite)
{
    double a[] = {1, NAN, NAN, 1}, values[2], vectors[4];
    err = (struct err){0};
    ck_assert_int_eq(eigen_all(a, 2, values, vectors, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the covariance has numbers that are not finite");
    err = (struct err){0};
    ck_assert_int_eq(eigen_leading(a, 2, 1, values, vectors, &err), ERR_UNUSABLE);
    err = (struct err){0};
}
END_TEST

/* The numbers are whole, so that their sums are exact in any order. */
START_TEST(eigen_dot_and_add_are_those_of_the_first_n)
{
    double a[12], b[12];
    for (size_t n = 0; n < 12; n++) {
        double expected = 0;
        for (size_t i = 0; i < 12; i++) {
            a[i] = (double)i + 1;
            b[i] = 3 - (double)(i * i);
            expected += i < n ? a[i] * b[i] : 0;
        }
        ck_assert(eigen_dot(a, b, n) == expected);
        eigen_add(a, b, 2, n);
        for (size_t i = 0; i < 12; i++)
            ck_assert(a[i] == (double)i + 1 + (i < n ? 2 * b[i] : 0));
    }
}
END_TEST

/* {{2, 1}, {1, 2}} has 3 along (1, 1) and 1 along (1, -1). */
START_TEST(eigen_all_of_two_by_two_is_what_was_computed_by_hand)
{
    double a[] = {2, 1, 1, 2}, values[3] = {0, 0, 7}, v[5] = {0, 0, 0, 0, 7}, one[] = {-5};
    ck_assert_int_eq(eigen_all(a, 2, values, v, &err), ERR_OK);
    ck_assert(fabs(values[0] - 3) < 1e-14 && fabs(values[1] - 1) < 1e-14 && values[2] == 7);
    for (size_t i = 0; i < 4; i++)
        ck_assert(fabs(fabs(v[i]) - sqrt(0.5)) < 1e-14);
    ck_assert(v[0] * v[1] > 0 && v[2] * v[3] < 0 && v[4] == 7);
    ck_assert_int_eq(eigen_all(one, 1, values, v, &err), ERR_OK);
    ck_assert(values[0] == -5 && v[0] == 1 && fabs(values[1] - 1) < 1e-14);
}
END_TEST

START_TEST(eigen_all_sorts_what_is_diagonal)
{
    double a[25] = {[0] = 2, [6] = -1, [12] = 7, [18] = 3, [24] = 9}, values[5], vectors[25];
    static const double sorted[] = {9, 7, 3, 2, -1};
    static const size_t axis[] = {4, 2, 3, 0, 1};
    ck_assert_int_eq(eigen_all(a, 5, values, vectors, &err), ERR_OK);
    for (size_t i = 0; i < 5; i++)
        for (size_t d = 0; d < 5; d++)
            ck_assert(values[i] == sorted[i] && vectors[i * 5 + d] == (d == axis[i]));
}
END_TEST

/* The factor of {{4, 12, -16}, {12, 37, -43}, {-16, -43, 98}} is {{2}, {6, 1}, {-8, 5, 3}}. The
 * numbers above the diagonal stay. */
START_TEST(eigen_cholesky_is_what_was_computed_by_hand)
{
    double a[] = {4, 12, -16, 12, 37, -43, -16, -43, 98};
    static const double l[] = {2, 12, -16, 6, 1, -43, -8, 5, 3};
    double x[] = {2, 7, 0, 7}, y[] = {-10, 7, 6, 7};
    ck_assert(!eigen_cholesky(a, 3, &err));
    ck_assert_mem_eq(a, l, sizeof l);
    eigen_forward(l, 3, x); /* 2 x = 2; 6 + y = 7; -8 + 5 + 3 z = 0 */
    ck_assert(x[0] == 1 && x[1] == 1 && x[2] == 1 && x[3] == 7);
    eigen_backward(l, 3, y); /* 3 z = 6; y + 10 = 7; 2 x - 18 - 16 = -10 */
    ck_assert(y[2] == 2 && y[1] == -3 && y[0] == 12 && y[3] == 7);
    refuse_cholesky((double[]){4, 2, 2, 1}, 2); /* of rank one */
    refuse_cholesky((double[]){NAN}, 1);
}
END_TEST

/* The matrix has two directions. The others are any directions, with a value of 0. */
START_TEST(eigen_leading_writes_the_count_asked_for)
{
    static double a[N * N], values[4] = {7, 7, 7, 7}, vectors[4 * N];
    for (size_t d = 0; d < N; d++)
        a[d * N + d] = d < 2 ? 3.0 - (double)d : 0;
    for (size_t i = 0; i < 4 * N; i++)
        vectors[i] = 7;
    ck_assert_int_eq(eigen_leading(a, N, 3, values, vectors, &err), ERR_OK);
    ck_assert(fabs(values[2]) < 1e-12 && values[3] == 7);
    for (size_t i = 3 * N; i < 4 * N; i++)
        ck_assert(vectors[i] == 7);
}
END_TEST

/* The matrix is {{2, 0, 0}, {0, 2, 1}, {0, 1, 2}}: the first two values are equal and need no
 * rotation. */
START_TEST(eigen_all_leaves_what_is_zero)
{
    double a[] = {2, 0, 0, 0, 2, 1, 0, 1, 2}, values[3], vectors[9];
    ck_assert_int_eq(eigen_all(a, 3, values, vectors, &err), ERR_OK);
    for (size_t i = 0; i < 3; i++)
        ck_assert(fabs(values[i] - (3 - (double)i)) < 1e-14);
    ck_assert(fabs(vectors[3] - 1) < 1e-14 && fabs(vectors[4]) < 1e-14 && fabs(vectors[5]) < 1e-14);
}
END_TEST

SUITE("eigen", eigen_all_finds_every_pair_in_falling_order, eigen_leading_finds_the_largest_pairs,
      eigen_leading_of_few_directions_is_still_orthonormal,
      eigen_cholesky_solves_and_refuses_what_is_not_positive,
      eigen_refuses_numbers_that_are_not_finite, eigen_dot_and_add_are_those_of_the_first_n,
      eigen_all_of_two_by_two_is_what_was_computed_by_hand, eigen_all_sorts_what_is_diagonal,
      eigen_cholesky_is_what_was_computed_by_hand, eigen_leading_writes_the_count_asked_for,
      eigen_all_leaves_what_is_zero)
