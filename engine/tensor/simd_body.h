/* simd_body.h - the kernels, written once over a vector of 16 floats and compiled once for each
 * instruction set: a simd_*.c file sets the target, KERNELS (the table's name), NAME and the
 * attention tile (QUERIES x KEY_VECTORS, as many accumulators as the registers hold) and includes
 * this file.
 *
 * Numbers whose count is not a multiple of 16 end in a partial vector: loaded with zeros behind,
 * stored cut. exp and the two GELUs are polynomials, not libm: their errors are stated beside them
 * and far below fp32's own rounding of a layer's sums.
 */
#include "engine/tensor/kernels.h"
#include "engine/tensor/simd.h"

#include <math.h>
#include <string.h>

/* The vector helpers are always inlined: no vector ever crosses a call, whatever -Wpsabi fears. */
#define INLINE static inline __attribute__((always_inline))

INLINE simd_vec load(const float *p)
{
    return *(const simd_vec_unaligned *)p;
}

INLINE void store(float *p, simd_vec v)
{
    *(simd_vec_unaligned *)p = v;
}

INLINE simd_vec load_part(const float *p, size_t n)
{
    simd_vec v = {0};
    memcpy(&v, p, n * sizeof *p);
    return v;
}

INLINE void store_part(float *p, simd_vec v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}

INLINE simd_vec splat(float x)
{
    return (simd_vec){0} + x;
}

INLINE float sum(simd_vec v)
{
    float total = 0;
    for (int i = 0; i < SIMD_WIDTH; i++)
        total += v[i];
    return total;
}

/* Lanes of a where the mask is set, of b elsewhere. */
INLINE simd_vec choose(simd_int mask, simd_vec a, simd_vec b)
{
    return (simd_vec)((mask & (simd_int)a) | (~mask & (simd_int)b));
}

INLINE simd_vec vec_max(simd_vec a, simd_vec b)
{
    return choose(a > b, a, b);
}

INLINE simd_vec vec_min(simd_vec a, simd_vec b)
{
    return choose(a < b, a, b);
}

INLINE simd_vec vec_abs(simd_vec v)
{
    return (simd_vec)((simd_int)v & 0x7FFFFFFF);
}

/* e^x to 2 ulp for -87 <= x <= 88, clamped outside: x = n ln 2 + r, |r| <= ln(2)/2, e^r by its
 * Taylor series to degree 7 (remainder below 6e-9), 2^n into the exponent bits. Adding 1.5 x 2^23
 * rounds to an integer and leaves it in the low bits. */
INLINE simd_vec vec_exp(simd_vec x)
{
    const simd_vec round = splat(12582912.0f);
    x = vec_max(vec_min(x, splat(88.0f)), splat(-87.0f));
    simd_vec shifted = x * 1.44269504f + round;
    simd_vec n = shifted - round;
    simd_vec r = x - n * 0.693359375f; /* ln 2 in two pieces, the first exact in few bits */
    r = r + n * 2.12194440e-4f;
    simd_vec p = splat(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    simd_int exponent = (simd_int)shifted << 23;
    return (simd_vec)((simd_int)p + exponent);
}

/* erf(x) by Abramowitz and Stegun 7.1.26, absolute error at most 1.5e-7:
 * 1 - (a1 t + ... + a5 t^5) e^(-x^2), t = 1 / (1 + 0.3275911 |x|), with x's sign. */
INLINE simd_vec vec_erf(simd_vec x)
{
    simd_vec a = vec_abs(x);
    simd_vec t = 1.0f / (a * 0.3275911f + 1.0f);
    simd_vec p = splat(1.061405429f);
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    simd_vec y = 1.0f - p * t * vec_exp(-a * a);
    simd_int sign = (simd_int)x & (int32_t)0x80000000;
    return (simd_vec)((simd_int)y | sign);
}

/* tanh(x) = 1 - 2 / (e^(2x) + 1), absolute error below 2e-7. */
INLINE simd_vec vec_tanh(simd_vec x)
{
    return 1.0f - 2.0f / (vec_exp(x * 2.0f) + 1.0f);
}

INLINE simd_vec vec_activate(simd_vec x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return x * 0.5f * (1.0f + vec_erf(x * 0.707106781f));
    case ACTIVATION_GELU_TANH:
        return x * 0.5f * (1.0f + vec_tanh(0.797884561f * (x + 0.044715f * x * x * x)));
    case ACTIVATION_RELU:
        return vec_max(x, splat(0.0f));
    case ACTIVATION_TANH:
        return vec_tanh(x);
    default:
        return x;
    }
}

/* ---- layer norm: mean, then variance of the centred numbers, then the affine map ---- */

INLINE simd_vec centred(const float *x, size_t n, float mean)
{
    simd_vec v = n < SIMD_WIDTH ? load_part(x, n) : load(x);
    v -= mean;
    if (n < SIMD_WIDTH)
        for (size_t i = n; i < SIMD_WIDTH; i++)
            v[i] = 0;
    return v;
}

INLINE void norm_row(float *y, const float *x, const float *gamma, const float *beta, size_t width,
                     float eps)
{
    simd_vec total = {0};
    size_t full = width / SIMD_WIDTH * SIMD_WIDTH;
    for (size_t c = 0; c < full; c += SIMD_WIDTH)
        total += load(x + c);
    if (full < width)
        total += load_part(x + full, width - full);
    float mean = sum(total) / (float)width;

    simd_vec squares = {0};
    for (size_t c = 0; c < width; c += SIMD_WIDTH) {
        simd_vec v = centred(x + c, width - c, mean);
        squares += v * v;
    }
    float scale = 1.0f / sqrtf(sum(squares) / (float)width + eps);

    for (size_t c = 0; c < full; c += SIMD_WIDTH)
        store(y + c, (load(x + c) - mean) * scale * load(gamma + c) + load(beta + c));
    for (size_t c = full; c < width; c++)
        y[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
}

static void layer_norm(float *y, const float *x, const float *gamma, const float *beta, size_t rows,
                       size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++)
        norm_row(y + r * width, x + r * width, gamma, beta, width, eps);
}

/* ---- the linear layer's epilogue ---- */

/* The sums of one row from column c on, as fp32; n of them. */
INLINE simd_vec sums_of(const struct epilogue *e, size_t r, size_t c, size_t n, bool integer)
{
    const float *sums = (const float *)e->sums + r * e->sums_stride + c;
    simd_vec v = n < SIMD_WIDTH ? load_part(sums, n) : load(sums);
    if (!integer)
        return v;
    simd_vec scale = n < SIMD_WIDTH ? load_part(e->column_scale + c, n) : load(e->column_scale + c);
    simd_int offset = (simd_int)(n < SIMD_WIDTH ? load_part((const float *)e->offset + c, n)
                                                : load((const float *)e->offset + c));
    return __builtin_convertvector((simd_int)v - offset, simd_vec) * (scale * e->row_scale[r]);
}

INLINE void epilogue_row(const struct epilogue *e, size_t r, enum activation act, bool integer)
{
    float *y = e->y + r * e->y_stride;
    const float *residual = e->residual != NULL ? e->residual + r * e->residual_stride : NULL;
    size_t c = 0;
    for (; c + SIMD_WIDTH <= e->columns; c += SIMD_WIDTH) {
        simd_vec v = vec_activate(sums_of(e, r, c, SIMD_WIDTH, integer) + load(e->bias + c), act);
        store(y + c, residual != NULL ? v + load(residual + c) : v);
    }
    if (c == e->columns)
        return;
    size_t n = e->columns - c;
    simd_vec v = vec_activate(sums_of(e, r, c, n, integer) + load_part(e->bias + c, n), act);
    store_part(y + c, residual != NULL ? v + load_part(residual + c, n) : v, n);
}

/* Constant `act` and `integer` in each call, so that the inner loop has no branch. */
INLINE void epilogue_rows(const struct epilogue *e, enum activation act)
{
    if (e->column_scale != NULL)
        for (size_t r = 0; r < e->rows; r++)
            epilogue_row(e, r, act, true);
    else
        for (size_t r = 0; r < e->rows; r++)
            epilogue_row(e, r, act, false);
}

static void epilogue(const struct epilogue *e)
{
    switch (e->act) {
    case ACTIVATION_GELU:
        epilogue_rows(e, ACTIVATION_GELU);
        break;
    case ACTIVATION_GELU_TANH:
        epilogue_rows(e, ACTIVATION_GELU_TANH);
        break;
    case ACTIVATION_RELU:
        epilogue_rows(e, ACTIVATION_RELU);
        break;
    case ACTIVATION_TANH:
        epilogue_rows(e, ACTIVATION_TANH);
        break;
    default:
        epilogue_rows(e, ACTIVATION_NONE);
    }
}

/* ---- activations in fewer bits ---- */

static float max_abs(const float *x, size_t n)
{
    simd_vec best = {0};
    size_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
        best = vec_max(vec_abs(load(x + i)), best);
    if (i < n)
        best = vec_max(vec_abs(load_part(x + i, n - i)), best);
    float max = best[0];
    for (int lane = 1; lane < SIMD_WIDTH; lane++)
        max = best[lane] > max ? best[lane] : max;
    return max;
}

/* Adding 1.5 x 2^23 rounds to an integer and leaves it in the low bits; 128 more is the zero
 * point. */
INLINE simd_bytes quantized(simd_vec v, float inverse)
{
    return __builtin_convertvector((simd_int)(v * inverse + (12582912.0f + 128)), simd_bytes);
}

static void quantize(uint8_t *q, const float *x, size_t n, float inverse)
{
    size_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
        simd_bytes bytes = quantized(load(x + i), inverse);
        memcpy(q + i, &bytes, sizeof bytes);
    }
    simd_bytes bytes = quantized(load_part(x + i, n - i), inverse);
    memcpy(q + i, &bytes, n - i);
}

/* Half of the last kept bit, less one if that bit is even, carries into it when it must. */
INLINE simd_halves rounded_bf16(simd_vec v)
{
    simd_int bits = (simd_int)v;
    bits += 0x7FFF + ((bits >> 16) & 1);
    return __builtin_convertvector(bits >> 16, simd_halves);
}

static void round_bf16(uint16_t *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
        simd_halves halves = rounded_bf16(load(x + i));
        memcpy(out + i, &halves, sizeof halves);
    }
    simd_halves halves = rounded_bf16(load_part(x + i, n - i));
    memcpy(out + i, &halves, (n - i) * sizeof *out);
}

/* ---- softmax ---- */

/* Exponentials of x - max into p, whose length is rounded up to whole vectors; their sum. */
INLINE float exponentials(float *p, const float *x, size_t rounded, float max)
{
    simd_vec total = {0};
    for (size_t i = 0; i < rounded; i += SIMD_WIDTH) {
        simd_vec e = vec_exp(load(x + i) - max);
        total += e;
        store(p + i, e);
    }
    return sum(total);
}

INLINE float max_of(const float *x, size_t n)
{
    simd_vec best = splat(x[0]);
    size_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
        best = vec_max(best, load(x + i));
    float max = best[0];
    for (int lane = 1; lane < SIMD_WIDTH; lane++)
        max = best[lane] > max ? best[lane] : max;
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static void softmax(float *p, const float *x, size_t n)
{
    float max = max_of(x, n);
    size_t full = n / SIMD_WIDTH * SIMD_WIDTH;
    float total = exponentials(p, x, full, max);
    for (size_t i = full; i < n; i++) {
        p[i] = vec_exp(splat(x[i] - max))[0];
        total += p[i];
    }
    for (size_t i = 0; i < n; i++)
        p[i] /= total;
}

/* ---- attention: one head of one sequence, QUERIES rows at a time ----
 * The keys are transposed once per head to [d, keys], so that scores come as vectors over the keys;
 * the values are copied to whole vectors. A tile's scores stay in the first-level cache. */

struct head {
    const float *keys;   /* [d, padded_n], zero behind n */
    const float *values; /* [n, padded_d], zero behind d */
    float *scores;       /* [QUERIES, padded_n] */
    float *context;      /* [QUERIES, padded_d] */
    size_t n, d, padded_n, padded_d;
};

static void head_pack(float *keys, float *values, const struct head *head, const float *k,
                      const float *v, size_t stride)
{
    for (size_t c = 0; c < head->d; c++) {
        float *row = keys + c * head->padded_n;
        for (size_t j = 0; j < head->n; j++)
            row[j] = k[j * stride + c];
        memset(row + head->n, 0, (head->padded_n - head->n) * sizeof *row);
    }
    for (size_t j = 0; j < head->n; j++) {
        float *row = values + j * head->padded_d;
        memcpy(row, v + j * stride, head->d * sizeof *row);
        memset(row + head->d, 0, (head->padded_d - head->d) * sizeof *row);
    }
}

/* scores[i, j .. j + vectors) = q[i] . k[j] / sqrt(d), for QUERIES rows of q. */
INLINE void score_tile(const struct head *head, const float *const *q, size_t j, float scale,
                       const int vectors)
{
    simd_vec acc[QUERIES][KEY_VECTORS] = {0};
    for (size_t c = 0; c < head->d; c++) {
        const float *key = head->keys + c * head->padded_n + j;
#pragma GCC unroll 8
        for (int i = 0; i < QUERIES; i++)
#pragma GCC unroll 8
            for (int b = 0; b < vectors; b++)
                acc[i][b] += q[i][c] * *(const simd_vec *)(key + b * SIMD_WIDTH);
    }
#pragma GCC unroll 8
    for (int i = 0; i < QUERIES; i++)
#pragma GCC unroll 8
        for (int b = 0; b < vectors; b++)
            store(head->scores + (size_t)i * head->padded_n + j + (size_t)b * SIMD_WIDTH,
                  acc[i][b] * scale);
}

INLINE void score_rows(const struct head *head, const float *const *q, float scale)
{
    const size_t step = KEY_VECTORS * SIMD_WIDTH;
    size_t j = 0;
    for (; j + step <= head->padded_n; j += step)
        score_tile(head, q, j, scale, KEY_VECTORS);
    for (; j < head->padded_n; j += SIMD_WIDTH)
        score_tile(head, q, j, scale, 1);
}

/* context[i, c .. c + vectors) = sum_j p[i, j] v[j], for QUERIES rows of p. */
INLINE void context_tile(const struct head *head, size_t c, const int vectors)
{
    simd_vec acc[QUERIES][KEY_VECTORS] = {0};
    for (size_t j = 0; j < head->n; j++) {
        const float *value = head->values + j * head->padded_d + c;
#pragma GCC unroll 8
        for (int i = 0; i < QUERIES; i++)
#pragma GCC unroll 8
            for (int b = 0; b < vectors; b++)
                acc[i][b] += head->scores[(size_t)i * head->padded_n + j] *
                             *(const simd_vec *)(value + b * SIMD_WIDTH);
    }
#pragma GCC unroll 8
    for (int i = 0; i < QUERIES; i++)
#pragma GCC unroll 8
        for (int b = 0; b < vectors; b++)
            store(head->context + (size_t)i * head->padded_d + c + (size_t)b * SIMD_WIDTH,
                  acc[i][b]);
}

INLINE void context_rows(const struct head *head)
{
    const size_t step = KEY_VECTORS * SIMD_WIDTH;
    size_t c = 0;
    for (; c + step <= head->padded_d; c += step)
        context_tile(head, c, KEY_VECTORS);
    for (; c < head->padded_d; c += SIMD_WIDTH)
        context_tile(head, c, 1);
}

/* Unnormalised softmax of one score row in place; 1 / sum. */
INLINE float softmax_scores(float *scores, size_t n, size_t padded_n)
{
    float max = max_of(scores, n);
    for (size_t j = n; j < padded_n; j++)
        scores[j] = -INFINITY;
    return 1.0f / exponentials(scores, scores, padded_n, max);
}

static void attention(float *out, size_t out_stride, const float *q, const float *k, const float *v,
                      size_t stride, size_t n, size_t d, float *scratch)
{
    struct head head = {.n = n, .d = d, .padded_n = simd_round_up(n), .padded_d = simd_round_up(d)};
    float *keys = scratch;
    float *values = keys + d * head.padded_n;
    head.keys = keys;
    head.values = values;
    head.scores = values + n * head.padded_d;
    head.context = head.scores + QUERIES * head.padded_n;
    head_pack(keys, values, &head, k, v, stride);
    const float scale = 1.0f / sqrtf((float)d);
    for (size_t first = 0; first < n; first += QUERIES) {
        const float *rows[QUERIES]; /* behind the last query: the last one again, not stored */
        for (size_t i = 0; i < QUERIES; i++)
            rows[i] = q + (first + i < n ? first + i : n - 1) * stride;
        score_rows(&head, rows, scale);
        float norm[QUERIES];
        for (size_t i = 0; i < QUERIES; i++)
            norm[i] = softmax_scores(head.scores + i * head.padded_n, n, head.padded_n);
        context_rows(&head);
        for (size_t i = 0; i < QUERIES && first + i < n; i++)
            for (size_t c = 0; c < d; c++)
                out[(first + i) * out_stride + c] = head.context[i * head.padded_d + c] * norm[i];
    }
}

const struct kernels KERNELS = {.name = NAME,
                                .layer_norm = layer_norm,
                                .epilogue = epilogue,
                                .max_abs = max_abs,
                                .quantize = quantize,
                                .round_bf16 = round_bf16,
                                .softmax = softmax,
                                .attention = attention};
