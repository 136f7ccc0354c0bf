/* The kernels for AVX2 with FMA: 16 registers of 8 floats. */
#pragma GCC target("avx2,fma")

#define KERNELS kernels_avx2
#define NAME "avx2"
#define QUERIES 4
#define KEY_VECTORS 1
#include "engine/tensor/simd_body.h"
