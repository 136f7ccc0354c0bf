/* fp32 tiles for AVX2 with FMA: 12 sums, 2 weights and a spread in 16 registers of 8 floats. */
#pragma GCC target("avx2,fma")
#include <immintrin.h>

#define GEMM gemm_avx2
#define NAME "avx2"
#define PRECISION PRECISION_F32
#define BIASED false
#define ROWS 6
#define VECTORS 2
#define VECTOR __m256
#define LANES 8
#define SPREAD(p) _mm256_set1_ps(*(const float *)(p))
#define DOT(sum, a, b) _mm256_fmadd_ps(a, b, sum)
#include "engine/tensor/gemm/gemm_body.h"
