/* linear_reference.c - the oracle's product: a naive loop with a double accumulator. */
#include "engine/tensor/linear/linear.h"
#include "engine/tensor/linear/linear_dense.h"

static float dot(const float *x, const float *weight, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)x[k] * weight[k];
    return (float)sum;
}

static void reference_run(const struct linear *linear, const struct kernels *kernels,
                          const struct linear_io *io, const struct linear_block *block)
{
    size_t x_stride = io->x.stride / sizeof(float);
    for (size_t r = block->first_row; r < block->last_row; r++)
        for (size_t c = block->first_column; c < block->last_column; c++)
            io->y[r * io->y_stride + c] = dot((const float *)io->x.data + r * x_stride,
                                              linear_dense_row(linear, c), linear->in);
    linear_dense_finish(linear, kernels, io, block);
}

const struct linear_backend linear_reference = {.name = "reference",
                                                .precision = PRECISION_F32,
                                                .alloc = linear_dense_alloc,
                                                .fill = linear_dense_fill,
                                                .run = reference_run,
                                                .unpack = linear_dense_unpack,
                                                .close = linear_dense_close};
