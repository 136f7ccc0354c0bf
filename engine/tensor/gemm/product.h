/* product.h - C (+)= A B for training. No operand is known before the run: both are packed when
 * they are made, in the layout of gemm.h's tiles.
 *
 *     A [m, k] is an operand (operand.h),    B [k, n] is packed into panels of 32 columns
 *     or, transposed, panels like B's
 *
 * All products of a linear layer Y = X W^T, W [out, in], have this form:
 *
 *     Y  [T, out]   = X        W^T      panels_pack(w, in, out, W, in, true)
 *     dX [T, in]    = dY       W        panels_pack(w, out, in, W, in, false)
 *     dW [out, in] += dY^T     X        rows_pack(dY, transposed), panels_pack(x, T, in, X, ...)
 *
 * Weights are packed once a step and serve all of its micro-batches. dW is faster in pieces of some
 * 704 tokens, packed and accumulated one after the other: their buffers stay in the cache.
 *
 * Precision: fp32, or bf16 operands (rounded to nearest even when packed) with fp32 sums.
 * Determinism: the order of a sum depends on k alone, so the result is the same for any pool.
 * Threads: a call uses its pool; panels and operands are the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_PRODUCT_H
#define ATTND_ENGINE_TENSOR_GEMM_PRODUCT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/gemm/operand.h"

#include <stdbool.h>
#include <stddef.h>

/* B, packed: [ceil(n / 32)] panels of ceil(k / numbers in a group) groups, padded with zeros. */
struct panels {
    const struct gemm *gemm; /* its precision is the product's */
    size_t k, n;             /* shape of the matrix that is packed now */
    size_t numbers_max;      /* room: padded k x n */
    void *data;
};

/* Room for any B whose k x n, both rounded up to 32, is at most numbers_max; gemm is fp32 or bf16
 * and runnable. ERR_NO_MEMORY. */
enum err_code panels_alloc(struct panels *out, struct arena *arena, const struct gemm *gemm,
                           size_t numbers_max, struct err *err);

/* B[i, j] = b[i b_stride + j], or b[j b_stride + i] if `transposed`. */
void panels_pack(struct panels *panels, struct thread_pool *pool, size_t k, size_t n,
                 const float *b, size_t b_stride, bool transposed);

/* A, packed: an operand, or its transpose: then a row of the operand is a group of k, and the rows
 * of A lie side by side, 32 to a panel as in `panels`. fp32 is read in place. */
struct rows {
    struct operand operand; /* the matrix that is packed now */
    bool transposed;
    size_t panel_bytes; /* from panel to panel; only if transposed */
    enum precision precision;
    size_t bytes_max;
    void *data;
};

/* Takes room for any A of at most rows_max rows and at most width_max numbers a row; fp32 needs
 * none. ERR_NO_MEMORY. */
enum err_code rows_alloc(struct rows *out, struct arena *arena, enum precision precision,
                         size_t rows_max, size_t width_max, struct err *err);

/* A = x [m, k], or x^T where x is [k, m]; fp32 is x itself and must stay. */
void rows_pack(struct rows *rows, struct thread_pool *pool, size_t m, size_t k, const float *x,
               size_t x_stride, bool transposed);

/* c[i, j] = act(sum + bias[j]) + residual[i, j], see struct epilogue (kernels.h); with `accumulate`
 * c is the residual. */
struct product {
    const struct rows *a; /* [m, panels->k] in the panels' precision */
    const struct panels *b;
    size_t m;
    float *c; /* [m, panels->n] */
    size_t c_stride;
    bool accumulate;
    const float *bias;     /* [n] or NULL */
    const float *residual; /* [m, n] or NULL; not with accumulate */
    size_t residual_stride;
    enum activation act;
};

void product_run(const struct product *product, const struct kernels *kernels,
                 struct thread_pool *pool);

#endif
