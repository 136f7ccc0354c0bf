/* The tiles as plain loops, for any CPU of the architecture and for the tests. */
#include "engine/tensor/gemm.h"

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

static void tile_f32(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                     const void *next, unsigned rows, bool accumulate)
{
    (void)next;
    for (unsigned r = 0; r < rows; r++) {
        float *out = (float *)sums + r * GEMM_COLUMNS;
        const float *row = (const float *)((const char *)a + r * a_stride);
        const float *weight = panel;
        if (!accumulate)
            memset(out, 0, GEMM_COLUMNS * sizeof *out);
        for (size_t g = 0; g < groups; g++, weight += GEMM_COLUMNS)
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                out[c] += row[g] * weight[c];
    }
}

static void tile_bf16(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                      const void *next, unsigned rows, bool accumulate)
{
    (void)next;
    for (unsigned r = 0; r < rows; r++) {
        float *out = (float *)sums + r * GEMM_COLUMNS;
        const uint16_t *row = (const uint16_t *)((const char *)a + r * a_stride);
        const uint16_t *weight = panel;
        if (!accumulate)
            memset(out, 0, GEMM_COLUMNS * sizeof *out);
        for (size_t g = 0; g < groups; g++, weight += 2 * GEMM_COLUMNS)
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                out[c] += from_bf16(row[2 * g]) * from_bf16(weight[2 * c]) +
                          from_bf16(row[2 * g + 1]) * from_bf16(weight[2 * c + 1]);
    }
}

static void tile_int8(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                      const void *next, unsigned rows, bool accumulate)
{
    (void)next;
    for (unsigned r = 0; r < rows; r++) {
        int32_t *out = (int32_t *)sums + r * GEMM_COLUMNS;
        const uint8_t *row = (const uint8_t *)a + r * a_stride;
        const int8_t *weight = panel;
        if (!accumulate)
            memset(out, 0, GEMM_COLUMNS * sizeof *out);
        for (size_t g = 0; g < groups; g++, weight += 4 * GEMM_COLUMNS)
            for (unsigned c = 0; c < GEMM_COLUMNS; c++)
                for (unsigned e = 0; e < 4; e++)
                    out[c] += (row[4 * g + e] - 128) * weight[4 * c + e];
    }
}

const struct gemm gemm_generic = {
    .name = "generic", .precision = PRECISION_F32, .rows_max = ROWS, .tile = tile_f32};
const struct gemm gemm_generic_bf16 = {
    .name = "generic", .precision = PRECISION_BF16, .rows_max = ROWS, .tile = tile_bf16};
const struct gemm gemm_generic_int8 = {
    .name = "generic", .precision = PRECISION_INT8, .rows_max = ROWS, .tile = tile_int8};
