/* tiles.h - products by one thread, tile after tile of gemm.h, for the attention of training. The
 * matrices are those of one head:
 *
 *     tiles_rows       C [rows, n]  = A [rows, k] B [k, n]         rows of A as in an operand
 *     tiles_columns    C [rows, n] += A^T [rows, k] B [k, n]       A [k, rows], by its columns
 *
 * B is in panels, `groups` groups of k each (groups.h). sums: GEMM_ROWS_MAX x GEMM_COLUMNS floats,
 * 64-byte aligned. The order of a sum depends on k alone. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_TILES_H
#define ATTND_ENGINE_TENSOR_GEMM_TILES_H

#include "engine/tensor/gemm/gemm.h"

/* The sums of a tile, and how they are written to c. */
struct tiles {
    const struct gemm *gemm;
    float *sums;
};

/* Rows of a are a_stride bytes apart; at most gemm->rows_max of them. */
void tiles_rows(const struct tiles *tiles, float *c, size_t c_stride, const void *a,
                size_t a_stride, size_t rows, const void *panels, size_t groups, size_t n);

/* Groups of a are a_stride bytes apart, its rows of 4 bytes side by side; any number of them. */
void tiles_columns(const struct tiles *tiles, float *c, size_t c_stride, const void *a,
                   size_t a_stride, size_t rows, const void *panels, size_t groups, size_t n);

#endif
