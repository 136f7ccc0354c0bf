/* index_dot.c - see index_dot.h. One loop, compiled for each instruction set: pairs of 16-bit
 * products are one instruction from SSE2 on (pmaddwd), and the rows come from memory, which is
 * slower than that. So there is no variant for the products of bytes (VNNI). */
#include "engine/index/index_dot.h"

#include "engine/base/cpu.h"

/* Four rows at once: their sums do not wait for each other. */
#define BODY                                                                                       \
    {                                                                                              \
        size_t r = 0;                                                                              \
        for (; r + 4 <= count; r += 4, rows += 4 * n) {                                            \
            int32_t a = 0, b = 0, c = 0, d = 0;                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                a += (int32_t)query[i] * (int16_t)rows[i];                                         \
                b += (int32_t)query[i] * (int16_t)rows[n + i];                                     \
                c += (int32_t)query[i] * (int16_t)rows[2 * n + i];                                 \
                d += (int32_t)query[i] * (int16_t)rows[3 * n + i];                                 \
            }                                                                                      \
            sums[r] = a;                                                                           \
            sums[r + 1] = b;                                                                       \
            sums[r + 2] = c;                                                                       \
            sums[r + 3] = d;                                                                       \
        }                                                                                          \
        for (; r < count; r++, rows += n) {                                                        \
            sums[r] = 0;                                                                           \
            for (size_t i = 0; i < n; i++)                                                         \
                sums[r] += (int32_t)query[i] * (int16_t)rows[i];                                   \
        }                                                                                          \
    }

void index_dot_plain(int32_t *sums, const int16_t *query, const int8_t *rows, size_t count,
                     size_t n)
{
    BODY
}

#if defined __x86_64__

__attribute__((target("avx2"))) static void dot_avx2(int32_t *sums, const int16_t *query,
                                                     const int8_t *rows, size_t count, size_t n)
{
    BODY
}

/* gcc chooses 256 bits by itself; clang, which builds what is fuzzed, has no such name. */
#if defined __clang__
#define WIDE ""
#else
#define WIDE ",prefer-vector-width=512"
#endif
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" WIDE))) static void
dot_avx512(int32_t *sums, const int16_t *query, const int8_t *rows, size_t count, size_t n){BODY}

index_dot *index_dot_best(void)
{
    return cpu_level() >= CPU_AVX512 ? dot_avx512
           : cpu_level() >= CPU_AVX2 ? dot_avx2
                                     : index_dot_plain;
}

#else

index_dot *index_dot_best(void)
{
    return index_dot_plain;
}

#endif
