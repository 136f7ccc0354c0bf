/* gemm_body.h - a tile, written once and compiled for each instruction set and precision. The
 * including file sets the target and defines
 *
 *     GEMM, NAME         the table's identifier and its name
 *     PRECISION, BIASED  see gemm.h
 *     PAIRED             see gemm.h; only of bytes that saturate
 *     ROWS               rows of the largest tile
 *     VECTORS            registers of columns held at once by the largest tile
 *     VECTOR, LANES      the register's type and its 4-byte lanes
 *     SPREAD(p)          four bytes at p in every lane
 *     DOT(sum, a, b)     sum + a . b, lane by lane
 *
 * Registers: ROWS x VECTORS sums, VECTORS weights and one spread. The sums must never leave their
 * registers inside the loop: `rows` is a constant in each call, and every loop over it unrolls.
 * The 32 columns take a pass for each VECTORS registers of them, or one pass if all sums of a tile
 * of few rows have registers: such a tile waits for memory, and reads it in order then.
 */
#include "engine/tensor/gemm/gemm.h"

#include <string.h>

#ifndef PAIRED
#define PAIRED false
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    REGISTERS = ROWS * VECTORS + VECTORS + 2, /* of the CPU; the largest tile fills them */
    ALL_VECTORS = GEMM_COLUMNS / LANES,
    GROUP_STRIDE = GEMM_COLUMNS * GEMM_GROUP_BYTES,
    STEP_GROUPS = 4, /* between two prefetches, at least */
    CACHE_LINE = 64,
};

/* Groups between two prefetches, of a cache line if the share is small: the loop over groups has no
 * register for them. */
INLINE size_t step_groups(size_t bytes, size_t groups)
{
    if (bytes == 0)
        return groups;
    return bytes < CACHE_LINE / STEP_GROUPS ? CACHE_LINE / bytes : STEP_GROUPS;
}

/* One pass: `rows` x `vectors` sums over all groups. Group g of row r is at a + r row_stride + g
 * group_stride. Prefetches `bytes` from `next` on for each group. */
INLINE void tile_pass(char *sums, const char *a, size_t row_stride, size_t group_stride,
                      const char *b, size_t groups, const char *next, size_t bytes, bool accumulate,
                      const unsigned rows, const unsigned vectors)
{
    VECTOR acc[ROWS][ALL_VECTORS];
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (unsigned v = 0; v < vectors; v++) {
            const VECTOR *from = (const VECTOR *)(sums + r * GROUP_STRIDE) + v;
            acc[r][v] = accumulate ? *from : (VECTOR){0};
        }
    const size_t most = step_groups(bytes, groups);
    for (size_t left = groups, step; left > 0; left -= step) {
        step = left < most ? left : most;
        for (size_t at = 0; at < step * bytes; at += CACHE_LINE, next += CACHE_LINE)
            __builtin_prefetch(next, 0, 2);
        for (const char *end = b + step * GROUP_STRIDE; b < end; b += GROUP_STRIDE) {
            VECTOR weights[ALL_VECTORS];
#pragma GCC unroll 4
            for (unsigned v = 0; v < vectors; v++)
                weights[v] = ((const VECTOR *)b)[v];
#pragma GCC unroll 16
            for (unsigned r = 0; r < rows; r++) {
                VECTOR number = SPREAD(a + r * row_stride);
#pragma GCC unroll 4
                for (unsigned v = 0; v < vectors; v++)
                    acc[r][v] = DOT(acc[r][v], number, weights[v]);
            }
            a += group_stride;
        }
    }
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (unsigned v = 0; v < vectors; v++)
            ((VECTOR *)(sums + r * GROUP_STRIDE))[v] = acc[r][v];
}

INLINE void tile_rows(char *sums, const char *a, size_t row_stride, size_t group_stride,
                      const char *b, size_t groups, const struct gemm_ahead *ahead, bool accumulate,
                      const unsigned rows)
{
    const unsigned vectors = (rows + 1) * ALL_VECTORS < REGISTERS ? ALL_VECTORS : VECTORS;
    const size_t step = (ahead->step * vectors + ALL_VECTORS - 1) / ALL_VECTORS;
    for (unsigned v = 0; v < ALL_VECTORS; v += vectors)
        tile_pass(sums + v * sizeof(VECTOR), a, row_stride, group_stride, b + v * sizeof(VECTOR),
                  groups, (const char *)ahead->at + v / vectors * groups * step, step, accumulate,
                  rows, vectors);
}

/* One stride is a constant in each call. */
INLINE void tile_any(char *sums, const char *a, size_t row_stride, size_t group_stride,
                     const char *panel, size_t groups, const struct gemm_ahead *ahead,
                     unsigned rows, bool accumulate)
{
    switch (rows) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        tile_rows(sums, a, row_stride, group_stride, panel, groups, ahead, accumulate, n);         \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
#if ROWS > 4
        CASE(5)
        CASE(6)
#endif
#if ROWS > 6
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
#endif
#undef CASE
    }
}

static void tile(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                 const struct gemm_ahead *ahead, unsigned rows, bool accumulate)
{
    tile_any(sums, a, a_stride, GEMM_GROUP_BYTES, panel, groups, ahead, rows, accumulate);
}

static void tile_columns(void *sums, const void *a, size_t a_stride, const void *panel,
                         size_t groups, const struct gemm_ahead *ahead, unsigned rows,
                         bool accumulate)
{
    tile_any(sums, a, GEMM_GROUP_BYTES, a_stride, panel, groups, ahead, rows, accumulate);
}

const struct gemm GEMM = {.name = NAME,
                          .precision = PRECISION,
                          .rows_max = ROWS,
                          .group_unit = 1,
                          .groups_max = 768,
                          .biased = BIASED,
                          .paired = PAIRED,
                          .tile = tile,
                          .tile_columns = tile_columns};
