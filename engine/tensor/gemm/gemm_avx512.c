/* fp32 tiles for AVX-512: 28 sums, 2 weights and a spread in 32 registers of 16 floats. */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#include <immintrin.h>

#define GEMM gemm_avx512
#define NAME "avx512"
#define PRECISION PRECISION_F32
#define BIASED false
#define ROWS 14
#define VECTORS 2
#define VECTOR __m512
#define LANES 16
#define SPREAD(p) _mm512_set1_ps(*(const float *)(p))
#define DOT(sum, a, b) _mm512_fmadd_ps(a, b, sum)
#include "engine/tensor/gemm/gemm_body.h"
