/* groups.h - the steps of packing for gemm.h's tiles: two rows of numbers become one of bf16 pairs,
 * and a matrix of 4-byte groups is transposed or cut into panels. A group is one fp32 or a pair of
 * bf16.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_GROUPS_H
#define ATTND_ENGINE_TENSOR_GEMM_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/* to[c, r] = from[r, c], r < rows, c < columns; strides in groups. */
void groups_transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows,
                      size_t columns);

/* Writes `count` groups of every panel of B [.., n] in fp32, panels panel_groups groups apart and
 * columns behind the last one zero: to[p, g, c] = from[g, 32 p + c], or from[32 p + c, g]. */
void groups_to_panels(void *to, size_t panel_groups, const float *from, size_t from_stride,
                      size_t count, size_t n);
void groups_to_panels_transposed(void *to, size_t panel_groups, const float *from,
                                 size_t from_stride, size_t count, size_t n);

/* Writes the groups of every panel of B [rows, n] in bf16, each of two rows: to[p, g, c] = from[2
 * g, 32 p + c] in its lower half and from[2 g + 1, 32 p + c] in its upper one (kernels.h:
 * pair_bf16), zeros behind an odd last row and the last column. */
void groups_pairs_to_panels(void *to, size_t panel_groups, const float *from, size_t from_stride,
                            size_t rows, size_t n);

#endif
