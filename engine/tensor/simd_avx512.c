/* The kernels for AVX-512: 32 registers of 16 floats. */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")

#define KERNELS kernels_avx512
#define NAME "avx512"
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#define TILE_VECTORS 2
#include "engine/tensor/simd_body.h"
