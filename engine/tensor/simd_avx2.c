/* The kernels for AVX2 with FMA: 16 registers of 8 floats. */
#pragma GCC target("avx2,fma")

#define KERNELS kernels_avx2
#define NAME "avx2"
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#include "engine/tensor/simd_body.h"
