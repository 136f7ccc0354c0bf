/* bf16 tiles by vdpbf16ps: two products a lane. */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,fma,prefer-vector-width=512")
#include <immintrin.h>

#include <string.h>

static inline __attribute__((always_inline)) __m512 spread(const void *four_bytes)
{
    int pair;
    memcpy(&pair, four_bytes, sizeof pair);
    return (__m512)_mm512_set1_epi32(pair);
}

#define GEMM gemm_avx512_bf16
#define NAME "avx512-bf16"
#define PRECISION PRECISION_BF16
#define BIASED false
#define ROWS 14
#define VECTORS 2
#define VECTOR __m512
#define LANES 16
#define SPREAD(p) spread(p)
#define DOT(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#include "engine/tensor/gemm/gemm_body.h"
