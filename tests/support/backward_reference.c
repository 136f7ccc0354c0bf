/* backward_reference.c - the oracle: the equations of backward.h as naive loops with double
 * accumulators. Slow on purpose; the tests hold every fast gradient against it, and it against
 * finite differences of kernels_reference. */
#include "tests/support/backward_reference.h"

#include "engine/base/rng.h"

#include <assert.h>
#include <math.h>

static void norm_stats(float *stats, const float *x, size_t width, float eps, bool is_rms)
{
    double mean = 0, variance = 0;
    for (size_t c = 0; c < width && !is_rms; c++)
        mean += x[c];
    mean /= (double)width;
    for (size_t c = 0; c < width; c++)
        variance += (x[c] - mean) * (x[c] - mean);
    variance /= (double)width;
    stats[0] = (float)mean;
    stats[1] = (float)(1 / sqrt(variance + eps));
}

static void norm_row(float *dx, const float *stats, const float *dy, const float *x,
                     const float *gamma, const float *residual, size_t width, bool is_rms)
{
    const double mean = stats[0], rstd = stats[1];
    double mean_e = 0, mean_eh = 0;
    for (size_t c = 0; c < width; c++) {
        double e = (double)dy[c] * gamma[c];
        mean_e += is_rms ? 0 : e / (double)width;
        mean_eh += e * (x[c] - mean) * rstd / (double)width;
    }
    for (size_t c = 0; c < width; c++) {
        double e = (double)dy[c] * gamma[c], h = (x[c] - mean) * rstd;
        double value = rstd * (e - mean_e - h * mean_eh);
        dx[c] = (float)(residual != NULL ? value + residual[c] : value);
    }
}

static void layer_norm(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                       const float *x, size_t x_stride, const float *gamma, const float *residual,
                       size_t residual_stride, size_t rows, size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++) {
        const float *rest = residual != NULL ? residual + r * residual_stride : NULL;
        norm_stats(stats + 2 * r, x + r * x_stride, width, eps, false);
        norm_row(dx + r * dx_stride, stats + 2 * r, dy + r * dy_stride, x + r * x_stride, gamma,
                 rest, width, false);
    }
}

static void rms_norm(float *dx, size_t dx_stride, float *stats, const float *dy, size_t dy_stride,
                     const float *x, size_t x_stride, const float *gamma, const float *residual,
                     size_t residual_stride, size_t rows, size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++) {
        const float *rest = residual != NULL ? residual + r * residual_stride : NULL;
        norm_stats(stats + 2 * r, x + r * x_stride, width, eps, true);
        norm_row(dx + r * dx_stride, stats + 2 * r, dy + r * dy_stride, x + r * x_stride, gamma,
                 rest, width, true);
    }
}

static void layer_norm_columns(float *dgamma, float *dbeta, const float *dy, size_t dy_stride,
                               const float *x, size_t x_stride, const float *stats, size_t rows,
                               size_t first, size_t last)
{
    for (size_t c = first; c < last; c++) {
        double gamma = 0, beta = 0;
        for (size_t r = 0; r < rows; r++) {
            double h = ((double)x[r * x_stride + c] - stats[2 * r]) * stats[2 * r + 1];
            gamma += dy[r * dy_stride + c] * h;
            beta += dy[r * dy_stride + c];
        }
        dgamma[c] = (float)(dgamma[c] + gamma);
        dbeta[c] = (float)(dbeta[c] + beta);
    }
}

static void column_sums(float *sum, const float *x, size_t x_stride, size_t rows, size_t first,
                        size_t last)
{
    for (size_t c = first; c < last; c++) {
        double total = 0;
        for (size_t r = 0; r < rows; r++)
            total += x[r * x_stride + c];
        sum[c] = (float)(sum[c] + total);
    }
}

/* The forward oracle's activation: an epilogue over one column. */
static void activate(float *y, const float *x, size_t n, enum activation act)
{
    const float zero = 0;
    const struct epilogue epilogue = {.y = y,
                                      .y_stride = 1,
                                      .sums = x,
                                      .sums_stride = 1,
                                      .bias = &zero,
                                      .rows = n,
                                      .columns = 1,
                                      .act = act};
    kernels_reference.epilogue(&epilogue);
}

static double silu_slope(double x)
{
    double above = 1 / (1 + exp(-x)), below = 1 / (1 + exp(x));
    return above + x * above * below;
}

static double slope(double x, enum activation act)
{
    const double pi = acos(-1);
    switch (act) {
    case ACTIVATION_GELU:
        return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * pi);
    case ACTIVATION_GELU_TANH: {
        double u = sqrt(2 / pi) * (x + 0.044715 * x * x * x);
        double du = sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
        double above = 1 / (1 + exp(-2 * u)), below = 1 / (1 + exp(2 * u)); /* (1 +- tanh u) / 2 */
        return above + 2 * x * above * below * du;
    }
    case ACTIVATION_RELU:
        return x > 0 ? 1 : 0;
    case ACTIVATION_TANH:
        return 1 / (cosh(x) * cosh(x));
    case ACTIVATION_SILU:
        return silu_slope(x);
    case ACTIVATION_QUICK_GELU:
        return silu_slope(1.702 * x);
    default:
        return 1;
    }
}

static void activation(float *dx, const float *dy, const float *x, size_t n, enum activation act)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = (float)(dy[i] * slope(x[i], act));
}

static void gate(float *dx, const float *dy, const float *x, size_t n, enum activation act)
{
    for (size_t i = 0; i < n; i++) {
        float value;
        activate(&value, &x[i], 1, act);
        dx[i] = (float)((double)dy[i] * x[n + i] * slope(x[i], act));
        dx[n + i] = (float)((double)dy[i] * value);
    }
}

static void softmax(float *ds, const float *p, const float *dp, size_t n, float scale)
{
    double mean = 0;
    for (size_t j = 0; j < n; j++)
        mean += (double)p[j] * dp[j];
    for (size_t i = 0; i < n; i++)
        ds[i] = (float)(scale * (p[i] * (dp[i] - mean)));
}

static void dropout(float *y, const float *x, size_t n, uint32_t key, uint32_t first, float rate)
{
    assert(rate >= 0 && rate < 1);
    const uint32_t threshold = backward_threshold(rate);
    const float scale = 1.0f / (1.0f - rate);
    for (size_t i = 0; i < n; i++)
        y[i] = rng_hash(key, first + (uint32_t)i) >= threshold ? x[i] * scale : 0;
}

static double square_sum(const float *x, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)x[i] * x[i];
    return total;
}

static void adamw(float *w, float *m, float *v, const float *g, size_t n, const struct adamw *adamw)
{
    const double beta1 = adamw->beta1, beta2 = adamw->beta2;
    for (size_t i = 0; i < n; i++) {
        double gradient = (double)g[i] * adamw->g_scale;
        double mean = beta1 * m[i] + (1 - beta1) * gradient;
        double square = beta2 * v[i] + (1 - beta2) * gradient * gradient;
        double step = mean / adamw->c1 / (sqrt(square / adamw->c2) + adamw->eps);
        m[i] = (float)mean;
        v[i] = (float)square;
        w[i] = (float)(w[i] - adamw->rate * (step + adamw->decay * (double)w[i]));
    }
}

static void moving_average(float *average, const float *w, size_t n, float decay)
{
    for (size_t i = 0; i < n; i++)
        average[i] = (float)(average[i] + (1.0 - decay) * ((double)w[i] - average[i]));
}

const struct backward backward_reference = {.name = "reference",
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
