/* simd.h - what the instruction-set variants of the kernels share: the vector type and its size.
 * Vectors are GNU C's: 16 floats, which the compiler maps to one, two or four registers. */
#ifndef ATTND_ENGINE_TENSOR_SIMD_H
#define ATTND_ENGINE_TENSOR_SIMD_H

#include <stddef.h>
#include <stdint.h>

enum {
    SIMD_WIDTH = 16,      /* floats in a vector */
    SIMD_QUERIES_MAX = 8, /* queries of an attention tile, the largest of the variants */
};

typedef float simd_vec __attribute__((vector_size(64)));
typedef float simd_vec_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t simd_int __attribute__((vector_size(64)));
typedef uint16_t simd_halves __attribute__((vector_size(32)));
typedef uint8_t simd_bytes __attribute__((vector_size(16)));

static inline size_t simd_round_up(size_t n)
{
    return (n + SIMD_WIDTH - 1) / SIMD_WIDTH * SIMD_WIDTH;
}

#endif
