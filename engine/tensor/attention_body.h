/* attention_body.h - one head of attention for a block of queries, included by simd_body.h. A
 * simd_*.c file sets TILE_ROWS x TILE_VECTORS, as many accumulators as its registers hold.
 *
 * Everything is laid out so that a vector runs over the queries: the block of queries is transposed
 * once, to [d, queries]; scores and context come out transposed, [keys, queries] and [d, queries].
 * Then keys and values are needed one number at a time, broadcast from where they lie, so that they
 * are never packed; and the softmax is vertical: its maximum and sum are vectors over the queries.
 * The keys go by in tiles whose scores stay in the first-level cache, with a running maximum and
 * sum: when the maximum of a query grows, what it has gathered so far is scaled down (Milakov and
 * Gimelshein 2018; Dao et al. 2022). Scores are in units of log 2, so that the softmax takes 2^x.
 *
 * A query's result depends neither on its place in the block nor on how many share it.
 */

/* A slice of a block: the queries that TILE_VECTORS vectors hold; fewer vectors for a rest. */
struct slice {
    float *queries; /* [d, width], in units of log 2 */
    float *context; /* [d, width], not yet divided by the sum of the exponentials */
    float *scores;  /* [ATTENTION_KEYS, width], then the exponentials */
    const float *k, *v;
    size_t stride, d;
    vec top[TILE_VECTORS];   /* the largest score so far */
    vec total[TILE_VECTORS]; /* the sum of the exponentials so far */
};

/* In each 128-bit lane: a[0] b[0] a[1] b[1], and a[2] b[2] a[3] b[3]. */
INLINE vec interleave_low(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + ((lane_numbers & 2) >> 1);
    return __builtin_shuffle(a, b, from + (lane_numbers & 1) * LANES);
}

INLINE vec interleave_high(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + ((lane_numbers & 2) >> 1) + 2;
    return __builtin_shuffle(a, b, from + (lane_numbers & 1) * LANES);
}

/* In each 128-bit lane: a[0] a[1] b[0] b[1], and a[2] a[3] b[2] b[3]. */
INLINE vec low_pairs(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + (lane_numbers & 1);
    return __builtin_shuffle(a, b, from + ((lane_numbers & 2) >> 1) * LANES);
}

INLINE vec high_pairs(vec a, vec b)
{
    const vec_int from = (lane_numbers & ~3) + (lane_numbers & 1) + 2;
    return __builtin_shuffle(a, b, from + ((lane_numbers & 2) >> 1) * LANES);
}

/* Each 128-bit lane of v[0 .. 4) is a 4 x 4 matrix: transposes them all. */
INLINE void transpose_lanes(vec v[4])
{
    vec a = interleave_low(v[0], v[1]), b = interleave_high(v[0], v[1]);
    vec c = interleave_low(v[2], v[3]), d = interleave_high(v[2], v[3]);
    v[0] = low_pairs(a, c);
    v[1] = high_pairs(a, c);
    v[2] = low_pairs(b, d);
    v[3] = high_pairs(b, d);
}

/* to[c, 0 .. LANES) = scale from[0 .. LANES, c] for c < d. */
INLINE void transpose_in(float *to, size_t width, const float *const *from, size_t d, float scale)
{
    size_t c = 0;
    for (; c + 4 <= d; c += 4) {
        vec v[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            quad quads[QUADS];
#pragma GCC unroll 4
            for (int g = 0; g < QUADS; g++)
                quads[g] = load_quad(from[4 * g + k] + c);
            v[k] = join_quads(quads);
        }
        transpose_lanes(v);
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            store(to + (c + k) * width, v[k] * scale);
    }
    for (; c < d; c++)
        for (size_t i = 0; i < LANES; i++)
            to[c * width + i] = from[i][c] * scale;
}

/* to[i, c] = from[c, i] scale[i] for i < count <= LANES and c < d. */
INLINE void transpose_out(float *to, size_t stride, const float *from, size_t width, size_t count,
                          size_t d, vec scale)
{
    size_t c = 0;
    for (; c + 4 <= d; c += 4) {
        vec v[4];
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            v[k] = load(from + (c + k) * width) * scale;
        transpose_lanes(v);
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++) {
            quad quads[QUADS];
            split_quads(quads, v[k]);
#pragma GCC unroll 4
            for (size_t g = 0; g < QUADS; g++)
                if (4 * g + k < count)
                    store_quad(to + (4 * g + k) * stride + c, quads[g]);
        }
    }
    for (; c < d; c++)
        for (size_t i = 0; i < count; i++)
            to[i * stride + c] = from[c * width + i] * scale[i];
}

/* acc[r] += sum_t a[r row_step + t step] x[t], x being [count, vectors] vectors. */
INLINE void multiply(vec acc[TILE_ROWS][TILE_VECTORS], const float *a, size_t row_step, size_t step,
                     const float *x, size_t count, const int rows, const int vectors)
{
    for (size_t t = 0; t < count; t++)
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int b = 0; b < vectors; b++)
                acc[r][b] += a[(size_t)r * row_step + t * step] *
                             load(x + (t * (size_t)vectors + (size_t)b) * LANES);
}

/* scores[j .. j + rows) of the keys k + j stride; their maximum into best. */
INLINE void score_tile(const struct slice *slice, size_t j, vec *best, const int rows,
                       const int vectors)
{
    vec acc[TILE_ROWS][TILE_VECTORS] = {0};
    multiply(acc, slice->k + j * slice->stride, slice->stride, 1, slice->queries, slice->d, rows,
             vectors);
    float *scores = slice->scores + j * (size_t)vectors * LANES;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++) {
            store(scores + (r * vectors + b) * LANES, acc[r][b]);
            best[b] = vec_max(best[b], acc[r][b]);
        }
}

/* context[c .. c + rows) = context decay + sum_j v[j, c .. c + rows) p[j] over `keys` keys. */
INLINE void context_tile(const struct slice *slice, size_t c, size_t keys, const vec *decay,
                         const int rows, const int vectors)
{
    vec acc[TILE_ROWS][TILE_VECTORS] = {0};
    float *context = slice->context + c * (size_t)vectors * LANES;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++)
            acc[r][b] = load(context + (r * vectors + b) * LANES) * decay[b];
    multiply(acc, slice->v + c, 1, slice->stride, slice->scores, keys, rows, vectors);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++)
            store(context + (r * vectors + b) * LANES, acc[r][b]);
}

/* All scores of `keys` keys. The rest of a tile goes by fours, twos and ones. */
INLINE void score(const struct slice *slice, size_t keys, vec *best, const int vectors)
{
    size_t j = 0;
    for (; keys - j >= TILE_ROWS; j += TILE_ROWS)
        score_tile(slice, j, best, TILE_ROWS, vectors);
    if (TILE_ROWS > 4 && keys - j >= 4) {
        score_tile(slice, j, best, 4, vectors);
        j += 4;
    }
    if (keys - j >= 2) {
        score_tile(slice, j, best, 2, vectors);
        j += 2;
    }
    if (j < keys)
        score_tile(slice, j, best, 1, vectors);
}

INLINE void gather(const struct slice *slice, size_t keys, const vec *decay, const int vectors)
{
    size_t c = 0;
    for (; slice->d - c >= TILE_ROWS; c += TILE_ROWS)
        context_tile(slice, c, keys, decay, TILE_ROWS, vectors);
    if (TILE_ROWS > 4 && slice->d - c >= 4) {
        context_tile(slice, c, keys, decay, 4, vectors);
        c += 4;
    }
    if (slice->d - c >= 2) {
        context_tile(slice, c, keys, decay, 2, vectors);
        c += 2;
    }
    if (c < slice->d)
        context_tile(slice, c, keys, decay, 1, vectors);
}

/* scores -> 2^(scores - top), top being raised to `best`; what was gathered below the old top is to
 * be multiplied by `decay`. */
INLINE void exponentials(struct slice *slice, size_t keys, const vec *best, vec *decay,
                         const int vectors)
{
#pragma GCC unroll 4
    for (int b = 0; b < vectors; b++) {
        vec top = vec_max(slice->top[b], best[b]), total = {0};
        for (size_t j = 0; j < keys; j++) {
            float *score = slice->scores + (j * (size_t)vectors + (size_t)b) * LANES;
            vec p = vec_exp2_down(load(score) - top);
            store(score, p);
            total += p;
        }
        decay[b] = vec_exp2_down(slice->top[b] - top);
        slice->top[b] = top;
        slice->total[b] = slice->total[b] * decay[b] + total;
    }
}

/* The tile of keys that slice->k and v point to. */
INLINE void attend_keys(struct slice *slice, size_t keys, const int vectors)
{
    vec best[TILE_VECTORS], decay[TILE_VECTORS];
    for (int b = 0; b < vectors; b++)
        best[b] = slice->top[b];
    score(slice, keys, best, vectors);
    exponentials(slice, keys, best, decay, vectors);
    gather(slice, keys, decay, vectors);
}

/* The first `count` queries of a slice; behind the last, the last one again, not stored. */
INLINE void slice_load(struct slice *slice, const float *q, size_t count, const int vectors)
{
    const float scale = 1.44269504f / sqrtf((float)slice->d);
    const size_t width = (size_t)vectors * LANES;
    for (size_t b = 0; b < (size_t)vectors; b++) {
        const float *rows[LANES];
        for (size_t i = 0; i < LANES; i++)
            rows[i] = q + (b * LANES + i < count ? b * LANES + i : count - 1) * slice->stride;
        transpose_in(slice->queries + b * LANES, width, rows, slice->d, scale);
        slice->top[b] = splat(-INFINITY);
        slice->total[b] = splat(0);
    }
    memset(slice->context, 0, slice->d * width * sizeof *slice->context);
}

INLINE void slice_store(const struct slice *slice, float *out, size_t out_stride, size_t count,
                        const int vectors)
{
    const size_t width = (size_t)vectors * LANES;
    for (size_t b = 0; b < (size_t)vectors; b++) {
        size_t left = count - b * LANES;
        transpose_out(out + b * LANES * out_stride, out_stride, slice->context + b * LANES, width,
                      left < LANES ? left : LANES, slice->d, 1.0f / slice->total[b]);
    }
}

/* The keys in equal tiles, whole in TILE_ROWS but for the last. */
INLINE size_t tile_keys(size_t n)
{
    size_t tiles = (n + ATTENTION_KEYS - 1) / ATTENTION_KEYS;
    return ((n + tiles - 1) / tiles + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

INLINE void attend(struct slice *slice, float *out, size_t out_stride, const float *q,
                   const float *k, const float *v, size_t count, size_t n, const int vectors)
{
    const size_t step = tile_keys(n);
    slice_load(slice, q, count, vectors);
    for (size_t j = 0; j < n; j += step) {
        slice->k = k + j * slice->stride;
        slice->v = v + j * slice->stride;
        attend_keys(slice, n - j < step ? n - j : step, vectors);
    }
    slice_store(slice, out, out_stride, count, vectors);
}

static void attention(float *out, size_t out_stride, const float *q, const float *k, const float *v,
                      size_t stride, size_t count, size_t n, size_t d, float *scratch)
{
    enum { SLICE = TILE_VECTORS * LANES };
    struct slice slice = {.queries = scratch,
                          .context = scratch + d * SLICE,
                          .scores = scratch + 2 * d * SLICE,
                          .stride = stride,
                          .d = d};
    for (size_t i = 0; i < count; i += SLICE) {
        size_t left = count - i < SLICE ? count - i : SLICE;
        if (left <= LANES)
            attend(&slice, out + i * out_stride, out_stride, q + i * stride, k, v, left, n, 1);
        else
            attend(&slice, out + i * out_stride, out_stride, q + i * stride, k, v, left, n,
                   TILE_VECTORS);
    }
}
