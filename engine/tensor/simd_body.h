/* simd_body.h - the kernels, written once over vectors and compiled once for each instruction set:
 * a simd_*.c file sets the target, KERNELS (the table's name), NAME, VECTOR_BYTES (of a register)
 * and the attention tile (TILE_ROWS x TILE_VECTORS), and includes this file.
 *
 * vector_body.h has the vector and its elementary functions, attention_body.h the attention.
 * Numbers whose count is not a multiple of a vector's end in a partial vector: loaded with zeros
 * behind, stored cut.
 */
#include "engine/tensor/vector_body.h"

#include <math.h>

#include "engine/tensor/attention_body.h"

INLINE vec vec_activate(vec x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return vec_gelu(x);
    case ACTIVATION_GELU_TANH:
        return vec_gelu_tanh(x);
    case ACTIVATION_RELU:
        return vec_max(x, splat(0.0f));
    case ACTIVATION_TANH:
        return vec_tanh(x);
    default:
        return x;
    }
}

/* ---- layer norm: mean, then variance of the centred numbers, then the affine map ----
 * Memory sees a row once: the second and third pass find it in the first-level cache. */

/* NORM_ROWS rows at a time, so that the sums across a vector of one row hide behind the others and
 * gamma and beta are loaded once for all. */
enum { NORM_ROWS = 4 };

INLINE void norm_means(float *mean, const float *x, size_t width, const int rows)
{
    vec total[NORM_ROWS] = {0};
    size_t full = width / LANES * LANES;
    for (size_t c = 0; c < full; c += LANES)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            total[r] += load(x + (size_t)r * width + c);
    for (int r = 0; r < rows; r++) {
        if (full < width)
            total[r] += load_part(x + (size_t)r * width + full, width - full);
        mean[r] = vec_sum(total[r]) / (float)width;
    }
}

/* 1 / sqrt(variance + eps) */
INLINE void norm_scales(float *scale, const float *mean, const float *x, size_t width, float eps,
                        const int rows)
{
    vec squares[NORM_ROWS] = {0};
    size_t full = width / LANES * LANES;
    for (size_t c = 0; c < full; c += LANES)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            vec v = load(x + (size_t)r * width + c) - mean[r];
            squares[r] += v * v;
        }
    for (int r = 0; r < rows; r++) {
        if (full < width) {
            vec v = load_part(x + (size_t)r * width + full, width - full) - mean[r];
            v = keep(v, width - full);
            squares[r] += v * v;
        }
        scale[r] = 1.0f / sqrtf(vec_sum(squares[r]) / (float)width + eps);
    }
}

INLINE void norm_rows(float *y, const float *x, const float *gamma, const float *beta, size_t width,
                      float eps, const int rows)
{
    float mean[NORM_ROWS], scale[NORM_ROWS];
    norm_means(mean, x, width, rows);
    norm_scales(scale, mean, x, width, eps, rows);
    size_t c = 0;
    for (; c + LANES <= width; c += LANES) {
        vec slope = load(gamma + c), offset = load(beta + c);
#pragma GCC unroll 4
        for (size_t r = 0; r < (size_t)rows; r++)
            store(y + r * width + c,
                  (load(x + r * width + c) - mean[r]) * scale[r] * slope + offset);
    }
    if (c == width)
        return;
    vec slope = load_part(gamma + c, width - c), offset = load_part(beta + c, width - c);
    for (size_t r = 0; r < (size_t)rows; r++) {
        vec v = (load_part(x + r * width + c, width - c) - mean[r]) * scale[r];
        store_part(y + r * width + c, v * slope + offset, width - c);
    }
}

static void layer_norm(float *y, const float *x, const float *gamma, const float *beta, size_t rows,
                       size_t width, float eps)
{
    size_t r = 0;
    for (; r + NORM_ROWS <= rows; r += NORM_ROWS)
        norm_rows(y + r * width, x + r * width, gamma, beta, width, eps, NORM_ROWS);
    for (; r < rows; r++)
        norm_rows(y + r * width, x + r * width, gamma, beta, width, eps, 1);
}

/* ---- the linear layer's epilogue ---- */

INLINE void epilogue_row(float *y, const float *bias, const float *residual, size_t columns,
                         enum activation act)
{
    size_t c = 0;
    for (; c + LANES <= columns; c += LANES) {
        vec v = vec_activate(load(y + c) + load(bias + c), act);
        store(y + c, residual != NULL ? v + load(residual + c) : v);
    }
    if (c == columns)
        return;
    size_t n = columns - c;
    vec v = vec_activate(load_part(y + c, n) + load_part(bias + c, n), act);
    store_part(y + c, residual != NULL ? v + load_part(residual + c, n) : v, n);
}

/* Constant `act` and `residual` in each call, so that the inner loop has no branch. */
INLINE void epilogue_rows(float *y, const float *bias, const float *residual, size_t rows,
                          size_t columns, size_t stride, enum activation act)
{
    if (residual == NULL)
        for (size_t r = 0; r < rows; r++)
            epilogue_row(y + r * stride, bias, NULL, columns, act);
    else
        for (size_t r = 0; r < rows; r++)
            epilogue_row(y + r * stride, bias, residual + r * stride, columns, act);
}

static void epilogue(float *y, const float *bias, const float *residual, size_t rows,
                     size_t columns, size_t stride, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        epilogue_rows(y, bias, residual, rows, columns, stride, ACTIVATION_GELU);
        break;
    case ACTIVATION_GELU_TANH:
        epilogue_rows(y, bias, residual, rows, columns, stride, ACTIVATION_GELU_TANH);
        break;
    case ACTIVATION_RELU:
        epilogue_rows(y, bias, residual, rows, columns, stride, ACTIVATION_RELU);
        break;
    case ACTIVATION_TANH:
        epilogue_rows(y, bias, residual, rows, columns, stride, ACTIVATION_TANH);
        break;
    default:
        epilogue_rows(y, bias, residual, rows, columns, stride, ACTIVATION_NONE);
    }
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

const struct kernels KERNELS = {.name = NAME,
                                .layer_norm = layer_norm,
                                .epilogue = epilogue,
                                .softmax = softmax,
                                .attention = attention};
