/* simd.h - the number of floats in the widest vector, and in a cache line; for the kernels and the
 * linear layers. */
#ifndef ATTND_ENGINE_TENSOR_SIMD_H
#define ATTND_ENGINE_TENSOR_SIMD_H

#include <stddef.h>

enum { SIMD_WIDTH = 16 };

static inline size_t simd_round_up(size_t n)
{
    return (n + SIMD_WIDTH - 1) / SIMD_WIDTH * SIMD_WIDTH;
}

#endif
