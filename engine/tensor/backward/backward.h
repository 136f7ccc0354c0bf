/* backward.h - the gradient of every row-wise kernel, beside the equation of its forward pass, and
 * the optimiser's step. The counterpart of kernels.h, whose notation is used.
 *
 * L is the loss; dx stands for dL/dx. A backward kernel overwrites its whole output, unless its
 * equation has `+=`. There is one implementation per instruction set (backward_*.c, all from
 * backward_body.h). Tests hold each against an oracle with double accumulators
 * (tests/support/backward_reference.c), and the oracle against finite differences of
 * kernels_reference.
 *
 * Sums over rows are cut by columns between threads, never by rows, so that a gradient does not
 * depend on the number of threads.
 *
 * Threads: kernels touch only their arguments.
 */
#ifndef ATTND_ENGINE_TENSOR_BACKWARD_BACKWARD_H
#define ATTND_ENGINE_TENSOR_BACKWARD_BACKWARD_H

#include "engine/tensor/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* AdamW (Loshchilov and Hutter 2019, algorithm 2), step t = 1, 2, ...:
 *     m = beta1 m + (1 - beta1) g             v = beta2 v + (1 - beta2) g^2
 *     w = w - rate (m / c1 / (sqrt(v / c2) + eps) + decay w),   c1 = 1 - beta1^t, c2 = 1 - beta2^t
 * where g is first multiplied with g_scale (clipping, and the mean over micro-batches). */
struct adamw {
    float rate, beta1, beta2, eps, decay;
    float c1, c2;
    float g_scale;
};

struct backward {
    const char *name; /* "avx512", "avx2" or "generic" */

    /* y = (x - mean) rstd gamma + beta (kernels.layer_norm). With h = (x - mean) rstd and
     * e = dy gamma, means over the row:
     *     dx = rstd (e - mean(e) - h mean(e h)) + residual
     * residual may be NULL and may be dx; dx may be dy. Writes mean and rstd of each row to stats
     * [rows, 2] for layer_norm_columns. */
    void (*layer_norm)(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                       const float *x, size_t x_stride, const float *gamma, const float *residual,
                       size_t residual_stride, size_t rows, size_t width, float eps);
    /* y = x rstd gamma (kernels.rms_norm; Zhang and Sennrich 2019). With h = x rstd:
     *     dx = rstd (e - h mean(e h)) + residual
     * else as layer_norm; the means in stats are 0, so that layer_norm_columns gives dgamma. */
    void (*rms_norm)(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                     const float *x, size_t x_stride, const float *gamma, const float *residual,
                     size_t residual_stride, size_t rows, size_t width, float eps);
    /* dgamma[c] += sum_r dy[r, c] h[r, c];  dbeta[c] += sum_r dy[r, c];  first <= c < last. */
    void (*layer_norm_columns)(float *dgamma, float *dbeta, const float *dy, size_t dy_stride,
                               const float *x, size_t x_stride, const float *stats, size_t rows,
                               size_t first, size_t last);

    /* sum[c] += sum_r x[r, c], first <= c < last: a linear layer's dbias. */
    void (*column_sums)(float *sum, const float *x, size_t x_stride, size_t rows, size_t first,
                        size_t last);

    /* y[i] = act(x[i]), and dx[i] = dy[i] act'(x[i]): dx may be dy. GELU' = Phi(x) + x phi(x);
     * tanh' and the tanh GELU's by the chain rule; relu'(0) = 0. */
    void (*activate)(float *y, const float *x, size_t n, enum activation act);
    void (*activation)(float *dx, const float *dy, const float *x, size_t n, enum activation act);

    /* y[i] = act(x[i]) x[n + i] (kernels.gate), with u = x[i] and v = x[n + i]:
     *     dx[i] = dy[i] v act'(u)         dx[n + i] = dy[i] act(u)
     * dx [2 n] is neither x nor dy. */
    void (*gate)(float *dx, const float *dy, const float *x, size_t n, enum activation act);

    /* p = softmax(s): ds[i] = scale p[i] (dp[i] - sum_j p[j] dp[j]); ds may be dp. */
    void (*softmax)(float *ds, const float *p, const float *dp, size_t n, float scale);

    /* Dropout (Srivastava et al. 2014, inverted): y[i] = keep(key, first + i) x[i] / (1 - rate)
     * keep is true with probability 1 - rate, 0 <= rate < 1: if rng_hash(key, first + i) is at
     * least backward_threshold(rate). The backward pass is the same call on the gradient and draws
     * the same mask. y may be x. */
    void (*dropout)(float *y, const float *x, size_t n, uint32_t key, uint32_t first, float rate);

    /* sum_i x[i]^2 over at most 2^20 numbers, for the norm of the gradient. */
    double (*square_sum)(const float *x, size_t n);
    void (*adamw)(float *w, float *m, float *v, const float *g, size_t n,
                  const struct adamw *adamw);
    /* average[i] += (1 - decay) (w[i] - average[i]) (Polyak and Juditsky 1992). */
    void (*moving_average)(float *average, const float *w, size_t n, float decay);
};

extern const struct backward backward_avx512;
extern const struct backward backward_avx2;
extern const struct backward backward_generic;

/* Returns how many of the 2^32 hashes are dropped. */
static inline uint32_t backward_threshold(float rate)
{
    return (uint32_t)((double)rate * 4294967296.0);
}

/* The fastest implementation that this CPU can run. */
const struct backward *backward_best(void);

#endif
