/* linear_openblas.c - the products by OpenBLAS' sgemm, weights in the checkpoint's layout. Its own
 * threading is off (openblas.h): callers may run at the same time, each on its block. */
#include "engine/base/openblas.h"
#include "engine/tensor/linear/linear.h"
#include "engine/tensor/linear/linear_dense.h"

#include <limits.h>

static enum err_code openblas_alloc(struct linear *linear, struct err *err)
{
    if (openblas_open(err))
        return err_prefix(err, "the linear backend 'openblas': ");
    if (linear->in > INT_MAX || linear->out > INT_MAX)
        return err_set(err, ERR_UNSUPPORTED, "a %zu x %zu matrix is larger than OpenBLAS takes",
                       linear->out, linear->in);
    return linear_dense_alloc(linear, err);
}

static void openblas_run(const struct linear *linear, const struct kernels *kernels,
                         const struct linear_io *io, const struct linear_block *block)
{
    size_t x_stride = io->x.stride / sizeof(float), rows = block->last_row - block->first_row;
    const float *x = (const float *)io->x.data + block->first_row * x_stride;
    float *y = io->y + block->first_row * io->y_stride + block->first_column;
    openblas_functions()->sgemm(
        CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows,
        (int)(block->last_column - block->first_column), (int)linear->in, 1.0f, x, (int)x_stride,
        linear_dense_row(linear, block->first_column), (int)linear->in, 0.0f, y, (int)io->y_stride);
    linear_dense_finish(linear, kernels, io, block);
}

const struct linear_backend linear_openblas = {.name = "openblas",
                                               .precision = PRECISION_F32,
                                               .alloc = openblas_alloc,
                                               .fill = linear_dense_fill,
                                               .run = openblas_run,
                                               .unpack = linear_dense_unpack,
                                               .close = linear_dense_close};
