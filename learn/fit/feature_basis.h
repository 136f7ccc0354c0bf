/* feature_basis.h - the coordinates in which a head is fitted: features minus their mean, along
 * their principal directions, divided by one number so that their mean squared length is 1.
 *
 *     feature_basis_fit(&basis, &table, &arena, &err);
 *     feature_basis_project(&basis, &table, rows);              rows [count, basis.rank]
 *     ... fit weights in these coordinates ...
 *     feature_basis_restore(&basis, weights, labels, plain);    for the features themselves
 *
 * Along principal directions the curvature of a head's loss is nearly diagonal. The division makes
 * a strength of regularisation mean the same for every encoder. The rotation keeps lengths, so a
 * penalty on squared weights is the same in both coordinates. Directions without variance are left
 * out, which changes no fitted weight.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_FIT_FEATURE_BASIS_H
#define ATTND_LEARN_FIT_FEATURE_BASIS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

struct feature_table {
    const float *features; /* [count, width], rows `stride` numbers apart */
    size_t count, stride;
    unsigned width;
};

struct feature_basis {
    unsigned width, rank;
    double scale;      /* features are divided by it */
    double *mean;      /* [width] */
    float *directions; /* [rank, width], orthonormal, sorted by descending variance */
    double *variances; /* [rank] of the projected features; their sum is at most 1 */
};

/* The arena owns the numbers. ERR_UNUSABLE for features that do not vary or are not finite,
 * ERR_UNSUPPORTED without OpenBLAS. Cost: count width^2 + 4 width^3. */
enum err_code feature_basis_fit(struct feature_basis *out, const struct feature_table *table,
                                struct arena *arena, struct err *err);

/* rows [table->count, rank]; the table may be another one of the same width. */
enum err_code feature_basis_project(const struct feature_basis *basis,
                                    const struct feature_table *table, float *rows,
                                    struct err *err);

/* weights [labels, rank + 1] for projected features -> plain [labels, width + 1] for the features
 * themselves. The last number of a row is its bias. */
void feature_basis_restore(const struct feature_basis *basis, const double *weights,
                           unsigned labels, float *plain);

#endif
