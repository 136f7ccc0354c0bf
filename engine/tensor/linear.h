/* linear.h - the linear layer: Y = act(X W^T + b) (+ R), the shape of nearly all arithmetic here.
 *
 *     X [rows, in]   W [out, in]   b [out]   Y, R [rows, out]
 *
 * W is handed over once, at load, in the layout of the checkpoint; a backend may repack it. A run
 * is cut over the output columns, one slice for each member of the team, so that each thread
 * streams its own part of the weights, and a row's result does not depend on how many rows share
 * the batch.
 *
 * Threads: a linear is immutable after open; runs may overlap, each with a team of its own.
 */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_H
#define ATTND_ENGINE_TENSOR_LINEAR_H

#include "engine/base/err.h"
#include "engine/base/team.h"
#include "engine/tensor/kernels.h"

#include <stddef.h>

struct linear;

/* One way to multiply. `product` writes columns [first, last) of X W^T, without bias. */
struct linear_backend {
    const char *name;
    enum err_code (*open)(struct linear *linear, struct err *err); /* may repack and free weight */
    void (*product)(const struct linear *linear, float *y, const float *x, size_t rows,
                    size_t first, size_t last);
    void (*close)(struct linear *linear);
};

extern const struct linear_backend linear_openblas;
extern const struct linear_backend linear_reference; /* the oracle: naive, double accumulators */

struct linear {
    const struct linear_backend *backend;
    size_t in, out;
    float *weight; /* [out, in], owned; NULL if the backend keeps its own copy in `packed` */
    float *bias;   /* [out], owned */
    void *packed;  /* the backend's */
};

/* "auto" and NULL give the fastest one; NULL for an unknown name. */
const struct linear_backend *linear_backend_find(const char *name);
/* "auto, openblas, reference": for error texts and help. */
const char *linear_backend_names(void);

/* A linear is made in three steps: memory, rows, the backend's last work.
 *
 *     linear_alloc(&linear, backend, in, out, &err);      // bias zeroed; written by the caller
 *     linear_fill(&linear, 0, out, weight);               // or piece by piece, by many threads
 *     linear_open(&linear, &err);
 */
enum err_code linear_alloc(struct linear *linear, const struct linear_backend *backend, size_t in,
                           size_t out, struct err *err);

enum { LINEAR_FILL_ROWS = 32 };

/* Rows [first, first + rows) of W, row-major. Any thread, disjoint ranges, each row once; borders
 * between ranges are multiples of LINEAR_FILL_ROWS. */
void linear_fill(struct linear *linear, size_t first, size_t rows, const float *weight);

/* After every row was filled and the bias written. */
enum err_code linear_open(struct linear *linear, struct err *err);
void linear_close(struct linear *linear); /* also after a failed alloc or open; idempotent */

/* Compares products of an opened linear, for few and many rows, with naive sums over a sample of
 * its columns: some OpenBLAS releases have shipped wrong small-matrix kernels. ERR_INTERNAL if they
 * disagree. A backend that keeps no `weight` tests itself in open. */
enum err_code linear_self_test(const struct linear *linear, struct err *err);

/* All matrices are dense. residual may be NULL; it must not overlap y, nor may x. */
void linear_run(const struct linear *linear, const struct kernels *kernels, struct team *team,
                float *y, const float *x, size_t rows, const float *residual, enum activation act);

#endif
