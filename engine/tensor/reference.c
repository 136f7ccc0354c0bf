/* reference.c - the oracle: the equations of kernels.h as naive loops with double accumulators.
 * Slow on purpose; the tests hold every fast kernel against it. */
#include "engine/tensor/kernels.h"

#include <math.h>

static void layer_norm(float *y, const float *x, const float *gamma, const float *beta, size_t rows,
                       size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++, x += width, y += width) {
        double mean = 0, variance = 0;
        for (size_t c = 0; c < width; c++)
            mean += x[c];
        mean /= (double)width;
        for (size_t c = 0; c < width; c++)
            variance += (x[c] - mean) * (x[c] - mean);
        variance /= (double)width;
        for (size_t c = 0; c < width; c++)
            y[c] = (float)((x[c] - mean) / sqrt(variance + eps) * gamma[c] + beta[c]);
    }
}

static double activate(double x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_TANH:
        return tanh(x);
    default:
        return x;
    }
}

static void epilogue(float *y, const float *bias, const float *residual, size_t rows,
                     size_t columns, size_t stride, enum activation act)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            double value = activate((double)y[r * stride + c] + bias[c], act);
            y[r * stride + c] = (float)(residual ? value + residual[r * stride + c] : value);
        }
}

static void softmax(float *p, const float *x, size_t n)
{
    double max = x[0], total = 0;
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (size_t i = 0; i < n; i++)
        total += exp(x[i] - max);
    for (size_t i = 0; i < n; i++)
        p[i] = (float)(exp(x[i] - max) / total);
}

static double dot(const float *a, const float *b, size_t n)
{
    double total = 0;
    for (size_t c = 0; c < n; c++)
        total += (double)a[c] * b[c];
    return total;
}

/* The scores are computed twice, so that the scratch need not hold them: it holds out[i]. */
static void attention_row(float *out, const float *q, const float *k, const float *v, size_t stride,
                          size_t n, size_t d, double *total)
{
    const double scale = 1 / sqrt((double)d);
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        max = fmax(max, dot(q, k + j * stride, d) * scale);
    for (size_t c = 0; c < d; c++)
        total[c] = 0;
    for (size_t j = 0; j < n; j++) {
        double p = exp(dot(q, k + j * stride, d) * scale - max);
        sum += p;
        for (size_t c = 0; c < d; c++)
            total[c] += p * v[j * stride + c];
    }
    for (size_t c = 0; c < d; c++)
        out[c] = (float)(total[c] / sum);
}

static void attention(float *out, size_t out_stride, const float *q, const float *k, const float *v,
                      size_t stride, size_t count, size_t n, size_t d, float *scratch)
{
    for (size_t i = 0; i < count; i++)
        attention_row(out + i * out_stride, q + i * stride, k, v, stride, n, d, (void *)scratch);
}

const struct kernels kernels_reference = {.name = "reference",
                                          .layer_norm = layer_norm,
                                          .epilogue = epilogue,
                                          .softmax = softmax,
                                          .attention = attention};
