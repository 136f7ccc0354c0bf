/* openblas.h - OpenBLAS, loaded on first use: a backend of the linear layers, and the LAPACK behind
 * statistics.
 *
 *     int main(int argc, char **argv)
 *     {
 *         openblas_set_environment();
 *         ...
 *     if (openblas_open(&err))          ERR_UNSUPPORTED: which package is missing
 *         return err.code;
 *     openblas_functions()->sgemm(CblasRowMajor, ...);
 *
 * It is not linked, for two reasons. The library's constructor reads the variables that choose its
 * kernels and threads. And a program that does not use it runs without it installed.
 *
 * Threads: openblas_set_environment before any is started; openblas_open from any. The functions
 * run on the calling thread alone.
 */
#ifndef ATTND_ENGINE_BASE_OPENBLAS_H
#define ATTND_ENGINE_BASE_OPENBLAS_H

#include "engine/base/err.h"

#include <cblas.h>

struct openblas {
    const char *core; /* the kernels in use, such as "Haswell" or "SkylakeX" */
    __typeof__(&cblas_sgemm) sgemm;
    /* LAPACK, column by column, all arguments by address (Anderson et al. 1999). */
    /* All eigenvalues, ascending, and eigenvectors of a symmetric matrix. */
    void (*dsyev)(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
                  double *w, double *work, const int *lwork, int *info);
    /* The same for the il-th to the iu-th eigenvalue only. */
    void (*dsyevr)(const char *jobz, const char *range, const char *uplo, const int *n, double *a,
                   const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
                   const double *abstol, int *m, double *w, double *z, const int *ldz, int *isuppz,
                   double *work, const int *lwork, int *iwork, const int *liwork, int *info);
    /* The triangle L of a = L L'. */
    void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info);
};

/* Called first in every main that computes. Lets the library choose its kernels by the processor's
 * features instead of its model, and keeps it to the calling thread. An operator's setting for the
 * kernels stays. */
void openblas_set_environment(void);

/* ERR_UNSUPPORTED if the library is missing, lacks a function or has a version that attnd is not
 * tested with (versions.h). It stays open. */
enum err_code openblas_open(struct err *err);

/* Its functions, once openblas_open has succeeded. */
const struct openblas *openblas_functions(void);

/* The kernels of an OpenBLAS that has been opened; "none" before. */
const char *openblas_core(void);

#endif
