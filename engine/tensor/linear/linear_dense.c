#include "engine/tensor/linear/linear_dense.h"

#include "engine/base/pages.h"

#include <stdlib.h>
#include <string.h>

enum err_code linear_dense_alloc(struct linear *linear, struct err *err)
{
    size_t bytes = linear->out * linear->in * sizeof(float);
    linear->weights = pages_alloc(bytes);
    if (linear->weights == NULL)
        return err_no_memory(err, bytes);
    linear->bytes = bytes;
    return ERR_OK;
}

void linear_dense_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    memcpy((float *)linear->weights + first * linear->in, weight,
           rows * linear->in * sizeof *weight);
}

void linear_dense_close(struct linear *linear)
{
    free(linear->weights);
}

const float *linear_dense_row(const struct linear *linear, size_t column)
{
    return (const float *)linear->weights + column * linear->in;
}

void linear_dense_unpack(const struct linear *linear, size_t column, float *weight)
{
    memcpy(weight, linear_dense_row(linear, column), linear->in * sizeof *weight);
}

void linear_dense_finish(const struct linear *linear, const struct kernels *kernels,
                         const struct linear_io *io, const struct linear_block *block)
{
    float *y = io->y + block->first_row * io->y_stride + block->first_column;
    const float *residual = io->residual;
    if (residual != NULL)
        residual += block->first_row * io->residual_stride + block->first_column;
    struct epilogue epilogue = {.y = y,
                                .y_stride = io->y_stride,
                                .sums = y,
                                .sums_stride = io->y_stride,
                                .bias = linear->bias + block->first_column,
                                .residual = residual,
                                .residual_stride = io->residual_stride,
                                .rows = block->last_row - block->first_row,
                                .columns = block->last_column - block->first_column,
                                .act = io->act};
    kernels->epilogue(&epilogue);
}
