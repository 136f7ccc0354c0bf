/* simd_body.h - the kernels, written once over vectors and compiled once for each instruction set:
 * a simd_*.c file sets the target, KERNELS (the table's name), NAME, VECTOR_BYTES (of a register)
 * and the attention tile (TILE_ROWS x TILE_VECTORS), and includes this file.
 *
 * vector_body.h has the vector and its elementary functions, attention_body.h the attention. A row
 * that is not a multiple of a vector ends in a partial vector: it is loaded with zeros behind the
 * last number, and only the numbers before are stored.
 */
#include "engine/tensor/vector_body.h"

#include "engine/tensor/attention_body.h"

/* ---- layer norm: mean, then variance of the centred numbers, then the affine map ----
 * A row is read from memory once: the second and third pass find it in the first-level cache. */

/* NORM_ROWS rows at a time, so that the sums across a vector of one row hide behind the others and
 * gamma and beta are loaded once for all. */
enum { NORM_ROWS = 4 };

INLINE void norm_means(float *mean, const float *x, size_t stride, size_t width, const int rows)
{
    vec total[NORM_ROWS] = {0};
    size_t full = width / LANES * LANES;
    for (size_t c = 0; c < full; c += LANES)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            total[r] += load(x + (size_t)r * stride + c);
    for (int r = 0; r < rows; r++) {
        if (full < width)
            total[r] += load_part(x + (size_t)r * stride + full, width - full);
        mean[r] = vec_sum(total[r]) / (float)width;
    }
}

/* 1 / sqrt(variance + eps). A variance that overflows would make the scale 0 and the row a
 * constant: it becomes NaN instead. */
INLINE void norm_scales(float *scale, const float *mean, const float *x, size_t stride,
                        size_t width, float eps, const int rows)
{
    vec squares[NORM_ROWS] = {0};
    size_t full = width / LANES * LANES;
    for (size_t c = 0; c < full; c += LANES)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            vec v = load(x + (size_t)r * stride + c) - mean[r];
            squares[r] += v * v;
        }
    for (int r = 0; r < rows; r++) {
        if (full < width) {
            vec v = load_part(x + (size_t)r * stride + full, width - full) - mean[r];
            v = keep(v, width - full);
            squares[r] += v * v;
        }
        float variance = vec_sum(squares[r]) / (float)width;
        scale[r] = isfinite(variance) ? 1.0f / sqrtf(variance + eps) : NAN;
    }
}

INLINE void norm_rows(float *y, size_t y_stride, const float *x, size_t x_stride,
                      const float *gamma, const float *beta, size_t width, float eps,
                      const int rows)
{
    float mean[NORM_ROWS], scale[NORM_ROWS];
    norm_means(mean, x, x_stride, width, rows);
    norm_scales(scale, mean, x, x_stride, width, eps, rows);
    size_t c = 0;
    for (; c + LANES <= width; c += LANES) {
        vec slope = load(gamma + c), offset = load(beta + c);
#pragma GCC unroll 4
        for (size_t r = 0; r < (size_t)rows; r++)
            store(y + r * y_stride + c,
                  (load(x + r * x_stride + c) - mean[r]) * scale[r] * slope + offset);
    }
    if (c == width)
        return;
    vec slope = load_part(gamma + c, width - c), offset = load_part(beta + c, width - c);
    for (size_t r = 0; r < (size_t)rows; r++) {
        vec v = (load_part(x + r * x_stride + c, width - c) - mean[r]) * scale[r];
        store_part(y + r * y_stride + c, v * slope + offset, width - c);
    }
}

static void layer_norm(float *y, size_t y_stride, const float *x, size_t x_stride,
                       const float *gamma, const float *beta, size_t rows, size_t width, float eps)
{
    size_t r = 0;
    for (; r + NORM_ROWS <= rows; r += NORM_ROWS)
        norm_rows(y + r * y_stride, y_stride, x + r * x_stride, x_stride, gamma, beta, width, eps,
                  NORM_ROWS);
    for (; r < rows; r++)
        norm_rows(y + r * y_stride, y_stride, x + r * x_stride, x_stride, gamma, beta, width, eps,
                  1);
}

INLINE void rms_row(float *y, const float *x, const float *gamma, size_t width, float eps)
{
    const size_t full = width / LANES * LANES, rest = width - full;
    vec squares = {0};
    for (size_t c = 0; c < full; c += LANES)
        squares += load(x + c) * load(x + c);
    if (rest > 0) {
        const vec v = load_part(x + full, rest);
        squares += v * v;
    }
    const float mean = vec_sum(squares) / (float)width;
    const float scale = isfinite(mean) ? 1.0f / sqrtf(mean + eps) : NAN;
    for (size_t c = 0; c < full; c += LANES)
        store(y + c, load(x + c) * scale * load(gamma + c));
    if (rest > 0)
        store_part(y + full, load_part(x + full, rest) * scale * load_part(gamma + full, rest),
                   rest);
}

static void rms_norm(float *y, size_t y_stride, const float *x, size_t x_stride, const float *gamma,
                     size_t rows, size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++)
        rms_row(y + r * y_stride, x + r * x_stride, gamma, width, eps);
}

/* Adds half of the last kept bit, less one if that bit is even: the sum carries if it rounds up. */
INLINE vec_int rounded_bf16(vec v)
{
    vec_int bits = (vec_int)v;
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

INLINE void store_bf16(uint16_t *out, vec v, size_t count)
{
    uint16_t part[LANES];
    if (count >= LANES) {
        narrow_halves(out, rounded_bf16(v));
        return;
    }
    narrow_halves(part, rounded_bf16(v));
    memcpy(out, part, count * sizeof *out);
}

/* ---- the linear layer's epilogue ---- */

/* Values of one vector of columns, from c on, that are the same for every row of the block. */
struct columns {
    vec bias, scale;
    vec_int sum;
    size_t first, count; /* count < LANES: a partial vector */
};

INLINE vec load_columns(const float *p, const struct columns *columns)
{
    p += columns->first;
    return columns->count < LANES ? load_part(p, columns->count) : load(p);
}

INLINE vec epilogue_row(const struct epilogue *e, const struct columns *columns, size_t r,
                        enum activation act, bool integer)
{
    vec v = load_columns((const float *)e->sums + r * e->sums_stride, columns);
    if (integer)
        v = __builtin_convertvector((vec_int)v - columns->sum * (e->zero_point + e->row_zero[r]),
                                    vec) *
            (columns->scale * e->row_scale[r]);
    v += columns->bias;
    const bool is_coarse = act == ACTIVATION_GELU && integer == (e->y_bf16 == NULL);
    v = is_coarse ? vec_gelu_coarse(v) : vec_activate(v, act);
    if (e->residual != NULL)
        v += load_columns(e->residual + r * e->residual_stride, columns);
    return v;
}

/* Computes rows [first, last) of one vector of columns. */
INLINE void epilogue_columns(const struct epilogue *e, size_t first, size_t last, size_t c,
                             size_t count, enum activation act, bool integer)
{
    struct columns columns = {.first = c, .count = count};
    columns.bias = load_columns(e->bias, &columns);
    if (integer) {
        columns.scale = load_columns(e->column_scale, &columns);
        columns.sum = (vec_int)load_columns((const float *)(const void *)e->column_sum, &columns);
    }
    for (size_t r = first; r < last; r++) {
        vec v = epilogue_row(e, &columns, r, act, integer);
        if (e->y_bf16 != NULL)
            store_bf16(e->y_bf16 + r * e->y_stride + c, v, count);
        else if (count < LANES)
            store_part(e->y + r * e->y_stride + c, v, count);
        else
            store(e->y + r * e->y_stride + c, v);
    }
}

/* A wider block is processed row by row. */
enum { NARROW_COLUMNS = 32 };

/* Constant `act` and `integer` in each call, so that the inner loop has no branch. */
INLINE void epilogue_block(const struct epilogue *e, enum activation act, bool integer)
{
    size_t step = e->columns > NARROW_COLUMNS ? 1 : e->rows;
    for (size_t r = 0; r < e->rows; r += step) {
        size_t c = 0;
        for (; c + LANES <= e->columns; c += LANES)
            epilogue_columns(e, r, r + step, c, LANES, act, integer);
        if (c < e->columns)
            epilogue_columns(e, r, r + step, c, e->columns - c, act, integer);
    }
}

INLINE void epilogue_as(const struct epilogue *e, enum activation act)
{
    if (e->column_scale != NULL)
        epilogue_block(e, act, true);
    else
        epilogue_block(e, act, false);
}

static void epilogue(const struct epilogue *given)
{
    const struct epilogue e = *given; /* a copy that no store can reach stays in registers */
    switch (e.act) {
    case ACTIVATION_GELU:
        epilogue_as(&e, ACTIVATION_GELU);
        break;
    case ACTIVATION_GELU_TANH:
        epilogue_as(&e, ACTIVATION_GELU_TANH);
        break;
    case ACTIVATION_RELU:
        epilogue_as(&e, ACTIVATION_RELU);
        break;
    case ACTIVATION_TANH:
        epilogue_as(&e, ACTIVATION_TANH);
        break;
    case ACTIVATION_SILU:
        epilogue_as(&e, ACTIVATION_SILU);
        break;
    case ACTIVATION_QUICK_GELU:
        epilogue_as(&e, ACTIVATION_QUICK_GELU);
        break;
    default:
        epilogue_as(&e, ACTIVATION_NONE);
    }
}

/* ---- a gated MLP ---- */

INLINE void gate_as(float *y, const float *x, size_t n, enum activation act)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, vec_activate(load(x + i), act) * load(x + n + i));
    if (i < n)
        store_part(y + i, vec_activate(load_part(x + i, n - i), act) * load_part(x + n + i, n - i),
                   n - i);
}

/* Constant `act` for the gates that models have. */
static void gate(float *y, const float *x, size_t n, enum activation act)
{
    if (act == ACTIVATION_SILU)
        gate_as(y, x, n, ACTIVATION_SILU);
    else if (act == ACTIVATION_GELU)
        gate_as(y, x, n, ACTIVATION_GELU);
    else
        gate_as(y, x, n, act);
}

/* ---- rotary positions ---- */

INLINE vec load_bf16(const uint16_t *p, size_t count)
{
    typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2)));
    halves part = {0};
    memcpy(&part, p, count * sizeof *p);
    return (vec)(__builtin_convertvector(part, vec_int) << 16);
}

/* Rotates a pair of vectors: each number of one has its partner in the other. */
INLINE void turn_pair(vec *low, vec *high, vec cosine, vec sine)
{
    vec was = *low;
    *low = was * cosine - *high * sine;
    *high = *high * cosine + was * sine;
}

static void rotate(float *x, const float *turn, size_t heads, size_t d, float direction)
{
    const size_t half = d / 2, full = half / LANES * LANES, rest = half - full;
    for (; heads > 0; heads--, x += d) {
        for (size_t i = 0; i < full; i += LANES) {
            vec low = load(x + i), high = load(x + half + i);
            turn_pair(&low, &high, load(turn + i), load(turn + half + i) * direction);
            store(x + i, low);
            store(x + half + i, high);
        }
        if (rest == 0)
            continue;
        vec low = load_part(x + full, rest), high = load_part(x + half + full, rest);
        turn_pair(&low, &high, load_part(turn + full, rest),
                  load_part(turn + half + full, rest) * direction);
        store_part(x + full, low, rest);
        store_part(x + half + full, high, rest);
    }
}

static void rotate_bf16(uint16_t *x, const float *turn, size_t heads, size_t d)
{
    const size_t half = d / 2, full = half / LANES * LANES, rest = half - full;
    for (; heads > 0; heads--, x += d) {
        for (size_t i = 0; i < full; i += LANES) {
            vec low = load_bf16(x + i, LANES), high = load_bf16(x + half + i, LANES);
            turn_pair(&low, &high, load(turn + i), load(turn + half + i));
            store_bf16(x + i, low, LANES);
            store_bf16(x + half + i, high, LANES);
        }
        if (rest == 0)
            continue;
        vec low = load_bf16(x + full, rest), high = load_bf16(x + half + full, rest);
        turn_pair(&low, &high, load_part(turn + full, rest), load_part(turn + half + full, rest));
        store_bf16(x + full, low, rest);
        store_bf16(x + half + full, high, rest);
    }
}

/* ---- activations in fewer bits ---- */

static float max_abs(const float *x, size_t n)
{
    vec best = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        best = larger_magnitude(best, load(x + i));
    if (i < n)
        best = larger_magnitude(best, load_part(x + i, n - i));
    return largest_magnitude(best);
}

/* A minimum or maximum may lose a NaN; the largest magnitude does not. */
static void range(float *low, float *high, const float *x, size_t n)
{
    vec below = {0}, above = {0}, magnitude = {0};
    const size_t full = n - n % LANES;
    const vec rest = full < n ? load_part(x + full, n - full) : splat(0);
    for (size_t i = 0; i < full; i += LANES) {
        const vec v = load(x + i);
        below = vec_min(below, v);
        above = vec_max(above, v);
        magnitude = larger_magnitude(magnitude, v);
    }
    const float largest = largest_magnitude(larger_magnitude(magnitude, rest));
    *low = largest == largest ? -vec_largest(-vec_min(below, rest)) : largest;
    *high = largest == largest ? vec_largest(vec_max(above, rest)) : largest;
}

/* Adding 1.5 x 2^23 rounds to an integer and leaves it in the low bits. */
INLINE vec_int quantized(vec v, float inverse, float zero)
{
    return (vec_int)(v * inverse + (12582912.0f + zero));
}

static void quantize(uint8_t *q, const float *x, size_t n, float inverse, int zero)
{
    const float point = (float)(128 + zero);
    uint8_t rest[LANES];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        narrow_bytes(q + i, quantized(load(x + i), inverse, point));
    if (i == n)
        return;
    narrow_bytes(rest, quantized(load_part(x + i, n - i), inverse, point));
    memcpy(q + i, rest, n - i);
}

static void round_bf16(uint16_t *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_bf16(out + i, load(x + i), LANES);
    if (i < n)
        store_bf16(out + i, load_part(x + i, n - i), n - i);
}

static void cut_f32(uint16_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec rest = n - i < LANES ? load_part(x + i, n - i) : load(x + i);
        uint16_t *to = out + i / OPERAND_STEP * (OPERAND_PARTS * OPERAND_STEP) + i % OPERAND_STEP;
        for (unsigned part = 0; part < OPERAND_PARTS; part++, to += OPERAND_STEP) {
            narrow_halves(to, (vec_int)rest >> 16);
            rest -= (vec)((vec_int)rest & ~0xFFFF);
        }
    }
}

INLINE vec paired_bf16(vec low, vec high)
{
    return (vec)((rounded_bf16(low) & 0xFFFF) | (rounded_bf16(high) << 16));
}

static void pair_bf16(uint32_t *pairs, const float *low, const float *high, size_t n)
{
    float *out = (float *)(void *)pairs;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(out + i, paired_bf16(load(low + i), load(high + i)));
    if (i < n)
        store_part(out + i, paired_bf16(load_part(low + i, n - i), load_part(high + i, n - i)),
                   n - i);
}

/* ---- softmax ---- */

INLINE float max_of(const float *x, size_t n)
{
    vec best = splat(x[0]);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        best = vec_max(best, load(x + i));
    float max = vec_largest(best);
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static void softmax(float *p, const float *x, size_t n)
{
    float max = max_of(x, n);
    size_t i = 0, full = n / LANES * LANES, rest = n - full;
    vec total = {0};
    for (; i < full; i += LANES) {
        vec e = vec_exp(load(x + i) - max);
        total += e;
        store(p + i, e);
    }
    if (rest > 0) {
        vec e = keep(vec_exp(load_part(x + full, rest) - max), rest);
        total += e;
        store_part(p + full, e, rest);
    }
    float scale = 1.0f / vec_sum(total);
    for (i = 0; i < full; i += LANES)
        store(p + i, load(p + i) * scale);
    if (rest > 0)
        store_part(p + full, load_part(p + full, rest) * scale, rest);
}

/* A NaN passes through exp, and so into the sum; plus infinity, or minus infinity as the maximum,
 * becomes one by its own difference. */
static float log_sum(float *max, const float *x, size_t n)
{
    const size_t full = n / LANES * LANES, rest = n - full;
    vec total = {0};
    *max = max_of(x, n);
    for (size_t i = 0; i < full; i += LANES)
        total += vec_exp(load(x + i) - *max);
    if (rest > 0)
        total += keep(vec_exp(load_part(x + full, rest) - *max), rest);
    return logf(vec_sum(total));
}

/* Four vectors at a time, since few numbers are above. */
static size_t next_above(const float *x, size_t from, size_t n, float bound)
{
    for (; from + 4 * LANES <= n; from += 4 * LANES) {
        const float *at = x + from;
        vec best = vec_max(vec_max(load(at), load(at + LANES)),
                           vec_max(load(at + 2 * LANES), load(at + 3 * LANES)));
        if (vec_largest(best) > bound)
            break;
    }
    while (from < n && !(x[from] > bound))
        from++;
    return from;
}

/* ---- attention of one query ---- */

INLINE size_t decode_row(const struct decode_io *io, size_t j)
{
    return (io->slots != NULL ? io->slots[j] : j) * io->kv_stride;
}

/* q . k of a head for four keys at once: their sums across a vector are made together. */
INLINE quad decode_dots(const float *q, const float *const k[4], size_t d)
{
    vec total[4] = {0};
    size_t c = 0;
    for (; c + LANES <= d; c += LANES) {
        const vec v = load(q + c);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            total[i] += v * load(k[i] + c);
    }
    if (c < d) {
        const vec v = load_part(q + c, d - c);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            total[i] += v * load_part(k[i] + c, d - c);
    }
    quad parts[QUADS], sum;
    transpose_lanes(total);
    split_quads(parts, (total[0] + total[1]) + (total[2] + total[3]));
    sum = parts[0];
#pragma GCC unroll 4
    for (int g = 1; g < QUADS; g++)
        sum += parts[g];
    return sum;
}

/* out[c ..] = sum_j p[j] v[j][c ..] of `vectors` vectors; the last may be partial. */
INLINE void decode_sum(const struct decode_io *io, const float *p, size_t c, size_t part,
                       const int vectors)
{
    vec total[4] = {0};
    for (size_t j = 0; j < io->n; j++) {
        const float *v = io->v + decode_row(io, j) + c;
#pragma GCC unroll 4
        for (int b = 0; b < vectors; b++)
            total[b] += p[j] * load_some(v + b * LANES, part);
    }
#pragma GCC unroll 4
    for (int b = 0; b < vectors; b++)
        if (part > 0)
            store_part(io->out + c, total[b], part);
        else
            store(io->out + c + b * LANES, total[b]);
}

/* Scores of four keys from j on. Behind the last key the last one is repeated: a key's score does
 * not depend on its neighbours, nor on the count. */
INLINE void decode_scores(const struct decode_io *io, size_t j)
{
    const size_t count = io->n - j < 4 ? io->n - j : 4;
    const float *k[4];
    for (size_t i = 0; i < 4; i++)
        k[i] = io->k + decode_row(io, j + (i < count ? i : count - 1));
    for (size_t h = 0; h < io->heads; h++) {
        const quad dots = decode_dots(io->q + h * io->d, k, io->d);
        float *scores = io->scores + h * io->scores_step + j;
        const float *bias = io->bias != NULL ? io->bias + h * io->bias_step + io->n - 1 - j : NULL;
        for (size_t i = 0; i < count; i++)
            scores[i] = dots[i] + (bias != NULL ? *(bias - i) : 0);
        for (size_t i = 0; i < 4; i++)
            k[i] += io->d;
    }
}

/* A key's heads lie side by side, so the scores are computed key by key. */
static void attention_decode(const struct decode_io *io)
{
    const size_t d = io->d, step = io->scores_step;
    for (size_t j = 0; j < io->n; j += 4)
        decode_scores(io, j);
    for (size_t h = 0; h < io->heads; h++) {
        float *p = io->scores + h * step;
        size_t c = h * d;
        const size_t end = c + d;
        softmax(p, p, io->n);
        for (; end - c >= 4 * LANES; c += 4 * LANES)
            decode_sum(io, p, c, 0, 4);
        for (; end - c >= LANES; c += LANES)
            decode_sum(io, p, c, 0, 1);
        if (c < end)
            decode_sum(io, p, c, end - c, 1);
    }
}

const struct kernels KERNELS = {.name = NAME,
                                .layer_norm = layer_norm,
                                .rms_norm = rms_norm,
                                .epilogue = epilogue,
                                .gate = gate,
                                .rotate = rotate,
                                .rotate_bf16 = rotate_bf16,
                                .max_abs = max_abs,
                                .range = range,
                                .quantize = quantize,
                                .round_bf16 = round_bf16,
                                .pair_bf16 = pair_bf16,
                                .cut_f32 = cut_f32,
                                .softmax = softmax,
                                .log_sum = log_sum,
                                .next_above = next_above,
                                .attention = attention,
                                .attention_mean = attention_mean,
                                .attention_decode = attention_decode};
