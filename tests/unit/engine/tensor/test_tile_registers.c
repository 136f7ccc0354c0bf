/* The tile instructions of this processor beside their model in plain C, by which the tests of
 * engine/tensor/tiles run everywhere. */
#include "engine/tensor/tile_registers.h"

#include "engine/tensor/tile_state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"
#include "tests/support/tile_model.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = TILE_ROWS_MAX * TILE_ROW_BYTES / 4 };

static const char no_tiles[] = "this processor has no tiles (AMX), or Linux does not permit them";
static const unsigned heights[] = {1, 7, 16};

static void configure(unsigned rows)
{
    unsigned char config[64] = {1};
    for (unsigned t = 0; t < 8; t++) {
        config[16 + 2 * t] = TILE_ROW_BYTES;
        config[48 + t] = (unsigned char)(t == 0 || t == 1 || t == 4 ? rows : TILE_ROWS_MAX);
    }
    tile_state_use(rows);
    tile_model_configure(config);
}

struct problem {
    _Alignas(64) uint32_t a[NUMBERS], b[NUMBERS], sums[NUMBERS], modelled[NUMBERS];
};

static void fill(uint32_t *tile, uint32_t seed)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        seed = seed * 1664525u + 1013904223u;
        tile[i] = (seed >> 16 & 0xFFFF) | seed << 16;
    }
}

/* Both add a . b to sums: of bytes, or of bf16. */
static void run(struct problem *p, int is_bf16)
{
    memcpy(p->modelled, p->sums, sizeof p->sums);
    LOAD(0, p->sums, TILE_ROW_BYTES);
    LOAD_ONCE(4, p->a, TILE_ROW_BYTES);
    LOAD(6, p->b, TILE_ROW_BYTES);
    tile_model_load(0, p->modelled, TILE_ROW_BYTES);
    tile_model_load(4, p->a, TILE_ROW_BYTES);
    tile_model_load(6, p->b, TILE_ROW_BYTES);
    if (is_bf16) {
        DOT_BF16(0, 4, 6);
        tile_model_dot_bf16(0, 4, 6);
    } else {
        DOT_BYTES(0, 4, 6);
        tile_model_dot_bytes(0, 4, 6);
    }
    STORE(0, p->sums, TILE_ROW_BYTES);
    tile_model_store(0, p->modelled, TILE_ROW_BYTES);
}

START_TEST(products_of_bytes_are_those_of_the_model)
{
    struct problem p;
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    for (unsigned i = 0; i < 3; i++) {
        configure(heights[i]);
        fill(p.a, i), fill(p.b, i + 9), fill(p.sums, i + 99);
        run(&p, 0);
        ck_assert_mem_eq(p.sums, p.modelled, sizeof p.sums);
    }
    tile_state_release();
}
END_TEST

static uint32_t pair(float low, float high)
{
    uint32_t bits[2];
    memcpy(&bits[0], &low, 4);
    memcpy(&bits[1], &high, 4);
    return bits[0] >> 16 | (bits[1] & 0xFFFF0000u);
}

/* Numbers whose sums no order of additions rounds, and denormal ones, which count as zero. */
static void fill_exact(uint32_t *tile, uint32_t seed)
{
    fill(tile, seed);
    for (unsigned i = 0; i < NUMBERS; i++) {
        const float low = (float)(int)(tile[i] % 33) - 16, high = (float)(int)(tile[i] % 29) - 14;
        tile[i] = i % 11 == 3 ? pair(1e-39f, high) : pair(low, high);
    }
}

START_TEST(exact_products_of_bf16_are_those_of_the_model)
{
    struct problem p;
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    for (unsigned i = 0; i < 3; i++) {
        configure(heights[i]);
        fill_exact(p.a, i), fill_exact(p.b, i + 9);
        for (unsigned n = 0; n < NUMBERS; n++)
            memcpy(&p.sums[n], &(float){(float)n}, 4);
        run(&p, 1);
        ck_assert_mem_eq(p.sums, p.modelled, sizeof p.sums);
    }
    tile_state_release();
}
END_TEST

/* Sums of two rows of 32 products are rounded some 34 times, each by half a unit at most. */
START_TEST(rounded_products_of_bf16_are_near_those_of_the_model)
{
    struct problem p;
    float sums[NUMBERS], modelled[NUMBERS];
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    float *x = numbers_new(2 * NUMBERS, 1, 3), *w = numbers_new(2 * NUMBERS, 1, 4);
    configure(TILE_ROWS_MAX);
    memset(&p, 0, sizeof p);
    for (unsigned n = 0; n < NUMBERS; n++) {
        p.a[n] = pair(x[2 * n], x[2 * n + 1]);
        p.b[n] = pair(w[2 * n], w[2 * n + 1]);
    }
    run(&p, 1);
    memcpy(sums, p.sums, sizeof sums);
    memcpy(modelled, p.modelled, sizeof modelled);
    ck_assert_double_lt(numbers_difference(sums, modelled, NUMBERS), 34 * 32 * 0x1p-24);
    free(x), free(w);
    tile_state_release();
}
END_TEST

SUITE("tile_registers", products_of_bytes_are_those_of_the_model,
      exact_products_of_bf16_are_those_of_the_model,
      rounded_products_of_bf16_are_near_those_of_the_model)
