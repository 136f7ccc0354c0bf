/* attention_body.h - one head of attention for a block of queries, included by simd_body.h. A
 * simd_*.c file sets TILE_ROWS x TILE_VECTORS, as many accumulators as its registers hold.
 *
 * Both products broadcast the numbers of one factor and read vectors of the other, both in place:
 * only the queries are packed. They are transposed once, to [d, queries]. The scores are transposed
 * too, [keys, queries]: numbers of k times vectors of queries. So the softmax is vertical: its
 * maximum and sum are vectors over the queries. The context, [queries, d], is written in place:
 * numbers of the softmax times vectors of v.
 *
 * Keys are processed in tiles whose scores stay in the first-level cache, with a running maximum
 * and sum: when the maximum of a query grows, its context so far is scaled down (Milakov and
 * Gimelshein 2018; Dao et al. 2022). Scores are in units of log 2, so that the softmax takes 2^x.
 *
 * A query's result depends neither on its place in the block nor on the block's size.
 */

/* Queries of a slice, the part of a block that TILE_VECTORS vectors hold. */
enum { SLICE = TILE_VECTORS * LANES };
#define LOG2_E 1.44269504f
_Static_assert((int)SLICE <= (int)ATTENTION_QUERIES, "the scratch holds a slice");
_Static_assert(ATTENTION_KEYS % TILE_ROWS == 0, "tile_keys rounds up to whole tiles");

struct slice {
    float *queries; /* [d, width], in units of log 2 */
    float *scores;  /* [ATTENTION_KEYS, width], then the exponentials */
    float *out;     /* [count, d], rows out_stride apart */
    const float *k, *v;
    struct attention_bias bias; /* at the slice's first query and the tile's first key */
    size_t q_stride, kv_stride, out_stride, d;
    size_t count, width;     /* queries, and the same rounded up to whole vectors */
    vec top[TILE_VECTORS];   /* the largest score so far */
    vec total[TILE_VECTORS]; /* the sum of the exponentials so far */
    float decay[SLICE];      /* factor of the context of earlier tiles */
    float scale[SLICE];      /* factor of the context at the end */
};

/* to[c, 0 .. LANES) = scale from[0 .. LANES, c] for c < d. */
INLINE void transpose_in(float *to, size_t width, const float *const *from, size_t d, float scale)
{
    size_t c = 0;
    for (; c + 4 <= d; c += 4) {
        vec v[4];
        load_quads_of(v, from, c);
        transpose_lanes(v);
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            store(to + (c + k) * width, v[k] * scale);
    }
    for (; c < d; c++)
        for (size_t i = 0; i < LANES; i++)
            to[c * width + i] = from[i][c] * scale;
}

/* Loads a vector of which only the first `part` numbers exist, or all if that is 0. */
INLINE vec load_some(const float *p, size_t part)
{
    return part > 0 ? load_part(p, part) : load(p);
}

/* acc[r] += sum_t a[r row_step + t step] x[t x_step ..], `vectors` vectors each, t < count. */
INLINE void multiply(vec acc[TILE_ROWS][TILE_VECTORS], const float *a, size_t row_step, size_t step,
                     const float *x, size_t x_step, size_t count, size_t part, const int rows,
                     const int vectors)
{
    for (size_t t = 0; t < count; t++)
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int b = 0; b < vectors; b++)
                acc[r][b] += a[(size_t)r * row_step + t * step] *
                             load_some(x + t * x_step + b * LANES, part);
}

/* acc[r] += the bias of the keys from j on, in units of log 2. */
INLINE void add_bias(vec acc[TILE_ROWS][TILE_VECTORS], const struct slice *slice, size_t j,
                     const int rows, const int vectors)
{
#pragma GCC unroll 16
    for (size_t r = 0; r < (size_t)rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++)
            acc[r][b] += load(attention_bias_key(&slice->bias, j + r) + b * LANES) * LOG2_E;
}

/* scores[j .. j + rows) of the keys k + j stride; their maximum into best. */
INLINE void score_tile(const struct slice *slice, size_t j, vec *best, const int rows,
                       const int vectors)
{
    vec acc[TILE_ROWS][TILE_VECTORS] = {0};
    multiply(acc, slice->k + j * slice->kv_stride, slice->kv_stride, 1, slice->queries,
             (size_t)vectors * LANES, slice->d, 0, rows, vectors);
    if (slice->bias.at != NULL)
        add_bias(acc, slice, j, rows, vectors);
    float *scores = slice->scores + j * (size_t)vectors * LANES;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++) {
            store(scores + (r * vectors + b) * LANES, acc[r][b]);
            best[b] = vec_max(best[b], acc[r][b]);
        }
}

/* out[i .. i + rows, c ..] = (out decay + sum_j p[j, i] v[j, c ..]) scale over `keys` keys, for
 * `vectors` vectors of columns; the last of a row may be partial. */
INLINE void context_tile(const struct slice *slice, size_t i, size_t c, size_t keys, bool first,
                         size_t part, const int rows, const int vectors)
{
    vec acc[TILE_ROWS][TILE_VECTORS] = {0};
    float *out = slice->out + i * slice->out_stride + c;
    if (!first)
#pragma GCC unroll 16
        for (size_t r = 0; r < (size_t)rows; r++)
#pragma GCC unroll 4
            for (int b = 0; b < vectors; b++)
                acc[r][b] =
                    load_some(out + r * slice->out_stride + b * LANES, part) * slice->decay[i + r];
    multiply(acc, slice->scores + i, 1, slice->width, slice->v + c, slice->kv_stride, keys, part,
             rows, vectors);
#pragma GCC unroll 16
    for (size_t r = 0; r < (size_t)rows; r++)
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++) {
            float *to = out + r * slice->out_stride + b * LANES;
            if (part > 0)
                store_part(to, acc[r][b] * slice->scale[i + r], part);
            else
                store(to, acc[r][b] * slice->scale[i + r]);
        }
}

/* Computes all scores of `keys` keys. The rest of a tile is done by fours, twos and ones. */
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

/* Computes the context's columns from c on that one tile spans. */
INLINE void context_columns(const struct slice *slice, size_t c, size_t keys, bool first,
                            size_t part, const int vectors)
{
    size_t i = 0, count = slice->count;
    for (; count - i >= TILE_ROWS; i += TILE_ROWS)
        context_tile(slice, i, c, keys, first, part, TILE_ROWS, vectors);
    if (TILE_ROWS > 4 && count - i >= 4) {
        context_tile(slice, i, c, keys, first, part, 4, vectors);
        i += 4;
    }
    if (count - i >= 2) {
        context_tile(slice, i, c, keys, first, part, 2, vectors);
        i += 2;
    }
    if (i < count)
        context_tile(slice, i, c, keys, first, part, 1, vectors);
}

/* Adds the keys of a tile to the context. The first tile writes it. */
static void gather(const struct slice *slice, size_t keys, bool first)
{
    size_t c = 0, d = slice->d;
    for (; d - c >= TILE_VECTORS * LANES; c += TILE_VECTORS * LANES)
        context_columns(slice, c, keys, first, 0, TILE_VECTORS);
    for (; d - c >= LANES; c += LANES)
        context_columns(slice, c, keys, first, 0, 1);
    if (c < d)
        context_columns(slice, c, keys, first, d - c, 1);
}

/* Raises top to `best`, then scores -> 2^(scores - top). */
INLINE void exponentials(struct slice *slice, size_t keys, const vec *best, bool last,
                         const int vectors)
{
#pragma GCC unroll 4
    for (size_t b = 0; b < (size_t)vectors; b++) {
        vec top = vec_max(slice->top[b], best[b]), total = {0};
        for (size_t j = 0; j < keys; j++) {
            float *score = slice->scores + (j * (size_t)vectors + b) * LANES;
            vec p = vec_exp2_down(load(score) - top);
            store(score, p);
            total += p;
        }
        vec decay = vec_exp2_down(slice->top[b] - top);
        slice->top[b] = top;
        slice->total[b] = slice->total[b] * decay + total;
        store(slice->decay + b * LANES, decay);
        store(slice->scale + b * LANES, last ? 1.0f / slice->total[b] : splat(1.0f));
    }
}

/* Loads the queries of a slice. Behind the last query the last one is repeated; its results are not
 * stored. */
INLINE void slice_load(struct slice *slice, const float *q, const int vectors)
{
    const float scale = LOG2_E / sqrtf((float)slice->d);
    for (size_t b = 0; b < (size_t)vectors; b++) {
        const float *rows[LANES];
        for (size_t i = 0; i < LANES; i++) {
            size_t query = b * LANES + i;
            rows[i] = q + (query < slice->count ? query : slice->count - 1) * slice->q_stride;
        }
        transpose_in(slice->queries + b * LANES, slice->width, rows, slice->d, scale);
        slice->top[b] = splat(-INFINITY);
        slice->total[b] = splat(0);
    }
}

/* Returns the keys of a tile: tiles are equal and a multiple of TILE_ROWS, except the last. */
INLINE size_t tile_keys(size_t n)
{
    size_t tiles = (n + ATTENTION_KEYS - 1) / ATTENTION_KEYS;
    return ((n + tiles - 1) / tiles + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

/* The bias of the global key, which is in front of the others. */
static const float nothing[ATTENTION_QUERIES];

/* All keys that a block of queries attends to. */
struct keys {
    const float *k, *v;
    size_t n, step;             /* in tiles of at most `step` */
    struct attention_bias bias; /* at the slice's first query and the first key */
};

/* Counts the keys, the global key included. */
INLINE size_t count_keys(const struct keys *keys)
{
    return keys->n + (keys->bias.global_rows > 0);
}

/* Sets the slice's keys, values and bias from number j on; returns the keys of the tile. The global
 * key is a tile of its own. */
INLINE size_t take_tile(struct slice *slice, const struct keys *keys, size_t j)
{
    const size_t front = keys->bias.global_rows > 0, left = keys->n + front - j;
    const bool is_front = j < front;
    const ptrdiff_t row = is_front ? -(ptrdiff_t)keys->bias.global_rows : (ptrdiff_t)(j - front);
    slice->k = keys->k + row * (ptrdiff_t)slice->kv_stride;
    slice->v = keys->v + row * (ptrdiff_t)slice->kv_stride;
    slice->bias = keys->bias;
    if (keys->bias.at != NULL)
        slice->bias.at = is_front ? nothing : attention_bias_key(&keys->bias, j - front);
    if (is_front)
        return 1;
    return left < keys->step ? left : keys->step;
}

/* Returns the bias at a slice's first query; no bias: an empty one. */
INLINE struct attention_bias slice_bias(const struct attention_bias *bias, size_t head,
                                        size_t query)
{
    return bias->at != NULL ? attention_bias_at(bias, head, query) : (struct attention_bias){0};
}

INLINE void attend(struct slice *slice, const float *q, const float *k, const float *v, size_t n,
                   const int vectors)
{
    const struct keys all = {k, v, n, tile_keys(n), slice->bias};
    slice_load(slice, q, vectors);
    for (size_t j = 0, keys; j < count_keys(&all); j += keys) {
        vec best[TILE_VECTORS];
        for (int b = 0; b < vectors; b++)
            best[b] = slice->top[b];
        keys = take_tile(slice, &all, j);
        score(slice, keys, best, vectors);
        exponentials(slice, keys, best, j + keys == count_keys(&all), vectors);
        gather(slice, keys, j == 0);
    }
}

static void attention(const struct attention_io *io)
{
    struct slice slice = {.queries = io->scratch,
                          .scores = io->scratch + io->d * SLICE,
                          .q_stride = io->q_stride,
                          .kv_stride = io->kv_stride,
                          .out_stride = io->out_stride,
                          .d = io->d};
    for (size_t i = 0; i < io->count; i += SLICE) {
        const float *q = (const float *)io->q + i * io->q_stride;
        slice.out = io->out + i * io->out_stride;
        slice.count = io->count - i < SLICE ? io->count - i : SLICE;
        slice.width = slice.count > LANES ? SLICE : LANES;
        slice.bias = slice_bias(&io->bias, 0, i);
        if (slice.count > LANES)
            attend(&slice, q, io->k, io->v, io->n, TILE_VECTORS);
        else
            attend(&slice, q, io->k, io->v, io->n, 1);
    }
}

/* ---- the mean over heads ---- */

/* mean[j, i] (+)= softmax_j(scores[j, i]) over n keys, whose largest scores are `best`. */
INLINE void add_softmax(const struct slice *slice, size_t n, const vec *best, float *mean,
                        bool first, const int vectors)
{
#pragma GCC unroll 4
    for (size_t b = 0; b < (size_t)vectors; b++) {
        vec total = {0};
        for (size_t j = 0; j < n; j++) {
            float *score = slice->scores + (j * (size_t)vectors + b) * LANES;
            vec p = vec_exp2_down(load(score) - best[b]);
            store(score, p);
            total += p;
        }
        vec scale = 1.0f / total;
        for (size_t j = 0; j < n; j++) {
            size_t at = (j * (size_t)vectors + b) * LANES;
            vec p = load(slice->scores + at) * scale;
            store(mean + at, first ? p : load(mean + at) + p);
        }
    }
}

INLINE void sum_heads(struct slice *slice, const float *q, const float *k, size_t n, size_t heads,
                      float *mean, const int vectors)
{
    const struct attention_bias bias = slice->bias;
    float *scores = slice->scores;
    for (size_t h = 0; h < heads; h++) {
        const float *own = k + h * slice->d;
        const struct keys all = {own, own, n, n, slice_bias(&bias, h, 0)};
        vec best[TILE_VECTORS];
        slice_load(slice, q + h * slice->d, vectors);
        for (int b = 0; b < vectors; b++)
            best[b] = slice->top[b];
        for (size_t j = 0, keys; j < count_keys(&all); j += keys) {
            keys = take_tile(slice, &all, j);
            slice->scores = scores + j * (size_t)vectors * LANES;
            score(slice, keys, best, vectors);
        }
        slice->scores = scores;
        add_softmax(slice, count_keys(&all), best, mean, h == 0, vectors);
    }
}

/* Holds all scores of a slice and one head at once: [n, width]. */
static void attention_mean(const struct attention_io *io)
{
    struct slice slice = {.queries = io->scratch,
                          .scores = io->scratch + io->d * SLICE,
                          .q_stride = io->q_stride,
                          .kv_stride = io->kv_stride,
                          .d = io->d};
    const size_t all = io->n + (io->bias.global_rows > 0);
    float *mean = slice.scores + all * SLICE;
    for (size_t first = 0; first < io->count; first += SLICE) {
        const float *q = (const float *)io->q + first * io->q_stride;
        slice.count = io->count - first < SLICE ? io->count - first : SLICE;
        slice.width = slice.count > LANES ? SLICE : LANES;
        slice.bias = slice_bias(&io->bias, 0, first);
        if (slice.count > LANES)
            sum_heads(&slice, q, io->k, io->n, io->heads, mean, TILE_VECTORS);
        else
            sum_heads(&slice, q, io->k, io->n, io->heads, mean, 1);
        store_transposed(io->out + first * io->out_stride, io->out_stride, mean, slice.width,
                         slice.count, all, 1.0f / (float)io->heads);
    }
}
