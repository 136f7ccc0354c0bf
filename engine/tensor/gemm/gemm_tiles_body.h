/* gemm_tiles_body.h - a product by tile registers, written once for bytes and bf16. The including
 * file defines GEMM, NAME and PRECISION as for gemm_body.h and DOT(c, a, b), and includes
 * tile_registers.h.
 *
 * A step multiplies 64 bytes of up to 32 rows with 16 groups of a panel:
 *
 *     tile 4 (the first 16 rows)   x  tiles 6, 7 (columns 0 to 15, 16 to 31)  ->  sums in 0, 1
 *     tile 5 (the last 16 rows)    x  tiles 6, 7                              ->  sums in 2, 3
 *
 * so there are four loads for four products. The rows of a tile of weights are groups, the layout
 * of a panel: there is no other packing. With 17 to 31 rows the two tiles overlap and write the
 * same sums, so that tiles need no other configuration.
 */
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/tile_state.h"

enum { GROUP_STRIDE = GEMM_COLUMNS * GEMM_GROUP_BYTES, STEP_GROUPS = 16, STEPS_A_PART = 2 };

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

static inline __attribute__((always_inline)) void
multiply(const char *top, const char *bottom, size_t a_stride, const char *panel, size_t groups,
         const struct gemm_ahead *ahead, const bool is_high)
{
    const char *next = ahead->at;
    const size_t step = STEP_GROUPS * ahead->step;
    for (size_t g = 0; g < groups; g += STEP_GROUPS) {
        const char *b = panel + g * GROUP_STRIDE;
        LOAD_ONCE(4, top + g * GEMM_GROUP_BYTES, a_stride);
        LOAD(6, b, GROUP_STRIDE);
        DOT(0, 4, 6);
        LOAD(7, b + TILE_ROW_BYTES, GROUP_STRIDE);
        DOT(1, 4, 7);
        if (is_high) {
            LOAD_ONCE(5, bottom + g * GEMM_GROUP_BYTES, a_stride);
            DOT(2, 5, 6);
            DOT(3, 5, 7);
        }
        for (size_t at = 0; at < step; at += TILE_ROW_BYTES, next += TILE_ROW_BYTES)
            __builtin_prefetch(next, 0, 2);
        if (ahead->part != NULL && g / STEP_GROUPS % STEPS_A_PART == STEPS_A_PART - 1)
            ahead->part(ahead->context);
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
        multiply(first, NULL, a_stride, panel, groups, ahead, false);
    }
    STORE(0, top, GROUP_STRIDE);
    STORE(1, top + TILE_ROW_BYTES, GROUP_STRIDE);
}

const struct gemm GEMM = {.name = NAME,
                          .precision = PRECISION,
                          .rows_max = 2 * TILE_ROWS_MAX,
                          .rows_whole = TILE_ROWS_MAX,
                          .group_unit = STEP_GROUPS,
                          .groups_max = 12 * STEP_GROUPS,
                          .biased = PRECISION == PRECISION_INT8,
                          .tile = tile};
