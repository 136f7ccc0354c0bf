/* attention_amx.c - attention on bf16 activations by tile registers (AMX). As in attention_bf16.c
 * scores are [keys, queries]: keys are read in place, the softmax is vertical, and maximum and sum
 * run over chunks of keys. Two things differ. The softmax of 16 queries and STEP keys is transposed
 * into a tile of the left factor. The context's sums stay in tiles while the softmax of the next
 * step is computed.
 */
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,fma,prefer-vector-width=512")
#include "engine/tensor/attention_bf16.h"

#define VECTOR_BYTES 64
#include "engine/tensor/vector_body.h"

#include "engine/tensor/attention_pairs.h"
#include "engine/tensor/tile_registers.h"
#include "engine/tensor/tile_state.h"

enum {
    WIDTH = ATTENTION_QUERIES, /* queries in a row of the transposed matrices */
    VECTORS = WIDTH / LANES,
    STEP = 32,       /* keys of a step */
    KEYS = 128,      /* keys of a chunk: its scores, softmax and values fit in the L1 cache */
    GROUP = 4,       /* tiles of 16 columns of the context that are summed at once */
    ROW = WIDTH * 4, /* bytes */
};
#define LOG2_E 1.44269504f

struct block {
    float *scores;     /* [KEYS, WIDTH] */
    uint32_t *queries; /* [d / 2, WIDTH] pairs over d */
    uint32_t *softmax; /* [KEYS / STEP, LANES, STEP / 2] of 16 queries: pairs over keys */
    uint32_t *values;  /* [KEYS / 2, d] pairs over keys */
    float *context;    /* [WIDTH, d] */
    struct attention_bias bias;
    size_t q_stride, kv_stride, d, count;
    vec top[VECTORS], total[VECTORS];
    float decay[WIDTH];
};

INLINE float scale_of(const struct block *block)
{
    return LOG2_E / sqrtf((float)block->d);
}

INLINE float stored_scale(const struct block *block)
{
    return block->bias.at != NULL ? 1 : scale_of(block);
}

/* scores[j, i] = k[j] . q[i]. If fewer than 16 keys are left, the last tile overlaps the one
 * before. */
static void score(const struct block *block, const uint16_t *k, size_t keys)
{
    const size_t stride = block->kv_stride * sizeof *k;
    const unsigned low = keys < TILE_ROWS_MAX ? (unsigned)keys : TILE_ROWS_MAX;
    tile_state_use(low);
    for (size_t j = 0; j < keys; j += STEP) {
        const size_t at = keys - j < low ? keys - low : j;
        const size_t second = keys - at < STEP ? keys - at - low : STEP - low;
        const char *top = (const char *)(k + at * block->kv_stride),
                   *bottom = top + second * stride;
        float *sums = block->scores + at * WIDTH, *last = sums + second * WIDTH;
        ZERO(0);
        ZERO(1);
        ZERO(2);
        ZERO(3);
        for (size_t c = 0; c < block->d / 2; c += LANES) {
            LOAD(6, block->queries + c * WIDTH, ROW);
            LOAD(7, block->queries + c * WIDTH + LANES, ROW);
            LOAD(4, top + c * 4, stride);
            DOT_BF16(0, 4, 6);
            DOT_BF16(1, 4, 7);
            if (second > 0) {
                LOAD(5, bottom + c * 4, stride);
                DOT_BF16(2, 5, 6);
                DOT_BF16(3, 5, 7);
            }
        }
        STORE(0, sums, ROW);
        STORE(1, sums + LANES, ROW);
        if (second > 0) {
            STORE(2, last, ROW);
            STORE(3, last + LANES, ROW);
        }
    }
}

/* Finds the largest score of each query in a chunk. Adds the bias, if there is one: scores are then
 * in units of log 2. */
INLINE void find_best(const struct block *block, size_t keys, vec *best, const int vectors)
{
    const float scale = scale_of(block);
    for (int v = 0; v < vectors; v++)
        best[v] = splat(-INFINITY);
    for (size_t j = 0; j < keys; j++)
        for (int v = 0; v < vectors; v++) {
            float *at = block->scores + j * WIDTH + v * LANES;
            vec score = load(at);
            if (block->bias.at != NULL) {
                score =
                    score * scale + load(attention_bias_key(&block->bias, j) + v * LANES) * LOG2_E;
                store(at, score);
            }
            best[v] = vec_max(best[v], score);
        }
}

/* 2^x for x <= 0, at least 2^-100: degree 3, relative error 7.5e-5, a twenty-sixth of bf16's. */
INLINE vec exp2_coarse(vec x)
{
    x = vec_max(splat(-100.0f), x);
    vec n = vec_round(x), r = x - n;
    vec p = splat(5.517167e-2f);
    p = p * r + 2.4261113e-1f;
    p = p * r + 6.9326099e-1f;
    p = p * r + 9.9992807e-1f;
    return times_power(p, n);
}

/* Two positive numbers as bf16, rounded to nearest: low in the lower half. */
INLINE vec_int pack(vec low, vec high)
{
    vec_int half =
        (vec_int)_mm512_srli_epi32(_mm512_add_epi32((__m512i)low, _mm512_set1_epi32(0x8000)), 16);
    return (vec_int)_mm512_mask_blend_epi16(
        0xAAAAAAAA, (__m512i)half, _mm512_add_epi32((__m512i)high, _mm512_set1_epi32(0x8000)));
}

/* Transposes 16 rows of 16 numbers. */
INLINE void transpose_16(__m512i r[LANES])
{
    __m512i t[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
        t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xDD);
        t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
        t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xDD);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
        r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xDD);
        r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
        r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xDD);
    }
}

/* Computes the softmax of STEP keys, from key j on, for 16 queries, and stores it as a tile of the
 * left factor, with zeros behind the last key. Returns the sums over these keys. */
INLINE vec exponentials(const struct block *block, size_t j, size_t keys, vec top, int v)
{
    const float scale = stored_scale(block);
    const float *scores = block->scores + j * WIDTH + v * LANES;
    __m512i pairs[LANES];
    vec total = {0};
    if (keys >= STEP) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            vec low = exp2_coarse(load(scores + 2 * i * WIDTH) * scale - top);
            vec high = exp2_coarse(load(scores + (2 * i + 1) * WIDTH) * scale - top);
            total += low + high;
            pairs[i] = (__m512i)pack(low, high);
        }
    } else {
        for (size_t i = 0; i < LANES; i++) {
            vec low = {0}, high = {0};
            if (2 * i < keys)
                low = exp2_coarse(load(scores + 2 * i * WIDTH) * scale - top);
            if (2 * i + 1 < keys)
                high = exp2_coarse(load(scores + (2 * i + 1) * WIDTH) * scale - top);
            total += low + high;
            pairs[i] = (__m512i)pack(low, high);
        }
    }
    transpose_16(pairs);
    uint32_t *to = block->softmax + j / STEP * (LANES * LANES);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        _mm512_store_si512(to + i * LANES, pairs[i]);
    return total;
}

/* Multiplies the softmax of a step with its values and adds to the context in tiles 0 to 3: 64
 * columns from c on, or 32 if not `wide`. */
INLINE void add_step(const struct block *block, size_t step, size_t c, bool wide)
{
    const size_t stride = block->d * 4;
    const char *values = (const char *)(block->values + step * LANES * block->d + c);
    LOAD(4, block->softmax + step * (LANES * LANES), 64);
    LOAD(6, values, stride);
    DOT_BF16(0, 4, 6);
    LOAD(7, values + 64, stride);
    DOT_BF16(1, 4, 7);
    if (wide) {
        LOAD(6, values + 128, stride);
        DOT_BF16(2, 4, 6);
        LOAD(7, values + 192, stride);
        DOT_BF16(3, 4, 7);
    }
}

/* Computes the softmax of a chunk for the 16 queries of vector v, and adds its weighted values to
 * their context. */
INLINE void gather(struct block *block, size_t keys, bool first, int v)
{
    const size_t steps = (keys + STEP - 1) / STEP, d = block->d, stride = d * sizeof(float);
    const vec top = block->top[v];
    vec total = {0};
    float *context = block->context + (size_t)v * LANES * d;
    if (!first)
        for (size_t i = 0; i < LANES; i++)
            for (size_t c = 0; c < d; c += LANES)
                store(context + i * d + c,
                      load(context + i * d + c) * block->decay[v * LANES + (int)i]);
    for (size_t c = 0; c < d; c += GROUP * LANES) {
        const bool wide = d - c >= GROUP * LANES;
        float *sums = context + c;
        if (first) {
            ZERO(0);
            ZERO(1);
            ZERO(2);
            ZERO(3);
        } else {
            LOAD(0, sums, stride);
            LOAD(1, sums + LANES, stride);
            if (wide) {
                LOAD(2, sums + 2 * LANES, stride);
                LOAD(3, sums + 3 * LANES, stride);
            }
        }
        for (size_t s = 0; s < steps; s++) {
            if (c == 0)
                total += exponentials(block, s * STEP, keys - s * STEP, top, v);
            if (s > 0)
                add_step(block, s - 1, c, wide);
        }
        add_step(block, steps - 1, c, wide);
        STORE(0, sums, stride);
        STORE(1, sums + LANES, stride);
        if (wide) {
            STORE(2, sums + 2 * LANES, stride);
            STORE(3, sums + 3 * LANES, stride);
        }
    }
    block->total[v] += total;
}

/* Transposes the queries' pairs. Behind the last query the last one is repeated; its results are
 * not stored. */
INLINE void load_queries(struct block *block, const uint16_t *q, const int vectors)
{
    for (size_t b = 0; b < (size_t)vectors; b++) {
        for (size_t c = 0; c < block->d / 2; c += LANES) {
            __m512i rows[LANES];
#pragma GCC unroll 16
            for (size_t i = 0; i < LANES; i++) {
                size_t query = b * LANES + i < block->count ? b * LANES + i : block->count - 1;
                rows[i] = _mm512_loadu_si512(q + query * block->q_stride + 2 * c);
            }
            transpose_16(rows);
#pragma GCC unroll 16
            for (size_t i = 0; i < LANES; i++)
                _mm512_store_si512(block->queries + (c + i) * WIDTH + b * LANES, rows[i]);
        }
        block->top[b] = splat(-INFINITY);
        block->total[b] = splat(0);
    }
}

/* The bias of the global key, which is in front of the others. */
static const float nothing[WIDTH];

INLINE void attend(struct block *block, const uint16_t *q, const uint16_t *k, const uint16_t *v,
                   size_t n, const int vectors)
{
    const struct attention_bias bias = block->bias;
    const size_t front = bias.global_rows > 0;
    load_queries(block, q, vectors);
    for (size_t j = 0, keys; j < n + front; j += keys) {
        const bool is_front = j < front;
        const ptrdiff_t row = is_front ? -(ptrdiff_t)bias.global_rows : (ptrdiff_t)(j - front);
        const ptrdiff_t at = row * (ptrdiff_t)block->kv_stride;
        const size_t left = n + front - j;
        vec best[VECTORS];
        keys = is_front ? 1 : left < KEYS ? left : KEYS;
        if (bias.at != NULL)
            block->bias.at = is_front ? nothing : attention_bias_key(&bias, j - front);
        score(block, k + at, keys);
        find_best(block, keys, best, vectors);
        attention_pair_rows(block->values, v + at, block->kv_stride, keys,
                            (keys + STEP - 1) / STEP * STEP, block->d);
        tile_state_use(TILE_ROWS_MAX);
        for (int h = 0; h < vectors; h++) {
            vec top = vec_max(block->top[h], best[h] * stored_scale(block));
            vec decay = vec_exp2_down(block->top[h] - top);
            block->top[h] = top;
            block->total[h] *= decay;
            store(block->decay + h * LANES, decay);
            gather(block, keys, j == 0, h);
        }
    }
}

size_t attention_amx_scratch(size_t d)
{
    return KEYS * WIDTH + d / 2 * WIDTH + KEYS * LANES / 2 + KEYS / 2 * d + WIDTH * d;
}

void attention_amx(const struct attention_io *io)
{
    struct block block = {.scores = io->scratch,
                          .bias = io->bias,
                          .q_stride = io->q_stride,
                          .kv_stride = io->kv_stride,
                          .d = io->d,
                          .count = io->count};
    const size_t d = io->d;
    float scale[WIDTH];
    block.queries = (uint32_t *)(void *)(io->scratch + KEYS * WIDTH);
    block.softmax = block.queries + d / 2 * WIDTH;
    block.values = block.softmax + KEYS * LANES / 2;
    block.context = (float *)(void *)(block.values + KEYS / 2 * d);
    if (io->count <= LANES)
        attend(&block, io->q, io->k, io->v, io->n, 1);
    else
        attend(&block, io->q, io->k, io->v, io->n, VECTORS);
    for (int h = 0; h < VECTORS; h++)
        store(scale + h * LANES, 1.0f / block.total[h]);
    for (size_t i = 0; i < io->count; i++)
        for (size_t c = 0; c < d; c += LANES)
            store(io->out + i * io->out_stride + c, load(block.context + i * d + c) * scale[i]);
}
