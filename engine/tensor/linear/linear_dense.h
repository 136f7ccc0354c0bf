/* linear_dense.h - shared by the backends that keep W [out, in] in the checkpoint's layout and
 * multiply straight into y: OpenBLAS and the oracle. Part of linear.h's implementation. */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_LINEAR_DENSE_H
#define ATTND_ENGINE_TENSOR_LINEAR_LINEAR_DENSE_H

#include "engine/tensor/linear/linear.h"

enum err_code linear_dense_alloc(struct linear *linear, struct err *err);
void linear_dense_fill(struct linear *linear, size_t first, size_t rows, const float *weight);
void linear_dense_unpack(const struct linear *linear, size_t column, float *weight);
void linear_dense_close(struct linear *linear);

/* Returns W's row of an output column: [in]. */
const float *linear_dense_row(const struct linear *linear, size_t column);

/* Runs the epilogue over a block whose products lie in y. So a residual must not be y. */
void linear_dense_finish(const struct linear *linear, const struct kernels *kernels,
                         const struct linear_io *io, const struct linear_block *block);

#endif
