/* int8 tiles for plain AVX2. vpmaddubsw multiplies unsigned by signed bytes and saturates the sum
 * of two products at 32767. An activation is at most 255 here and two neighbouring weights of one
 * sign are at most GEMM_PAIR_MAX together, 255 x 128 = 32640, so that nothing saturates. */
#pragma GCC target("avx2,fma")
#include <immintrin.h>

#include <string.h>

static inline __attribute__((always_inline)) __m256i spread(const void *four_bytes)
{
    int group;
    memcpy(&group, four_bytes, sizeof group);
    return _mm256_set1_epi32(group);
}

static inline __attribute__((always_inline)) __m256i dot(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_add_epi32(sum,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
}

#define GEMM gemm_avx2_int8
#define NAME "avx2"
#define PRECISION PRECISION_INT8
#define BIASED true
#define PAIRED true
#define ROWS 6
#define VECTORS 2
#define VECTOR __m256i
#define LANES 8
#define SPREAD(p) spread(p)
#define DOT(sum, a, b) dot(sum, a, b)
#include "engine/tensor/gemm/gemm_body.h"
