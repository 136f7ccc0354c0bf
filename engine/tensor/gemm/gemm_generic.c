/* The tiles as plain loops, for any CPU of the architecture and for the tests. */
#include "engine/tensor/gemm/gemm.h"

#include <stdint.h>
#include <string.h>

enum { ROWS = 4 };

static float from_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rows of a are row_stride bytes apart, groups group_stride. */
static void tile_f32(float *sums, const char *a, size_t row_stride, size_t group_stride,
                     const float *panel, size_t groups, unsigned rows)
{
    for (unsigned r = 0; r < rows; r++, a += row_stride)
        for (size_t g = 0; g < groups; g++)
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                sums[r * GEMM_COLUMNS + c] +=
                    *(const float *)(a + g * group_stride) * panel[g * GEMM_COLUMNS + c];
}

static void tile_bf16(float *sums, const char *a, size_t row_stride, size_t group_stride,
                      const uint16_t *panel, size_t groups, unsigned rows)
{
    for (unsigned r = 0; r < rows; r++, a += row_stride)
        for (size_t g = 0; g < groups; g++) {
            const uint16_t *pair = (const uint16_t *)(a + g * group_stride);
            const uint16_t *weight = panel + 2 * g * GEMM_COLUMNS;
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                sums[r * GEMM_COLUMNS + c] += from_bf16(pair[0]) * from_bf16(weight[2 * c]) +
                                              from_bf16(pair[1]) * from_bf16(weight[2 * c + 1]);
        }
}

static void tile_int8(int32_t *sums, const uint8_t *a, size_t row_stride, size_t group_stride,
                      const int8_t *panel, size_t groups, unsigned rows)
{
    for (unsigned r = 0; r < rows; r++, a += row_stride)
        for (size_t g = 0; g < groups; g++)
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                for (unsigned e = 0; e < 4; e++)
                    sums[r * GEMM_COLUMNS + c] +=
                        (a[g * group_stride + e] - 128) * panel[4 * (g * GEMM_COLUMNS + c) + e];
}

#define TILES(type, precision_, variable)                                                          \
    static void rows_##type(void *sums, const void *a, size_t a_stride, const void *panel,         \
                            size_t groups, const struct gemm_ahead *ahead, unsigned rows,          \
                            bool accumulate)                                                       \
    {                                                                                              \
        (void)ahead;                                                                               \
        if (!accumulate)                                                                           \
            memset(sums, 0, rows *GEMM_COLUMNS * sizeof(float));                                   \
        tile_##type(sums, a, a_stride, GEMM_GROUP_BYTES, panel, groups, rows);                     \
    }                                                                                              \
    static void columns_##type(void *sums, const void *a, size_t a_stride, const void *panel,      \
                               size_t groups, const struct gemm_ahead *ahead, unsigned rows,       \
                               bool accumulate)                                                    \
    {                                                                                              \
        (void)ahead;                                                                               \
        if (!accumulate)                                                                           \
            memset(sums, 0, rows *GEMM_COLUMNS * sizeof(float));                                   \
        tile_##type(sums, a, GEMM_GROUP_BYTES, a_stride, panel, groups, rows);                     \
    }                                                                                              \
    const struct gemm variable = {.name = "generic",                                               \
                                  .precision = precision_,                                         \
                                  .rows_max = ROWS,                                                \
                                  .group_unit = 1,                                                 \
                                  .groups_max = 768,                                               \
                                  .tile = rows_##type,                                             \
                                  .tile_columns = columns_##type};

TILES(f32, PRECISION_F32, gemm_generic)
TILES(bf16, PRECISION_BF16, gemm_generic_bf16)
TILES(int8, PRECISION_INT8, gemm_generic_int8)
