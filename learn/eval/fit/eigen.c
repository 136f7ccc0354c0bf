#include "learn/eval/fit/eigen.h"

#include "engine/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS_MAX = 60, ITERATIONS = 40, SPARE = 8, RNG_EIGEN = 0x65 };

double eigen_dot(const double *a, const double *b, size_t n)
{
    double sums[4] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum + sums[0] + sums[1] + sums[2] + sums[3];
}

void eigen_add(double *y, const double *x, double scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

/* ---- all of a small matrix ---- */

/* (x, y) = (c x - s y, s x + c y), numbers `stride` apart. */
static void rotate(double *x, double *y, size_t stride, size_t n, double c, double s)
{
    for (size_t i = 0; i < n * stride; i += stride) {
        double left = x[i], right = y[i];
        x[i] = c * left - s * right;
        y[i] = s * left + c * right;
    }
}

/* The rotation that makes a[p, q] zero. */
static void annihilate(double *a, size_t n, double *vectors, size_t p, size_t q)
{
    double off = a[p * n + q];
    if (off == 0)
        return;
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    rotate(a + p, a + q, n, n, c, s);         /* columns */
    rotate(a + p * n, a + q * n, 1, n, c, s); /* rows */
    a[p * n + q] = a[q * n + p] = 0;
    rotate(vectors + p * n, vectors + q * n, 1, n, c, s);
}

static double off_diagonal(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += a[i * n + j] * a[i * n + j];
    return sum;
}

static void swap_rows(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void sort_falling(double *values, double *vectors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (values[j] > values[best])
                best = j;
        if (best == i)
            continue;
        swap_rows(&values[i], &values[best], 1);
        swap_rows(vectors + i * n, vectors + best * n, n);
    }
}

enum err_code eigen_all(double *a, size_t n, double *values, double *vectors, struct err *err)
{
    double scale = eigen_dot(a, a, n * n);
    if (!isfinite(scale))
        return err_set(err, ERR_UNUSABLE, "the covariance has numbers that are not finite");
    memset(vectors, 0, n * n * sizeof *vectors);
    for (size_t i = 0; i < n; i++)
        vectors[i * n + i] = 1;
    for (unsigned sweep = 0; sweep < SWEEPS_MAX && off_diagonal(a, n) > 1e-28 * scale; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                annihilate(a, n, vectors, p, q);
    for (size_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
    sort_falling(values, vectors, n);
    return ERR_OK;
}

/* ---- the leading ones of a large matrix ---- */

/* Gram and Schmidt, each row twice for accuracy; what vanishes is replaced by a random row. */
static void orthonormalise(double *rows, size_t count, size_t n, struct rng *rng)
{
    for (size_t i = 0; i < count;) {
        double *row = rows + i * n, before = eigen_dot(row, row, n);
        for (int round = 0; round < 2; round++)
            for (size_t j = 0; j < i; j++)
                eigen_add(row, rows + j * n, -eigen_dot(row, rows + j * n, n), n);
        double norm = eigen_dot(row, row, n);
        bool lost = !(norm > 1e-24 * before && norm > 0);
        for (size_t d = 0; d < n; d++)
            row[d] = lost ? (double)rng_normal(rng) : row[d] / sqrt(norm);
        i += !lost;
    }
}

/* out = rows a, a being symmetric. */
static void multiply(double *out, const double *rows, size_t count, const double *a, size_t n)
{
    memset(out, 0, count * n * sizeof *out);
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < n; d++)
            eigen_add(out + i * n, a + d * n, rows[i * n + d], n);
}

/* Rayleigh and Ritz: the best that the span of q [m, n] has to offer. y and h are scratch. */
static enum err_code resolve(const double *a, size_t n, const double *q, size_t m, double *y,
                             double *h, size_t k, double *values, double *vectors, struct err *err)
{
    double *turn = h + m * m, *found = turn + m * m;
    multiply(y, q, m, a, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            h[i * m + j] = eigen_dot(y + i * n, q + j * n, n);
    if (eigen_all(h, m, found, turn, err))
        return err->code;
    memset(vectors, 0, k * n * sizeof *vectors);
    for (size_t i = 0; i < k; i++) {
        values[i] = found[i];
        for (size_t j = 0; j < m; j++)
            eigen_add(vectors + i * n, q + j * n, turn[i * m + j], n);
    }
    return ERR_OK;
}

enum err_code eigen_leading(const double *a, size_t n, size_t k, double *values, double *vectors,
                            struct err *err)
{
    size_t m = n - k > SPARE ? k + SPARE : n;
    size_t numbers = 2 * m * n + 2 * m * m + m;
    double *q = calloc(numbers, sizeof *q), *y = q + m * n, *h = y + m * n;
    struct rng rng = rng_for(RNG_EIGEN, n, k);
    if (q == NULL)
        return err_no_memory(err, numbers * sizeof *q);
    orthonormalise(q, m, n, &rng); /* zeros: all random */
    for (unsigned i = 0; i < ITERATIONS && m < n; i++) {
        multiply(y, q, m, a, n);
        memcpy(q, y, m * n * sizeof *q);
        orthonormalise(q, m, n, &rng);
    }
    resolve(a, n, q, m, y, h, k, values, vectors, err);
    free(q);
    return err->code;
}

/* ---- triangles ---- */

bool eigen_cholesky(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double rest = a[i * n + j] - eigen_dot(a + i * n, a + j * n, j);
            if (i == j && !(rest > 0))
                return false;
            a[i * n + j] = i == j ? sqrt(rest) : rest / a[j * n + j];
        }
    return true;
}

void eigen_forward(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - eigen_dot(l + i * n, x, i)) / l[i * n + i];
}

void eigen_backward(const double *l, size_t n, double *x)
{
    for (size_t i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        eigen_add(x, l + i * n, -x[i], i);
    }
}
