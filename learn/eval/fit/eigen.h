/* eigen.h - dense symmetric matrices in double precision, by OpenBLAS's LAPACK, for statistics of
 * some hundred features. It is not used while serving. Matrices are row-major; eigenvectors are
 * rows, largest eigenvalue first. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_EIGEN_H
#define ATTND_LEARN_EVAL_FIT_EIGEN_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* All eigenvalues and eigenvectors of a [n, n]: values [n], vectors [n, n]. ERR_UNUSABLE for
 * numbers that are not finite, ERR_UNSUPPORTED without OpenBLAS, ERR_NO_MEMORY. Cost: about 9 n^3.
 */
enum err_code eigen_all(double *a, size_t n, double *values, double *vectors, struct err *err);

/* The k leading eigenvectors of a [n, n]: vectors [k, n], orthonormal; values [k]. Cost: about
 * 4/3 n^3 + 2 n^2 k. Errors as eigen_all. */
enum err_code eigen_leading(const double *a, size_t n, size_t k, double *values, double *vectors,
                            struct err *err);

/* Factors a = L L' in place, with L below and on the diagonal. ERR_UNUSABLE if a is not positive
 * definite, ERR_UNSUPPORTED without OpenBLAS. */
enum err_code eigen_cholesky(double *a, size_t n, struct err *err);
/* x = L^-1 x and x = L'^-1 x. */
void eigen_forward(const double *l, size_t n, double *x);
void eigen_backward(const double *l, size_t n, double *x);

double eigen_dot(const double *a, const double *b, size_t n);
/* y += scale x */
void eigen_add(double *y, const double *x, double scale, size_t n);

#endif
