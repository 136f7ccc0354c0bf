/* int8 tiles by vpdpbusd: four products of an unsigned activation and a signed weight a lane,
 * summed in int32 without saturation. */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,fma,prefer-vector-width=512")
#include <immintrin.h>

#include <string.h>

static inline __attribute__((always_inline)) __m512i spread(const void *four_bytes)
{
    int group;
    memcpy(&group, four_bytes, sizeof group);
    return _mm512_set1_epi32(group);
}

#define GEMM gemm_avx512_vnni
#define NAME "avx512-vnni"
#define PRECISION PRECISION_INT8
#define BIASED true
#define ROWS 14
#define VECTORS 2
#define VECTOR __m512i
#define LANES 16
#define SPREAD(p) spread(p)
#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#include "engine/tensor/gemm/gemm_body.h"
