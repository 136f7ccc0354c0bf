/* attention_pairs.h - rows of bf16 as pairs over neighbouring rows, which vdpbf16ps and the tiles
 * multiply. For files with AVX-512 BW. Threads: pure functions. */
#ifndef ATTND_ENGINE_TENSOR_ATTENTION_PAIRS_H
#define ATTND_ENGINE_TENSOR_ATTENTION_PAIRS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* pairs[j / 2, c] = v[j, c] in its lower half and v[j + 1, c] in its upper one, j < padded, c < d;
 * rows from `rows` on are zeros. v has rows `stride` numbers apart; d is a multiple of 32, padded
 * is even. */
static inline void attention_pair_rows(uint32_t *pairs, const uint16_t *v, size_t stride,
                                       size_t rows, size_t padded, size_t d)
{
    static const uint16_t order[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                       37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                       11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i low = _mm512_loadu_si512(order),
                  high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    for (size_t j = 0; j < padded; j += 2)
        for (size_t c = 0; c < d; c += 32) {
            const uint16_t *row = v + j * stride + c;
            __m512i a = _mm512_setzero_si512(), b = _mm512_setzero_si512();
            if (j < rows)
                a = _mm512_loadu_si512(row);
            if (j + 1 < rows)
                b = _mm512_loadu_si512(row + stride);
            uint32_t *out = pairs + j / 2 * d + c;
            _mm512_storeu_si512(out, _mm512_permutex2var_epi16(a, low, b));
            _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi16(a, high, b));
        }
}

#endif
