#include "tests/support/tile_model.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, GROUPS = ROW_BYTES / 4 };

static _Thread_local struct {
    unsigned rows[TILES]; /* 0: not configured */
    uint32_t at[TILES][ROWS][GROUPS];
} tiles;

static void demand(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "tile model: %s\n", what);
    abort();
}

void tile_model_configure(const void *config)
{
    const uint8_t *bytes = config; /* palette, start row, 14 reserved, 16 x 2 row bytes, 16 rows */
    memset(&tiles, 0, sizeof tiles);
    demand(bytes[0] == 1 && bytes[1] == 0, "palette 1, from row 0 on");
    for (unsigned i = 2; i < 16; i++)
        demand(bytes[i] == 0, "reserved bytes are zero");
    for (unsigned t = 0; t < 16; t++) {
        const unsigned row_bytes = bytes[16 + 2 * t] + 256u * bytes[17 + 2 * t];
        const unsigned rows = bytes[48 + t];
        demand(t < TILES ? row_bytes == ROW_BYTES && rows >= 1 && rows <= ROWS
                         : row_bytes == 0 && rows == 0,
               "eight tiles, of 1 to 16 rows of 64 bytes");
        if (t < TILES)
            tiles.rows[t] = rows;
    }
}

void tile_model_release(void)
{
    memset(&tiles, 0, sizeof tiles);
}

void tile_model_zero(unsigned t)
{
    demand(tiles.rows[t] > 0, "no tiles are configured in this thread");
    memset(tiles.at[t], 0, sizeof tiles.at[t]);
}

void tile_model_load(unsigned t, const void *p, size_t stride)
{
    tile_model_zero(t);
    for (unsigned r = 0; r < tiles.rows[t]; r++)
        memcpy(tiles.at[t][r], (const char *)p + r * stride, ROW_BYTES);
}

void tile_model_store(unsigned t, void *p, size_t stride)
{
    demand(tiles.rows[t] > 0, "no tiles are configured in this thread");
    for (unsigned r = 0; r < tiles.rows[t]; r++)
        memcpy((char *)p + r * stride, tiles.at[t][r], ROW_BYTES);
}

static void demand_shapes(unsigned c, unsigned a, unsigned b)
{
    demand(tiles.rows[c] > 0, "no tiles are configured in this thread");
    demand(c != a && c != b && a != b, "a product is of three different tiles");
    demand(tiles.rows[c] == tiles.rows[a], "sums have as many rows as the left factor");
    demand(tiles.rows[b] == GROUPS, "the right factor has a row for each group of the left one");
}

void tile_model_dot_bytes(unsigned c, unsigned a, unsigned b)
{
    demand_shapes(c, a, b);
    for (unsigned m = 0; m < tiles.rows[c]; m++)
        for (unsigned k = 0; k < GROUPS; k++)
            for (unsigned n = 0; n < GROUPS; n++)
                for (unsigned e = 0; e < 32; e += 8) {
                    int32_t x = (uint8_t)(tiles.at[a][m][k] >> e);
                    int32_t w = (int8_t)(uint8_t)(tiles.at[b][k][n] >> e);
                    tiles.at[c][m][n] += (uint32_t)(x * w);
                }
}

static inline float flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static inline float number(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

static inline __attribute__((always_inline)) void dot_bf16(unsigned c, unsigned a, unsigned b)
{
    for (unsigned m = 0; m < tiles.rows[c]; m++) {
        float even[GROUPS] = {0}, odd[GROUPS] = {0};
        for (unsigned k = 0; k < GROUPS; k++)
            for (unsigned n = 0; n < GROUPS; n++) {
                const uint32_t x = tiles.at[a][m][k], w = tiles.at[b][k][n];
                even[n] = flushed(fmaf(number(x << 16), number(w << 16), even[n]));
                odd[n] = flushed(fmaf(number(x & 0xFFFF0000u), number(w & 0xFFFF0000u), odd[n]));
            }
        for (unsigned n = 0; n < GROUPS; n++) {
            float sum = flushed(number(tiles.at[c][m][n]) + flushed(even[n] + odd[n]));
            memcpy(&tiles.at[c][m][n], &sum, sizeof sum);
        }
    }
}

/* fmaf is a call where the processor's instruction is not certain. */
static __attribute__((target("avx2,fma"))) void dot_bf16_fma(unsigned c, unsigned a, unsigned b)
{
    dot_bf16(c, a, b);
}

void tile_model_dot_bf16(unsigned c, unsigned a, unsigned b)
{
    demand_shapes(c, a, b);
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
        dot_bf16_fma(c, a, b);
    else
        dot_bf16(c, a, b);
}
