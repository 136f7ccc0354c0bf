/* attention_bf16.c - attention on bf16 activations by vdpbf16ps, twice the products of fp32. As in
 * attention_body.h the scores are [keys, queries] and the softmax, in fp32, is vertical with a
 * running maximum over tiles of keys. The difference: numbers are multiplied in pairs.
 *
 *     scores   pairs over d:    a pair of k, broadcast, times a vector of queries' pairs
 *     context  pairs over keys: a pair of the softmax, broadcast, times a vector of v's pairs
 *
 * So the queries are transposed as 32-bit pairs, and two rows of v are interleaved, once a tile; k
 * is read in place. One core of a Zen 5, 12 heads of width 64: see loadtest/RESULTS.md.
 */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,fma,prefer-vector-width=512")
#include "engine/tensor/attention_bf16.h"

#define VECTOR_BYTES 64
#include "engine/tensor/vector_body.h"

#include "engine/base/cpu.h"
#include "engine/tensor/attention_pairs.h"

#include <math.h>

enum {
    WIDTH = ATTENTION_QUERIES, /* queries in a row of the transposed matrices */
    VECTORS = WIDTH / LANES,
    ROWS = 8, /* x VECTORS accumulators */
    COLUMNS = VECTORS * LANES,
};
#define LOG2_E 1.44269504f

struct block {
    uint32_t *queries; /* [d / 2, WIDTH] pairs over d */
    float *scores;     /* [ATTENTION_KEYS, WIDTH] */
    uint32_t *pairs;   /* [ATTENTION_KEYS / 2, WIDTH] the softmax, pairs over keys */
    uint32_t *values;  /* [ATTENTION_KEYS / 2, d] pairs over keys */
    float *out;
    struct attention_bias bias; /* at the block's first query and the tile's first key */
    size_t out_stride, q_stride, kv_stride, d, count;
    vec top[VECTORS], total[VECTORS];
    float decay[WIDTH], scale[WIDTH];
};

INLINE vec spread(const void *pair)
{
    int32_t bits;
    memcpy(&bits, pair, sizeof bits);
    return (vec)_mm512_set1_epi32(bits);
}

/* acc[r] += sum_t a[r row_step + t step] x[t x_step ..], in pairs; steps in pairs. */
INLINE void multiply(vec acc[ROWS][VECTORS], const char *a, size_t row_step, size_t step,
                     const uint32_t *x, size_t x_step, size_t count, const int rows,
                     const int vectors)
{
    for (size_t t = 0; t < count; t++) {
        vec b[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            b[v] = load((const float *)(const void *)(x + t * x_step + (size_t)v * LANES));
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vec pair = spread(a + ((size_t)r * row_step + t * step) * 4);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                acc[r][v] = (vec)_mm512_dpbf16_ps(acc[r][v], (__m512bh)pair, (__m512bh)b[v]);
        }
    }
}

/* Returns the factor of scores in units of log 2, for which the softmax takes 2^x. */
INLINE float scale_of(const struct block *block)
{
    return LOG2_E / sqrtf((float)block->d);
}

/* Adds the bias. Scores with a bias are stored in units of log 2, others unscaled. */
INLINE vec add_bias(const struct block *block, vec score, size_t j, int v)
{
    return score * scale_of(block) + load(attention_bias_key(&block->bias, j) + v * LANES) * LOG2_E;
}

/* Returns the factor of stored scores. */
INLINE float stored_scale(const struct block *block)
{
    return block->bias.at != NULL ? 1 : scale_of(block);
}

INLINE void score_rows(const struct block *block, const uint16_t *k, size_t j, vec *best,
                       const int rows, const int vectors)
{
    vec acc[ROWS][VECTORS] = {0};
    multiply(acc, (const char *)(k + j * block->kv_stride), block->kv_stride / 2, 1, block->queries,
             WIDTH, block->d / 2, rows, vectors);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            if (block->bias.at != NULL)
                acc[r][v] = add_bias(block, acc[r][v], j + (size_t)r, v);
            store(block->scores + (j + (size_t)r) * WIDTH + v * LANES, acc[r][v]);
            best[v] = vec_max(best[v], acc[r][v]);
        }
}

INLINE void score(const struct block *block, const uint16_t *k, size_t keys, vec *best,
                  const int vectors)
{
    size_t j = 0;
    for (; keys - j >= ROWS; j += ROWS)
        score_rows(block, k, j, best, ROWS, vectors);
    if (keys - j >= 4) {
        score_rows(block, k, j, best, 4, vectors);
        j += 4;
    }
    for (; j < keys; j++)
        score_rows(block, k, j, best, 1, vectors);
}

/* Two positive numbers as bf16, rounded to nearest: low in the lower half. */
INLINE vec_int pack(vec low, vec high)
{
    vec_int half = (((vec_int)low + 0x8000) >> 16) & 0xFFFF;
    return half | (((vec_int)high + 0x8000) & (int32_t)0xFFFF0000);
}

/* Raises top to `best`, then scores -> 2^(scores - top) in pairs of keys. */
INLINE void exponentials(struct block *block, size_t keys, const vec *best, bool last,
                         const int vectors)
{
    const float scale = stored_scale(block);
    for (size_t v = 0; v < (size_t)vectors; v++) {
        vec top = vec_max(block->top[v], best[v] * scale), total = {0};
        const float *scores = block->scores + v * LANES;
        for (size_t j = 0; j < keys; j += 2) {
            vec low = vec_exp2_down(load(scores + j * WIDTH) * scale - top), high = {0};
            if (j + 1 < keys)
                high = vec_exp2_down(load(scores + (j + 1) * WIDTH) * scale - top);
            total += low + high;
            store((float *)(void *)(block->pairs + j / 2 * WIDTH + v * LANES),
                  (vec)pack(low, high));
        }
        vec decay = vec_exp2_down(block->top[v] - top);
        block->top[v] = top;
        block->total[v] = block->total[v] * decay + total;
        store(block->decay + v * LANES, decay);
        store(block->scale + v * LANES, last ? 1.0f / block->total[v] : splat(1.0f));
    }
}

/* out[i .. i + rows, c .. c + COLUMNS) = (out decay + sum_j p[j, i] v[j, c ..]) scale over the keys
 * of a tile */
INLINE void gather_rows(const struct block *block, size_t i, size_t c, size_t keys, bool first,
                        const int rows)
{
    vec acc[ROWS][VECTORS] = {0};
    float *out = block->out + i * block->out_stride + c;
    if (!first)
#pragma GCC unroll 8
        for (size_t r = 0; r < (size_t)rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                acc[r][v] = load(out + r * block->out_stride + v * LANES) * block->decay[i + r];
    multiply(acc, (const char *)(block->pairs + i), 1, WIDTH, block->values + c, block->d,
             (keys + 1) / 2, rows, VECTORS);
#pragma GCC unroll 8
    for (size_t r = 0; r < (size_t)rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            store(out + r * block->out_stride + v * LANES, acc[r][v] * block->scale[i + r]);
}

static void gather(const struct block *block, size_t keys, bool first)
{
    for (size_t c = 0; c < block->d; c += COLUMNS) {
        size_t i = 0;
        for (; block->count - i >= ROWS; i += ROWS)
            gather_rows(block, i, c, keys, first, ROWS);
        if (block->count - i >= 4) {
            gather_rows(block, i, c, keys, first, 4);
            i += 4;
        }
        for (; i < block->count; i++)
            gather_rows(block, i, c, keys, first, 1);
    }
}

/* Transposes the queries' pairs. Behind the last query the last one is repeated; its results are
 * not stored. */
INLINE void load_queries(struct block *block, const uint16_t *q, const int vectors)
{
    for (size_t b = 0; b < (size_t)vectors; b++) {
        const float *rows[LANES]; /* a pair of bf16 moves like a float */
        for (size_t i = 0; i < LANES; i++) {
            size_t query = b * LANES + i < block->count ? b * LANES + i : block->count - 1;
            rows[i] = (const float *)(const void *)(q + query * block->q_stride);
        }
        for (size_t c = 0; c < block->d / 2; c += 4) {
            vec v[4];
            load_quads_of(v, rows, c);
            transpose_lanes(v);
            for (size_t k = 0; k < 4; k++)
                store((float *)(void *)(block->queries + (c + k) * WIDTH + b * LANES), v[k]);
        }
        block->top[b] = splat(-INFINITY);
        block->total[b] = splat(0);
    }
}

/* Returns the keys of a tile: tiles are equal and a multiple of ROWS, except the last. */
static size_t tile_keys(size_t n)
{
    size_t tiles = (n + ATTENTION_KEYS - 1) / ATTENTION_KEYS;
    return ((n + tiles - 1) / tiles + ROWS - 1) / ROWS * ROWS;
}

bool attention_bf16_runnable(size_t d)
{
    return d % COLUMNS == 0 && cpu_level() >= CPU_AVX512 && cpu_has_bf16();
}

size_t attention_bf16_scratch(size_t d)
{
    return d / 2 * WIDTH + ATTENTION_KEYS * WIDTH + ATTENTION_KEYS / 2 * (WIDTH + d);
}

/* The bias of the global key, which is in front of the others. */
static const float nothing[WIDTH];

/* All keys that a block attends to; as in attention_body.h. */
struct keys {
    const uint16_t *k, *v;
    size_t n, step;
    struct attention_bias bias; /* at the block's first query and the first key */
};

INLINE size_t count_keys(const struct keys *keys)
{
    return keys->n + (keys->bias.global_rows > 0);
}

/* A tile of keys, from key number j on: its keys, its values and their number. */
struct tile {
    const uint16_t *k, *v;
    size_t keys;
};

/* Returns the tile from key j on; also sets the block's bias. */
INLINE struct tile take_tile(struct block *block, const struct keys *keys, size_t j)
{
    const size_t front = keys->bias.global_rows > 0, left = keys->n + front - j;
    const bool is_front = j < front;
    const ptrdiff_t row = is_front ? -(ptrdiff_t)keys->bias.global_rows : (ptrdiff_t)(j - front);
    const ptrdiff_t at = row * (ptrdiff_t)block->kv_stride;
    block->bias = keys->bias;
    if (keys->bias.at != NULL)
        block->bias.at = is_front ? nothing : attention_bias_key(&keys->bias, j - front);
    return (struct tile){keys->k + at, keys->v + at,
                         is_front ? 1 : (left < keys->step ? left : keys->step)};
}

/* A block of at most `vectors` x LANES queries. */
INLINE void attend(struct block *block, const uint16_t *q, const uint16_t *k, const uint16_t *v,
                   size_t n, const int vectors)
{
    const struct keys all = {k, v, n, tile_keys(n), block->bias};
    load_queries(block, q, vectors);
    for (size_t j = 0; j < count_keys(&all);) {
        const struct tile tile = take_tile(block, &all, j);
        vec best[VECTORS] = {splat(-INFINITY), splat(-INFINITY)};
        score(block, tile.k, tile.keys, best, vectors);
        exponentials(block, tile.keys, best, j + tile.keys == count_keys(&all), vectors);
        attention_pair_rows(block->values, tile.v, block->kv_stride, tile.keys,
                            (tile.keys + 1) / 2 * 2, block->d);
        gather(block, tile.keys, j == 0);
        j += tile.keys;
    }
}

void attention_bf16(const struct attention_io *io)
{
    struct block block = {.scores = io->scratch,
                          .bias = io->bias,
                          .out = io->out,
                          .out_stride = io->out_stride,
                          .q_stride = io->q_stride,
                          .kv_stride = io->kv_stride,
                          .d = io->d,
                          .count = io->count};
    block.queries = (uint32_t *)(void *)(io->scratch + ATTENTION_KEYS * WIDTH);
    block.pairs = block.queries + io->d / 2 * WIDTH;
    block.values = block.pairs + ATTENTION_KEYS / 2 * WIDTH;
    if (io->count <= LANES)
        attend(&block, io->q, io->k, io->v, io->n, 1);
    else
        attend(&block, io->q, io->k, io->v, io->n, VECTORS);
}

/* ---- the mean over heads ---- */

size_t attention_bf16_mean_scratch(size_t n, size_t d)
{
    return d / 2 * WIDTH + 2 * n * WIDTH;
}

/* mean[j, i] (+)= softmax_j(scores[j, i]) over n keys, whose largest scores are `best`. */
INLINE void add_softmax(const struct block *block, size_t n, const vec *best, float *mean,
                        bool first, const int vectors)
{
    const float scale = stored_scale(block);
    for (size_t v = 0; v < (size_t)vectors; v++) {
        vec top = best[v] * scale, total = {0};
        float *scores = block->scores + v * LANES;
        for (size_t j = 0; j < n; j++) {
            vec p = vec_exp2_down(load(scores + j * WIDTH) * scale - top);
            store(scores + j * WIDTH, p);
            total += p;
        }
        vec share = 1.0f / total;
        for (size_t j = 0; j < n; j++) {
            float *to = mean + j * WIDTH + v * LANES;
            vec p = load(scores + j * WIDTH) * share;
            store(to, first ? p : load(to) + p);
        }
    }
}

INLINE void sum_heads(struct block *block, const uint16_t *q, const uint16_t *k, size_t n,
                      size_t heads, float *mean, const int vectors)
{
    const struct attention_bias bias = block->bias;
    float *scores = block->scores;
    for (size_t h = 0; h < heads; h++) {
        const uint16_t *own = k + h * block->d;
        struct keys all = {own, own, n, n, bias};
        vec best[VECTORS] = {splat(-INFINITY), splat(-INFINITY)};
        if (bias.at != NULL)
            all.bias = attention_bias_at(&bias, h, 0);
        load_queries(block, q + h * block->d, vectors);
        for (size_t j = 0; j < count_keys(&all);) {
            const struct tile tile = take_tile(block, &all, j);
            block->scores = scores + j * WIDTH;
            score(block, tile.k, tile.keys, best, vectors);
            j += tile.keys;
        }
        block->scores = scores;
        add_softmax(block, count_keys(&all), best, mean, h == 0, vectors);
    }
}

/* Holds all scores of a block and one head at once: [n, WIDTH]. */
void attention_bf16_mean(const struct attention_io *io)
{
    const size_t all = io->n + (io->bias.global_rows > 0);
    float *mean = io->scratch + all * WIDTH;
    struct block block = {.scores = io->scratch,
                          .bias = io->bias,
                          .q_stride = io->q_stride,
                          .kv_stride = io->kv_stride,
                          .d = io->d,
                          .count = io->count};
    block.queries = (uint32_t *)(void *)(mean + all * WIDTH);
    if (io->count <= LANES)
        sum_heads(&block, io->q, io->k, io->n, io->heads, mean, 1);
    else
        sum_heads(&block, io->q, io->k, io->n, io->heads, mean, VECTORS);
    store_transposed(io->out, io->out_stride, mean, WIDTH, io->count, all, 1.0f / (float)io->heads);
}
