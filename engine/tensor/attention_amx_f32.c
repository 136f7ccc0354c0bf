/* attention_amx_f32.c - attention in fp32 by tile registers. Scores are [queries, keys], so that
 * the softmax of a query is a row of the left factor of the context's product. Maximum and sum run
 * over chunks of keys, as in attention_body.h. A row of a tile is 16 pairs: number r and number
 * r + 16 of 32 neighbours, so that two vectors become pairs without being shuffled.
 */
#ifndef VECTOR_BYTES
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#define VECTOR_BYTES 64
#endif
#include "engine/tensor/attention_parts.h"

#include "engine/tensor/vector_body.h"

#include "engine/tensor/tile_registers.h"
#include "engine/tensor/tile_state.h"

enum {
    PARTS = 3,
    QUERIES = ATTENTION_PARTS_QUERIES,
    SIDE = TILE_ROWS_MAX, /* rows of a tile, and pairs of a row */
    STEP = 2 * SIDE,      /* numbers of a row; keys of a step */
    TILE = SIDE * SIDE,   /* pairs of a tile */
    KEYS = 256,           /* keys of a chunk: its scores fit in the first-level cache */
    STEPS = KEYS / STEP,  /* steps of a chunk */
    WIDE = 4,             /* tiles of 16 columns of the context that are summed at once */
    ROW = KEYS * 4,       /* bytes of a row of scores */
};
#define LOG2_E 1.44269504f

struct block {
    uint32_t *keys;    /* [n / 16, d / 32, PARTS, TILE] row r: numbers r and r + 16 of 16 keys */
    uint32_t *values;  /* [n / 32, d / 16, PARTS, TILE] row r: keys r and r + 16 of 16 columns */
    uint32_t *queries; /* [QUERIES / 16, d / 32, PARTS, TILE], in units of log 2 */
    float *scores;     /* [2 x 16, KEYS] of a pair of tiles of queries */
    uint32_t *softmax; /* [STEPS, PARTS, TILE] of 16 queries */
    float *context;    /* [QUERIES, d] */
    size_t n, d;
    float top[QUERIES], decay[QUERIES];
    vec total[QUERIES]; /* a sum for each lane */
};

static size_t rounded(size_t n)
{
    return (n + STEP - 1) / STEP * STEP;
}

size_t attention_parts_scratch(size_t n, size_t d)
{
    return rounded(n) * d * PARTS + QUERIES * (d / 2 * PARTS + d) + 2 * SIDE * KEYS +
           STEPS * PARTS * TILE;
}

static struct block block_of(float *scratch, size_t n, size_t d)
{
    struct block block = {.keys = (uint32_t *)(void *)scratch, .n = n, .d = d};
    block.values = block.keys + rounded(n) * d / 2 * PARTS;
    block.queries = block.values + rounded(n) * d / 2 * PARTS;
    block.softmax = block.queries + QUERIES * d / 2 * PARTS;
    block.scores = (float *)(void *)(block.softmax + STEPS * PARTS * TILE);
    block.context = block.scores + 2 * SIDE * KEYS;
    return block;
}

/* Cuts two vectors: the parts of `low` into the lower halves of the pairs, those of `high` into the
 * upper ones. Parts are `step` pairs apart. What a part leaves is exact, and so is the last. */
INLINE void cut_pairs(uint32_t *parts, size_t step, vec low, vec high)
{
    const vec_int upper = (vec_int){0} - 0x10000;
#pragma GCC unroll 3
    for (size_t part = 0; part < PARTS; part++) {
        const vec_int a = (vec_int)low, b = (vec_int)high;
        store((float *)(void *)(parts + part * step), (vec)((a >> 16 & ~upper) | (b & upper)));
        low -= (vec)(a & upper);
        high -= (vec)(b & upper);
    }
}

/* Cuts 16 keys, transposed. Behind the last key of `count` there are zeros. */
static void cut_keys(uint32_t *tiles, const float *k, size_t stride, size_t count, size_t d)
{
    static const float zeros[STEP];
    for (size_t first = 0; first < SIDE; first += LANES)
        for (size_t c = 0; c < d; c += c % SIDE == SIDE - 4 ? SIDE + 4 : 4) {
            uint32_t *tile = tiles + c / STEP * (PARTS * TILE) + first;
            const float *low[LANES], *high[LANES];
            vec a[4], b[4];
            for (size_t i = 0; i < LANES; i++) {
                low[i] = first + i < count ? k + (first + i) * stride + c : zeros;
                high[i] = first + i < count ? low[i] + SIDE : zeros;
            }
            load_quads_of(a, low, 0);
            load_quads_of(b, high, 0);
            transpose_lanes(a);
            transpose_lanes(b);
            for (size_t r = 0; r < 4; r++)
                cut_pairs(tile + (c % STEP + r) * SIDE, TILE, a[r], b[r]);
        }
}

/* Cuts the values of 32 keys. Behind the last key of `count` there are zeros. */
static void cut_values(uint32_t *tiles, const float *v, size_t stride, size_t count, size_t d)
{
    for (size_t r = 0; r < SIDE; r++)
        for (size_t c = 0; c < d; c += LANES) {
            const vec low = r < count ? load(v + r * stride + c) : splat(0);
            const vec high = r + SIDE < count ? load(v + (r + SIDE) * stride + c) : splat(0);
            cut_pairs(tiles + c / SIDE * (PARTS * TILE) + r * SIDE + c % SIDE, TILE, low, high);
        }
}

void attention_parts_cut(float *scratch, const float *k, const float *v, size_t stride, size_t n,
                         size_t d)
{
    const struct block block = block_of(scratch, n, d);
    for (size_t j = 0; j < rounded(n); j += SIDE)
        cut_keys(block.keys + j * d / 2 * PARTS, k + j * stride, stride, j < n ? n - j : 0, d);
    for (size_t j = 0; j < n; j += STEP)
        cut_values(block.values + j * d / 2 * PARTS, v + j * stride, stride, n - j, d);
}

/* Cuts the queries. Behind the last query the last one is repeated; its results are not stored. */
static void load_queries(struct block *block, const struct attention_io *io)
{
    const float scale = LOG2_E / sqrtf((float)block->d);
    for (size_t i = 0; i < (io->count + SIDE - 1) / SIDE * SIDE; i++) {
        const float *q = (const float *)io->q + (i < io->count ? i : io->count - 1) * io->q_stride;
        uint32_t *tiles = block->queries + i / SIDE * (SIDE * block->d / 2 * PARTS);
        for (size_t c = 0; c < block->d; c += STEP)
            for (size_t r = 0; r < SIDE; r += LANES)
                cut_pairs(tiles + c / STEP * (PARTS * TILE) + i % SIDE * SIDE + r, TILE,
                          load(q + c + r) * scale, load(q + c + SIDE + r) * scale);
        block->top[i] = -INFINITY;
        block->total[i] = splat(0);
    }
}

/* Loads one part of 32 keys into tiles 6 and 7. */
#define LOAD_KEYS(part)                                                                            \
    LOAD(6, k + c + (part)*TILE, TILE_ROW_BYTES);                                                  \
    LOAD(7, k + group + c + (part)*TILE, TILE_ROW_BYTES)
/* Adds their products with one part of the queries to the scores in tiles 0 to 3. */
#define ADD_SCORES(part)                                                                           \
    LOAD(4, q + c + (part)*TILE, TILE_ROW_BYTES);                                                  \
    DOT_BF16(0, 4, 6);                                                                             \
    DOT_BF16(1, 4, 7);                                                                             \
    if (halves > 1) {                                                                              \
        LOAD(5, q + group + c + (part)*TILE, TILE_ROW_BYTES);                                      \
        DOT_BF16(2, 5, 6);                                                                         \
        DOT_BF16(3, 5, 7);                                                                         \
    }

/* scores[i, j] = q[query + i] . k[j] for one or two `halves` of 16 queries and the keys of a chunk
 * that begins at key `first`. */
INLINE void score(const struct block *block, size_t query, size_t first, size_t steps,
                  const int halves)
{
    const size_t group = SIDE * block->d / 2 * PARTS; /* pairs of 16 keys or queries */
    const uint32_t *k = block->keys + first / SIDE * group,
                   *q = block->queries + query / SIDE * group;
    float *to = block->scores;
    for (size_t s = 0; s < steps; s++, to += STEP, k += 2 * group) {
        ZERO(0);
        ZERO(1);
        ZERO(2);
        ZERO(3);
        for (size_t c = 0; c < group; c += PARTS * TILE) {
            LOAD_KEYS(0);
            ADD_SCORES(0);
            ADD_SCORES(1);
            ADD_SCORES(2);
            LOAD_KEYS(1);
            ADD_SCORES(0);
            ADD_SCORES(1);
            LOAD_KEYS(2);
            ADD_SCORES(0);
        }
        STORE(0, to, ROW);
        STORE(1, to + SIDE, ROW);
        if (halves > 1) {
            STORE(2, to + SIDE * KEYS, ROW);
            STORE(3, to + SIDE * KEYS + SIDE, ROW);
        }
    }
}

/* Raises top to the largest score of each query; decay and the sums follow. */
INLINE void raise(struct block *block, size_t query, size_t keys, size_t steps, const int halves)
{
    float best[2 * SIDE], *top = block->top + query, *decay = block->decay + query;
    for (size_t i = 0; i < (size_t)halves * SIDE; i++) {
        float *row = block->scores + i * KEYS;
        vec most = splat(-INFINITY), other = most;
        for (size_t j = keys; j < steps * STEP; j++)
            row[j] = -INFINITY;
        for (size_t j = 0; j < steps * STEP; j += 2 * LANES) {
            most = vec_max(most, load(row + j));
            other = vec_max(other, load(row + j + LANES));
        }
        best[i] = vec_largest(vec_max(most, other));
    }
    for (size_t i = 0; i < (size_t)halves * SIDE; i += LANES) {
        const vec old = load(top + i), new = vec_max(old, load(best + i));
        store(top + i, new);
        store(decay + i, vec_exp2_down(old - new));
    }
    for (size_t i = 0; i < (size_t)halves * SIDE; i++)
        block->total[query + i] *= decay[i];
}

/* Computes the softmax of 16 queries from `query` on, whose scores are given, for the keys of a
 * step, and cuts it. */
INLINE void exponentials(struct block *block, size_t query, const float *scores, size_t step)
{
    uint32_t *to = block->softmax + step * (PARTS * TILE);
#pragma GCC unroll 4
    for (size_t i = 0; i < SIDE; i++) {
        const float *row = scores + i * KEYS + step * STEP;
        const float top = block->top[query + i];
        for (size_t r = 0; r < SIDE; r += LANES) {
            const vec low = vec_exp2_down(load(row + r) - top);
            const vec high = vec_exp2_down(load(row + SIDE + r) - top);
            block->total[query + i] += low + high;
            cut_pairs(to + i * SIDE + r, TILE, low, high);
        }
    }
}

/* Adds the products of one tile of values, in parts, with the softmax in tiles 4 to 6 to tile
 * `sum`. */
#define ADD_COLUMNS(sum, v)                                                                        \
    LOAD(7, v, TILE_ROW_BYTES);                                                                    \
    DOT_BF16(sum, 4, 7);                                                                           \
    DOT_BF16(sum, 5, 7);                                                                           \
    DOT_BF16(sum, 6, 7);                                                                           \
    LOAD(7, (v) + TILE, TILE_ROW_BYTES);                                                           \
    DOT_BF16(sum, 4, 7);                                                                           \
    DOT_BF16(sum, 5, 7);                                                                           \
    LOAD(7, (v) + 2 * TILE, TILE_ROW_BYTES);                                                       \
    DOT_BF16(sum, 4, 7)

/* Adds the weighted values of a step to the context in tiles 0 to 3 or, if not `wide`, 0 and 1. */
INLINE void add_step(const struct block *block, size_t step, const uint32_t *v, bool wide)
{
    const uint32_t *softmax = block->softmax + step * (PARTS * TILE);
    LOAD(4, softmax, TILE_ROW_BYTES);
    LOAD(5, softmax + TILE, TILE_ROW_BYTES);
    LOAD(6, softmax + 2 * TILE, TILE_ROW_BYTES);
    ADD_COLUMNS(0, v);
    ADD_COLUMNS(1, v + PARTS * TILE);
    if (wide) {
        ADD_COLUMNS(2, v + 2 * PARTS * TILE);
        ADD_COLUMNS(3, v + 3 * PARTS * TILE);
    }
}

/* Adds the weighted values of a chunk to the context of 16 queries from `query` on. */
INLINE void gather(struct block *block, size_t query, const float *scores, size_t first,
                   size_t steps)
{
    const size_t d = block->d, stride = d * sizeof(float), group = STEP * d / 2 * PARTS;
    float *context = block->context + query * d;
    if (first > 0)
        for (size_t i = 0; i < SIDE; i++)
            for (size_t c = 0; c < d; c += LANES)
                store(context + i * d + c, load(context + i * d + c) * block->decay[query + i]);
    for (size_t c = 0; c < d; c += WIDE * SIDE) {
        const bool wide = d - c >= WIDE * SIDE;
        const uint32_t *v = block->values + first / STEP * group + c / SIDE * (PARTS * TILE);
        float *sums = context + c;
        if (first == 0) {
            ZERO(0);
            ZERO(1);
            ZERO(2);
            ZERO(3);
        } else {
            LOAD(0, sums, stride);
            LOAD(1, sums + SIDE, stride);
            if (wide) {
                LOAD(2, sums + 2 * SIDE, stride);
                LOAD(3, sums + 3 * SIDE, stride);
            }
        }
        for (size_t s = 0; s < steps; s++) {
            if (c == 0)
                exponentials(block, query, scores, s);
            if (s > 0)
                add_step(block, s - 1, v + (s - 1) * group, wide);
        }
        add_step(block, steps - 1, v + (steps - 1) * group, wide);
        STORE(0, sums, stride);
        STORE(1, sums + SIDE, stride);
        if (wide) {
            STORE(2, sums + 2 * SIDE, stride);
            STORE(3, sums + 3 * SIDE, stride);
        }
    }
}

/* Attends to the keys of a chunk for one or two `halves` of 16 queries from `query` on. */
INLINE void attend(struct block *block, size_t query, size_t first, const int halves)
{
    const size_t keys = block->n - first < KEYS ? block->n - first : KEYS;
    const size_t steps = rounded(keys) / STEP;
    score(block, query, first, steps, halves);
    raise(block, query, keys, steps, halves);
    for (size_t h = 0; h < (size_t)halves; h++)
        gather(block, query + h * SIDE, block->scores + h * SIDE * KEYS, first, steps);
}

void attention_parts_run(const struct attention_io *io)
{
    struct block block = block_of(io->scratch, io->n, io->d);
    tile_state_use(TILE_ROWS_MAX);
    load_queries(&block, io);
    for (size_t first = 0; first < io->n; first += KEYS)
        for (size_t query = 0; query < io->count; query += 2 * SIDE)
            if (io->count - query > SIDE)
                attend(&block, query, first, 2);
            else
                attend(&block, query, first, 1);
    for (size_t i = 0; i < io->count; i++) {
        const float scale = 1.0f / vec_sum(block.total[i]);
        for (size_t c = 0; c < io->d; c += LANES)
            store(io->out + i * io->out_stride + c, load(block.context + i * io->d + c) * scale);
    }
}
