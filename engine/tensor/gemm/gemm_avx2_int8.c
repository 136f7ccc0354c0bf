/* int8 tiles for plain AVX2. vpmaddubsw multiplies unsigned by signed bytes and saturates the sum
 * of two products at 32767; with a in -128..127, w in -127..127 and the sign moved from the
 * activation to the weight, |a| sign(w, a), the sum is at most 2 x 128 x 127 = 32512 and nothing
 * saturates. */
#pragma GCC target("avx2,fma")
#include <immintrin.h>

#include <string.h>

/* The activation's zero point is subtracted here: 128 + a, with the top bit flipped, is a. */
static inline __attribute__((always_inline)) __m256i spread(const void *four_bytes)
{
    unsigned group;
    memcpy(&group, four_bytes, sizeof group);
    return _mm256_set1_epi32((int)(group ^ 0x80808080u));
}

static inline __attribute__((always_inline)) __m256i dot(__m256i sum, __m256i a, __m256i b)
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#define GEMM gemm_avx2_int8
#define NAME "avx2"
#define PRECISION PRECISION_INT8
#define BIASED false
#define ROWS 4
#define VECTORS 2
#define VECTOR __m256i
#define LANES 8
#define SPREAD(p) spread(p)
#define DOT(sum, a, b) dot(sum, a, b)
#include "engine/tensor/gemm/gemm_body.h"
