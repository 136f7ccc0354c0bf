/* gemm_tiles_body.h - a product by tile registers, written once for bytes, bf16 and fp32 in parts.
 * The including file defines GEMM, NAME and PRECISION as for gemm_body.h and DOT(c, a, b), and
 * includes tile_registers.h. For parts it also defines PARTS and CUT, else it has one.
 *
 * A step multiplies 64 bytes of up to 32 rows with 16 rows of weights. A term of a step:
 *
 *     tile 4 (the first 16 rows)   x  tiles 6, 7 (columns 0 to 15, 16 to 31)  ->  sums in 0, 1
 *     tile 5 (the last 16 rows)    x  tiles 6, 7                              ->  sums in 2, 3
 *
 * so there are at most four loads for four products. The rows of a tile of weights are groups, the
 * layout of a panel, or pairs of bf16 that CUT has made of them. With 17 to 31 rows the two tiles
 * overlap and write the same sums, so that tiles need no other configuration.
 */
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/tile_state.h"

#ifndef PARTS
#define PARTS 1
#define CUT NULL
#endif

enum {
    GROUP_STRIDE = GEMM_COLUMNS * GEMM_GROUP_BYTES,
    STEP_GROUPS = PARTS > 1 ? OPERAND_STEP : 16,
    PART_BYTES = TILE_ROWS_MAX * GROUP_STRIDE, /* of the weights */
    TERMS_A_CALL = 2,
    GROUPS_MAX = PARTS > 1 ? 128 : 192,
};

/* The products of a step: a part of the rows and one of the weights. Neighbours share one. */
static const unsigned char terms[][2] = {
    {0, 0},
#if PARTS == 3
    {0, 1}, {0, 2}, {2, 0}, {1, 0}, {1, 1},
#endif
};
enum { TERMS = sizeof terms / sizeof terms[0] };

static inline __attribute__((always_inline)) void begin(char *top, char *bottom, bool accumulate,
                                                        const bool is_high)
{
    if (!accumulate) {
        ZERO(0);
        ZERO(1);
        ZERO(2);
        ZERO(3);
        return;
    }
    LOAD(0, top, GROUP_STRIDE);
    LOAD(1, top + TILE_ROW_BYTES, GROUP_STRIDE);
    if (is_high) {
        LOAD(2, bottom, GROUP_STRIDE);
        LOAD(3, bottom + TILE_ROW_BYTES, GROUP_STRIDE);
    }
}

static inline __attribute__((always_inline)) void multiply_term(const char *top, const char *bottom,
                                                                size_t a_stride, const char *b,
                                                                const bool new_a, const bool new_b,
                                                                const bool is_high)
{
    if (new_a)
        LOAD_ONCE(4, top, a_stride);
    if (new_b)
        LOAD(6, b, GROUP_STRIDE);
    DOT(0, 4, 6);
    if (new_b)
        LOAD(7, b + TILE_ROW_BYTES, GROUP_STRIDE);
    DOT(1, 4, 7);
    if (!is_high)
        return;
    if (new_a)
        LOAD_ONCE(5, bottom, a_stride);
    DOT(2, 5, 6);
    DOT(3, 5, 7);
}

static inline __attribute__((always_inline)) void
multiply(const char *top, const char *bottom, size_t a_stride, const char *weights, size_t groups,
         const struct gemm_ahead *ahead, const bool is_high)
{
    const char *next = ahead->at, *end = next;
    const size_t bytes = STEP_GROUPS * ahead->step / TERMS;
    for (size_t s = 0; s < groups / STEP_GROUPS; s++) {
        const char *b = weights + s * (PARTS * PART_BYTES);
        const size_t a = s * (PARTS * TILE_ROW_BYTES);
#pragma GCC unroll 6
        for (unsigned t = 0; t < TERMS; t++) {
            const size_t at = a + terms[t][0] * TILE_ROW_BYTES;
            multiply_term(top + at, bottom + at, a_stride, b + terms[t][1] * PART_BYTES,
                          t == 0 || terms[t][0] != terms[t - 1][0],
                          t == 0 || terms[t][1] != terms[t - 1][1], is_high);
            for (end += bytes; next < end; next += TILE_ROW_BYTES)
                __builtin_prefetch(next, 0, 2);
            if (ahead->part != NULL && (s * TERMS + t) % TERMS_A_CALL == TERMS_A_CALL - 1)
                ahead->part(ahead->context);
        }
    }
}

static void tile(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                 const struct gemm_ahead *ahead, unsigned rows, bool accumulate)
{
    const unsigned low = rows < TILE_ROWS_MAX ? rows : TILE_ROWS_MAX;
    const size_t second = rows - low;
    char *top = sums, *bottom = top + second * GROUP_STRIDE;
    const char *first = a;
    tile_state_use(low);
    begin(top, bottom, accumulate, second > 0);
    if (second > 0) {
        multiply(first, first + second * a_stride, a_stride, panel, groups, ahead, true);
        STORE(2, bottom, GROUP_STRIDE);
        STORE(3, bottom + TILE_ROW_BYTES, GROUP_STRIDE);
    } else {
        multiply(first, first, a_stride, panel, groups, ahead, false);
    }
    STORE(0, top, GROUP_STRIDE);
    STORE(1, top + TILE_ROW_BYTES, GROUP_STRIDE);
}

const struct gemm GEMM = {.name = NAME,
                          .precision = PRECISION,
                          .rows_max = 2 * TILE_ROWS_MAX,
                          .rows_whole = TILE_ROWS_MAX,
                          .group_unit = STEP_GROUPS,
                          .groups_max = GROUPS_MAX,
                          .biased = PRECISION == PRECISION_INT8,
                          .cut = CUT,
                          .tile = tile};
