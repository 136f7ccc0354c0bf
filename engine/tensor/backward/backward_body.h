/* backward_body.h - the gradients of the row-wise kernels and the optimiser's step, written once
 * over vectors and compiled once for each instruction set: a backward_*.c file sets the target,
 * BACKWARD (the table's name), NAME and VECTOR_BYTES (of a register), and includes this file.
 *
 * vector_body.h has the vector and its elementary functions. Every loop is one step over `count`
 * numbers, called with a whole vector (a constant, so that no branch is left) and at the end with
 * the rest: zeros are read behind it and nothing is written there. Both compile to the same
 * arithmetic, so a sum of columns does not depend on the cuts between columns.
 *
 * Memory bounds most of these: they read it once and keep in the first-level cache what they read
 * again.
 */
#include "engine/base/rng.h"
#include "engine/tensor/backward/backward.h"
#include "engine/tensor/vector_body.h"

#include <assert.h>
#include <math.h>

typedef uint32_t vec_uint __attribute__((vector_size(VECTOR_BYTES)));

INLINE vec load_count(const float *p, size_t count)
{
    return count < LANES ? load_part(p, count) : load(p);
}

INLINE void store_count(float *p, vec v, size_t count)
{
    if (count < LANES)
        store_part(p, v, count);
    else
        store(p, v);
}

/* Four sums at a time, because an addition takes four cycles. */
INLINE float dot(const float *a, const float *b, size_t n)
{
    vec sums[4] = {0};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            sums[k] += load(a + i + k * LANES) * load(b + i + k * LANES);
    for (; i + LANES <= n; i += LANES)
        sums[0] += load(a + i) * load(b + i);
    if (i < n)
        sums[1] += load_part(a + i, n - i) * load_part(b + i, n - i);
    return vec_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* ---- layer norm ----
 * With c = x - mean, h = rstd c and W numbers in a row:
 *
 *     dx = rstd e - (rstd sum(e) / W + rstd^3 sum(e c) / W c) + residual
 *
 * Three passes over a row: sum(x) and sum(e); sum(c^2) and sum(e c); dx. NORM_ROWS rows at a time,
 * as in the forward kernel. An RMS norm is the same with a mean of 0 for x and for e; it has no
 * first pass. */

enum { NORM_ROWS = 4 };

struct norm_rows {
    float *dx;
    const float *dy, *x, *gamma, *residual;
    size_t dx_stride, dy_stride, x_stride, residual_stride;
    size_t width;
};

/* Values of a row after the second pass: mean, rstd, and the two coefficients above. */
struct norm_row {
    float mean, rstd, constant, slope;
};

/* Returns e of row r, from column c on. */
INLINE vec norm_e(const struct norm_rows *n, size_t r, size_t c, vec gamma, size_t count)
{
    return load_count(n->dy + r * n->dy_stride + c, count) * gamma;
}

INLINE void norm_first_step(const struct norm_rows *n, vec *x_sum, vec *e_sum, size_t c,
                            size_t count, const size_t rows)
{
    vec gamma = load_count(n->gamma + c, count);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        x_sum[r] += load_count(n->x + r * n->x_stride + c, count);
        e_sum[r] += norm_e(n, r, c, gamma, count);
    }
}

/* Adds to the sums of the second pass. Padding minus the mean is not zero, so it is set to zero. */
INLINE void norm_second_step(const struct norm_rows *n, const struct norm_row *row, vec *squares,
                             vec *products, size_t c, size_t count, const size_t rows)
{
    vec gamma = load_count(n->gamma + c, count);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        vec centred = load_count(n->x + r * n->x_stride + c, count) - row[r].mean;
        if (count < LANES)
            centred = keep(centred, count);
        squares[r] += centred * centred;
        products[r] += norm_e(n, r, c, gamma, count) * centred;
    }
}

INLINE void norm_last_step(const struct norm_rows *n, const struct norm_row *row, size_t c,
                           size_t count, const size_t rows, bool with_residual)
{
    vec gamma = load_count(n->gamma + c, count);
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        vec centred = load_count(n->x + r * n->x_stride + c, count) - row[r].mean;
        vec dx = norm_e(n, r, c, gamma, count) * row[r].rstd -
                 (centred * row[r].slope + row[r].constant);
        if (with_residual)
            dx += load_count(n->residual + r * n->residual_stride + c, count);
        store_count(n->dx + r * n->dx_stride + c, dx, count);
    }
}

INLINE void norm_moments(const struct norm_rows *n, struct norm_row *row, float eps,
                         const size_t rows, const bool is_rms)
{
    vec x_sum[NORM_ROWS] = {0}, e_sum[NORM_ROWS] = {0};
    vec squares[NORM_ROWS] = {0}, products[NORM_ROWS] = {0};
    const float width = (float)n->width;
    size_t full = n->width / LANES * LANES, rest = n->width - full;
    for (size_t c = 0; c < full && !is_rms; c += LANES)
        norm_first_step(n, x_sum, e_sum, c, LANES, rows);
    if (rest > 0 && !is_rms)
        norm_first_step(n, x_sum, e_sum, full, rest, rows);
    for (size_t r = 0; r < rows; r++)
        row[r].mean = is_rms ? 0 : vec_sum(x_sum[r]) / width;
    for (size_t c = 0; c < full; c += LANES)
        norm_second_step(n, row, squares, products, c, LANES, rows);
    if (rest > 0)
        norm_second_step(n, row, squares, products, full, rest, rows);
    for (size_t r = 0; r < rows; r++) {
        float rstd = 1.0f / sqrtf(vec_sum(squares[r]) / width + eps);
        row[r].rstd = rstd;
        row[r].constant = is_rms ? 0 : rstd * (vec_sum(e_sum[r]) / width);
        row[r].slope = rstd * rstd * rstd * (vec_sum(products[r]) / width);
    }
}

INLINE void norm_write(const struct norm_rows *n, const struct norm_row *row, const size_t rows,
                       bool with_residual)
{
    size_t full = n->width / LANES * LANES;
    for (size_t c = 0; c < full; c += LANES)
        norm_last_step(n, row, c, LANES, rows, with_residual);
    if (full < n->width)
        norm_last_step(n, row, full, n->width - full, rows, with_residual);
}

INLINE void norm_rows(const struct norm_rows *n, float *stats, float eps, const size_t rows,
                      const bool is_rms)
{
    struct norm_row row[NORM_ROWS];
    norm_moments(n, row, eps, rows, is_rms);
    if (n->residual != NULL)
        norm_write(n, row, rows, true);
    else
        norm_write(n, row, rows, false);
    for (size_t r = 0; r < rows; r++) {
        stats[2 * r] = row[r].mean;
        stats[2 * r + 1] = row[r].rstd;
    }
}

/* n has the matrices from their first rows on. */
INLINE void norm_matrix(struct norm_rows n, float *stats, size_t rows, float eps, const bool is_rms)
{
    for (size_t r = 0, step; r < rows; r += step) {
        step = rows - r >= NORM_ROWS ? NORM_ROWS : 1;
        if (step == NORM_ROWS)
            norm_rows(&n, stats + 2 * r, eps, NORM_ROWS, is_rms);
        else
            norm_rows(&n, stats + 2 * r, eps, 1, is_rms);
        n.dx += step * n.dx_stride;
        n.dy += step * n.dy_stride;
        n.x += step * n.x_stride;
        n.residual = n.residual != NULL ? n.residual + step * n.residual_stride : NULL;
    }
}

static void layer_norm(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                       const float *x, size_t x_stride, const float *gamma, const float *residual,
                       size_t residual_stride, size_t rows, size_t width, float eps)
{
    const struct norm_rows n = {dx,        dy,        x,        gamma,           residual,
                                dx_stride, dy_stride, x_stride, residual_stride, width};
    norm_matrix(n, stats, rows, eps, false);
}

static void rms_norm(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                     const float *x, size_t x_stride, const float *gamma, const float *residual,
                     size_t residual_stride, size_t rows, size_t width, float eps)
{
    const struct norm_rows n = {dx,        dy,        x,        gamma,           residual,
                                dx_stride, dy_stride, x_stride, residual_stride, width};
    norm_matrix(n, stats, rows, eps, true);
}

/* ---- sums over rows ----
 * Rows are read in memory order, SUM_ROWS at a time, so that a total is loaded and stored once for
 * all of them. Columns are cut into stretches whose totals stay in the first-level cache. A total
 * takes the sum of each group of rows, which also keeps more of its digits. */

enum { SUM_ROWS = 4, SUM_COLUMNS = 1024 };

INLINE void sum_step(float *sum, const float *x, size_t stride, const size_t rows, size_t count)
{
    vec total = load_count(x, count);
#pragma GCC unroll 4
    for (size_t r = 1; r < rows; r++)
        total += load_count(x + r * stride, count);
    store_count(sum, load_count(sum, count) + total, count);
}

INLINE void sum_rows(float *sum, const float *x, size_t stride, const size_t rows, size_t columns)
{
    size_t c = 0;
    for (; c + LANES <= columns; c += LANES)
        sum_step(sum + c, x + c, stride, rows, LANES);
    if (c < columns)
        sum_step(sum + c, x + c, stride, rows, columns - c);
}

static void column_sums(float *sum, const float *x, size_t x_stride, size_t rows, size_t first,
                        size_t last)
{
    for (size_t c = first; c < last; c += SUM_COLUMNS) {
        size_t columns = last - c < SUM_COLUMNS ? last - c : SUM_COLUMNS, r = 0;
        for (; r + SUM_ROWS <= rows; r += SUM_ROWS)
            sum_rows(sum + c, x + r * x_stride + c, x_stride, SUM_ROWS, columns);
        for (; r < rows; r++)
            sum_rows(sum + c, x + r * x_stride + c, x_stride, 1, columns);
    }
}

/* Pointers to the start of a group of rows, at the first column of a stretch. */
struct norm_sums {
    float *dgamma, *dbeta;
    const float *dy, *x, *stats;
    size_t dy_stride, x_stride;
};

INLINE void norm_sum_step(const struct norm_sums *n, size_t c, const size_t rows, size_t count)
{
    vec gamma = {0}, beta = {0};
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
        vec dy = load_count(n->dy + r * n->dy_stride + c, count);
        vec centred = load_count(n->x + r * n->x_stride + c, count) - n->stats[2 * r];
        gamma += dy * (centred * n->stats[2 * r + 1]);
        beta += dy;
    }
    store_count(n->dgamma + c, load_count(n->dgamma + c, count) + gamma, count);
    store_count(n->dbeta + c, load_count(n->dbeta + c, count) + beta, count);
}

INLINE void norm_sum_rows(struct norm_sums n, const size_t rows, size_t columns)
{
    size_t c = 0;
    for (; c + LANES <= columns; c += LANES)
        norm_sum_step(&n, c, rows, LANES);
    if (c < columns)
        norm_sum_step(&n, c, rows, columns - c);
}

static void layer_norm_columns(float *dgamma, float *dbeta, const float *dy, size_t dy_stride,
                               const float *x, size_t x_stride, const float *stats, size_t rows,
                               size_t first, size_t last)
{
    for (size_t c = first; c < last; c += SUM_COLUMNS) {
        size_t columns = last - c < SUM_COLUMNS ? last - c : SUM_COLUMNS, r = 0;
        struct norm_sums n = {dgamma + c, dbeta + c, dy + c, x + c, stats, dy_stride, x_stride};
        for (; r + SUM_ROWS <= rows; r += SUM_ROWS) {
            norm_sum_rows(n, SUM_ROWS, columns);
            n.dy += SUM_ROWS * dy_stride;
            n.x += SUM_ROWS * x_stride;
            n.stats += 2 * SUM_ROWS;
        }
        for (; r < rows; r++) {
            norm_sum_rows(n, 1, columns);
            n.dy += dy_stride;
            n.x += x_stride;
            n.stats += 2;
        }
    }
}

/* ---- activations ---- */

/* With a = |x|: GELU'(x) = 1 - (Phi(-a) - a phi(a)) for x > 0, else Phi(-a) - a phi(a). Both keep
 * their digits. phi(a) = 2^(-a^2 log2(e) / 2 - log2(sqrt(2 pi))). */
INLINE vec gelu_slope(vec x)
{
    vec a = vec_min(splat(10.0f), vec_abs(x));
    vec density = exp2_within(a * a * -0.72134752f - 1.32574806f);
    vec below = vec_normal_tail(a) - a * density;
    vec_int positive = x > 0.0f;
    return (vec)((positive & (vec_int)(1.0f - below)) | (~positive & (vec_int)below));
}

/* y = x s with s = 1 / (1 + e), e = e^(-2u): y' = s + x s (1 - s) 2 u' and 1 - s = e s. Outside
 * [-10, 10] it is 0 or 1 to fp32, and x^3 e would overflow. */
INLINE vec gelu_tanh_slope(vec x)
{
    x = vec_max(splat(-10.0f), vec_min(splat(10.0f), x));
    vec square = x * x;
    vec e = vec_exp(x * (square * -0.0713548162f - 1.59576912f));
    vec s = 1.0f / (1.0f + e);
    return s + x * (e * s * s) * (square * 0.2140644486f + 1.59576912f);
}

/* 1 - tanh(x)^2 = 4 e / (1 + e)^2, e = e^(-2 |x|): no digits cancel. */
INLINE vec tanh_slope(vec x)
{
    vec e = vec_exp(vec_abs(x) * -2.0f);
    vec s = 1.0f / (1.0f + e);
    return 4.0f * e * (s * s);
}

/* s + x s (1 - s), s = 1 / (1 + e), e = e^-x, 1 - s = e s. Clamped where s would lose digits. */
INLINE vec silu_slope(vec x)
{
    x = vec_max(splat(-80.0f), vec_min(splat(80.0f), x));
    vec e = vec_exp(-x);
    vec s = 1.0f / (1.0f + e);
    return s + x * (e * s) * s;
}

INLINE vec slope_times(vec dy, vec x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return dy * gelu_slope(x);
    case ACTIVATION_GELU_TANH:
        return dy * gelu_tanh_slope(x);
    case ACTIVATION_RELU:
        return (vec)((vec_int)dy & (x > 0.0f));
    case ACTIVATION_TANH:
        return dy * tanh_slope(x);
    case ACTIVATION_SILU:
        return dy * silu_slope(x);
    case ACTIVATION_QUICK_GELU: /* silu(1.702 x) / 1.702 */
        return dy * silu_slope(x * 1.702f);
    default:
        return dy;
    }
}

/* y = act(x) if dy is NULL, else dy act'(x). */
INLINE void activation_as(float *y, const float *dy, const float *x, size_t n, enum activation act)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, dy != NULL ? slope_times(load(dy + i), load(x + i), act)
                                : vec_activate(load(x + i), act));
    if (i == n)
        return;
    vec rest = load_part(x + i, n - i);
    rest = dy != NULL ? slope_times(load_part(dy + i, n - i), rest, act) : vec_activate(rest, act);
    store_part(y + i, rest, n - i);
}

/* Constant `act` in each call, so that the inner loop has no branch. */
INLINE void activation_any(float *y, const float *dy, const float *x, size_t n, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        activation_as(y, dy, x, n, ACTIVATION_GELU);
        break;
    case ACTIVATION_GELU_TANH:
        activation_as(y, dy, x, n, ACTIVATION_GELU_TANH);
        break;
    case ACTIVATION_RELU:
        activation_as(y, dy, x, n, ACTIVATION_RELU);
        break;
    case ACTIVATION_TANH:
        activation_as(y, dy, x, n, ACTIVATION_TANH);
        break;
    case ACTIVATION_SILU:
        activation_as(y, dy, x, n, ACTIVATION_SILU);
        break;
    case ACTIVATION_QUICK_GELU:
        activation_as(y, dy, x, n, ACTIVATION_QUICK_GELU);
        break;
    default:
        activation_as(y, dy, x, n, ACTIVATION_NONE);
    }
}

static void activate(float *y, const float *x, size_t n, enum activation act)
{
    activation_any(y, NULL, x, n, act);
}

static void activation(float *dx, const float *dy, const float *x, size_t n, enum activation act)
{
    activation_any(dx, dy, x, n, act);
}

INLINE void gate_as(float *dx, const float *dy, const float *x, size_t n, enum activation act)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec u = load(x + i), d = load(dy + i);
        store(dx + i, slope_times(d * load(x + n + i), u, act));
        store(dx + n + i, d * vec_activate(u, act));
    }
    if (i == n)
        return;
    vec u = load_part(x + i, n - i), d = load_part(dy + i, n - i);
    store_part(dx + i, slope_times(d * load_part(x + n + i, n - i), u, act), n - i);
    store_part(dx + n + i, d * vec_activate(u, act), n - i);
}

static void gate(float *dx, const float *dy, const float *x, size_t n, enum activation act)
{
    if (act == ACTIVATION_SILU)
        gate_as(dx, dy, x, n, ACTIVATION_SILU);
    else
        gate_as(dx, dy, x, n, act);
}

/* ---- softmax ---- */

static void softmax(float *ds, const float *p, const float *dp, size_t n, float scale)
{
    const float mean = dot(p, dp, n);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(ds + i, load(p + i) * scale * (load(dp + i) - mean));
    if (i < n)
        store_part(ds + i, load_part(p + i, n - i) * scale * (load_part(dp + i, n - i) - mean),
                   n - i);
}

/* ---- dropout ---- */

/* rng_hash in each lane; `spread` is index x 0x9E3779B1 + key. */
INLINE vec_uint hash_lanes(vec_uint spread)
{
    vec_uint x = spread;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x;
}

static void dropout(float *y, const float *x, size_t n, uint32_t key, uint32_t first, float rate)
{
    assert(rate >= 0 && rate < 1);
    const uint32_t threshold = backward_threshold(rate);
    const float scale = 1.0f / (1.0f - rate);
    vec_uint spread = ((vec_uint)lane_numbers + first) * 0x9E3779B1u + key;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec_int kept = (vec_int)(hash_lanes(spread) >= threshold);
        store(y + i, (vec)((vec_int)(load(x + i) * scale) & kept));
        spread += LANES * 0x9E3779B1u;
    }
    if (i == n)
        return;
    vec_int kept = (vec_int)(hash_lanes(spread) >= threshold);
    store_part(y + i, (vec)((vec_int)(load_part(x + i, n - i) * scale) & kept), n - i);
}

/* ---- the optimiser's step ---- */

/* Sums of fp32 over few numbers, added in double. */
static double square_sum(const float *x, size_t n)
{
    enum { BLOCK = 1024 };
    double total = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        total += (double)dot(x + i, x + i, count);
    }
    return total;
}

/* The coefficients of the equation in backward.h, each computed once. Decay is subtracted with the
 * step: w (1 - rate decay) would lose most of a small product's digits. */
struct adamw_factors {
    float g_scale, beta1, beta2, rest1, rest2, rate, root, eps, decay;
};

INLINE void adamw_step(float *w, float *m, float *v, const float *g, const struct adamw_factors *a,
                       size_t count)
{
    vec gradient = load_count(g, count) * a->g_scale;
    vec mean = load_count(m, count) * a->beta1 + gradient * a->rest1;
    vec square = load_count(v, count) * a->beta2 + gradient * gradient * a->rest2;
    vec weight = load_count(w, count);
    vec step = mean * a->rate / (vec_sqrt(square) * a->root + a->eps) + weight * a->decay;
    store_count(m, mean, count);
    store_count(v, square, count);
    store_count(w, weight - step, count);
}

static void adamw(float *w, float *m, float *v, const float *g, size_t n, const struct adamw *adamw)
{
    const struct adamw_factors a = {.g_scale = adamw->g_scale,
                                    .beta1 = adamw->beta1,
                                    .beta2 = adamw->beta2,
                                    .rest1 = 1.0f - adamw->beta1,
                                    .rest2 = 1.0f - adamw->beta2,
                                    .rate = adamw->rate / adamw->c1,
                                    .root = 1.0f / sqrtf(adamw->c2),
                                    .eps = adamw->eps,
                                    .decay = adamw->rate * adamw->decay};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        adamw_step(w + i, m + i, v + i, g + i, &a, LANES);
    if (i < n)
        adamw_step(w + i, m + i, v + i, g + i, &a, n - i);
}

INLINE void average_step(float *average, const float *w, float share, size_t count)
{
    vec old = load_count(average, count);
    store_count(average, old + (load_count(w, count) - old) * share, count);
}

static void moving_average(float *average, const float *w, size_t n, float decay)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        average_step(average + i, w + i, 1.0f - decay, LANES);
    if (i < n)
        average_step(average + i, w + i, 1.0f - decay, n - i);
}

const struct backward BACKWARD = {.name = NAME,
                                  .layer_norm = layer_norm,
                                  .rms_norm = rms_norm,
                                  .layer_norm_columns = layer_norm_columns,
                                  .column_sums = column_sums,
                                  .activate = activate,
                                  .activation = activation,
                                  .gate = gate,
                                  .softmax = softmax,
                                  .dropout = dropout,
                                  .square_sum = square_sum,
                                  .adamw = adamw,
                                  .moving_average = moving_average};
