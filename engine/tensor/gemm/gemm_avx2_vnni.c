/* int8 tiles for AVX-VNNI: vpdpbusd with its 256-bit encoding, for CPUs without AVX-512. */
#pragma GCC target("avx2,fma,avxvnni")
#include <immintrin.h>

#include <string.h>

static inline __attribute__((always_inline)) __m256i spread(const void *four_bytes)
{
    int group;
    memcpy(&group, four_bytes, sizeof group);
    return _mm256_set1_epi32(group);
}

#define GEMM gemm_avx2_vnni
#define NAME "avx2-vnni"
#define PRECISION PRECISION_INT8
#define BIASED true
#define ROWS 6
#define VECTORS 2
#define VECTOR __m256i
#define LANES 8
#define SPREAD(p) spread(p)
#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, a, b)
#include "engine/tensor/gemm/gemm_body.h"
