/* simd.h - what the kernels and the linear layers agree on: the numbers in the widest vector, which
 * are those of a cache line too. */
#ifndef ATTND_ENGINE_TENSOR_SIMD_H
#define ATTND_ENGINE_TENSOR_SIMD_H

#include <stddef.h>

enum { SIMD_WIDTH = 16 };

static inline size_t simd_round_up(size_t n)
{
    return (n + SIMD_WIDTH - 1) / SIMD_WIDTH * SIMD_WIDTH;
}

#endif
