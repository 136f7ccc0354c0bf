#include "learn/eval/fit/eigen.h"

#include "engine/base/openblas.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- eigenvalues ---- */

static enum err_code check(const double *a, size_t n, struct err *err)
{
    if (n > INT_MAX)
        return err_set(err, ERR_UNSUPPORTED, "a matrix of %zu rows is larger than LAPACK takes", n);
    if (!isfinite(eigen_dot(a, a, n * n)))
        return err_set(err, ERR_UNUSABLE, "the covariance has numbers that are not finite");
    if (openblas_open(err))
        return err_prefix(err, "eigenvectors: ");
    return ERR_OK;
}

/* Turns LAPACK's ascending order into descending. An eigenvector's sign is arbitrary: its largest
 * number is made positive, so that results do not depend on the library's version. */
static void reverse(double *values, double *vectors, size_t count, size_t n)
{
    for (size_t i = 0, j = count - 1; count > 0 && i < j; i++, j--) {
        double kept = values[i];
        values[i] = values[j];
        values[j] = kept;
        for (size_t d = 0; d < n; d++) {
            kept = vectors[i * n + d];
            vectors[i * n + d] = vectors[j * n + d];
            vectors[j * n + d] = kept;
        }
    }
    for (size_t i = 0; i < count; i++) {
        double *row = vectors + i * n, largest = 0;
        for (size_t d = 0; d < n; d++)
            largest = fabs(row[d]) > fabs(largest) ? row[d] : largest;
        for (size_t d = 0; d < n && largest < 0; d++)
            row[d] = -row[d];
    }
}

static enum err_code not_converged(int info, struct err *err)
{
    return info == 0 ? ERR_OK
                     : err_set(err, ERR_INTERNAL, "the eigenvalues were not found (%d)", info);
}

/* A symmetric matrix is the same by rows and by columns; LAPACK's columns are rows here. */
enum err_code eigen_all(double *a, size_t n, double *values, double *vectors, struct err *err)
{
    const int order = (int)n, size = 34 * order; /* (blocks of 32 + 2) n */
    int info = 0;
    if (check(a, n, err))
        return err->code;
    double *work = calloc((size_t)size + 1, sizeof *work);
    if (work == NULL)
        return err_no_memory(err, (size_t)size * sizeof *work);
    memcpy(vectors, a, n * n * sizeof *vectors);
    openblas_functions()->dsyev("V", "U", &order, vectors, &order, values, work, &size, &info);
    free(work);
    reverse(values, vectors, n, n);
    return not_converged(info, err);
}

enum err_code eigen_leading(const double *a, size_t n, size_t k, double *values, double *vectors,
                            struct err *err)
{
    const int order = (int)n, first = order - (int)k + 1, size = 26 * order, whole = 10 * order;
    const double none = 0;
    int found = 0, info = 0;
    if (check(a, n, err))
        return err->code;
    const size_t numbers = n * n + n + (size_t)size, integers = 2 * n + (size_t)whole;
    double *copy = calloc(numbers, sizeof *copy), *all = copy + n * n, *work = all + n;
    int *places = calloc(integers, sizeof *places);
    if (copy != NULL && places != NULL) {
        memcpy(copy, a, n * n * sizeof *copy);
        openblas_functions()->dsyevr("V", "I", "U", &order, copy, &order, &none, &none, &first,
                                     &order, &none, &found, all, vectors, &order, places, work,
                                     &size, places + 2 * n, &whole, &info);
        memcpy(values, all, k * sizeof *values);
        reverse(values, vectors, k, n);
        not_converged(info, err);
    } else {
        err_no_memory(err, numbers * sizeof *copy + integers * sizeof *places);
    }
    free(copy);
    free(places);
    return err->code;
}

/* ---- triangles ---- */

/* Read by columns, the upper triangle is L'. LAPACK's factor of it is L by rows. */
enum err_code eigen_cholesky(double *a, size_t n, struct err *err)
{
    const int order = (int)n;
    int info = 0;
    if (check(a, n, err))
        return err->code;
    openblas_functions()->dpotrf("U", &order, a, &order, &info);
    if (info != 0)
        return err_set(err, ERR_UNUSABLE,
                       "the covariance of the features is not positive definite");
    return ERR_OK;
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
