/* eigen.h - dense symmetric matrices in double precision, for statistics of some hundred features:
 * nothing here runs while serving. Matrices are row-major; eigenvectors are rows, largest
 * eigenvalue first. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_EIGEN_H
#define ATTND_LEARN_EVAL_FIT_EIGEN_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* All of a [n, n], which is overwritten: values [n], vectors [n, n]. By Jacobi's rotations (1846).
 * Cost: about 50 n^3. */
enum err_code eigen_all(double *a, size_t n, double *values, double *vectors, struct err *err);

/* The k leading ones of a positive semidefinite a [n, n], by orthogonal iteration (Bauer 1957) with
 * a few vectors to spare: vectors [k, n], orthonormal; values [k]. Of directions whose values are
 * almost equal it may find others of their span. Cost: about 80 n^2 k. */
enum err_code eigen_leading(const double *a, size_t n, size_t k, double *values, double *vectors,
                            struct err *err);

/* a = L L' in place, L below and on the diagonal; false if a is not positive definite. */
bool eigen_cholesky(double *a, size_t n);
/* x = L^-1 x and x = L'^-1 x. */
void eigen_forward(const double *l, size_t n, double *x);
void eigen_backward(const double *l, size_t n, double *x);

double eigen_dot(const double *a, const double *b, size_t n);
/* y += scale x */
void eigen_add(double *y, const double *x, double scale, size_t n);

#endif
