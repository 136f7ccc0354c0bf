/* reference.c - the oracle: the equations of kernels.h as naive loops with double accumulators.
 * Slow on purpose; the tests hold every fast kernel against it. */
#include "engine/tensor/kernels.h"

#include <math.h>
#include <string.h>

static void layer_norm(float *y, size_t y_stride, const float *x, size_t x_stride,
                       const float *gamma, const float *beta, size_t rows, size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++, x += x_stride, y += y_stride) {
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

static void rms_norm(float *y, size_t y_stride, const float *x, size_t x_stride, const float *gamma,
                     size_t rows, size_t width, float eps)
{
    for (size_t r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        double squares = 0;
        for (size_t c = 0; c < width; c++)
            squares += (double)x[c] * x[c];
        for (size_t c = 0; c < width; c++)
            y[c] = (float)(x[c] / sqrt(squares / (double)width + eps) * gamma[c]);
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
        return x <= 0 ? 0 : x;
    case ACTIVATION_TANH:
        return tanh(x);
    case ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ACTIVATION_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    default:
        return x;
    }
}

/* Rounds to the nearer neighbour in bf16, to the even one on a tie. The neighbours are the
 * truncated bits and one more. */
static void round_bf16(uint16_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint32_t cut = bits & 0xFFFF, kept = bits >> 16;
        bool up = cut > 0x8000 || (cut == 0x8000 && kept % 2 == 1);
        out[i] = (uint16_t)(kept + up);
    }
}

static void cut_f32(uint16_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float rest = x[i];
        for (unsigned part = 0; part < 3; part++) {
            uint32_t bits;
            float upper;
            memcpy(&bits, &rest, sizeof bits);
            out[i / 32 * 96 + 32 * part + i % 32] = (uint16_t)(bits >> 16);
            bits &= 0xFFFF0000;
            memcpy(&upper, &bits, sizeof upper);
            rest -= upper;
        }
    }
}

static float widen_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static void pair_bf16(uint32_t *pairs, const float *low, const float *high, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t halves[2];
        round_bf16(&halves[0], &low[i], 1);
        round_bf16(&halves[1], &high[i], 1);
        pairs[i] = halves[0] | (uint32_t)halves[1] << 16;
    }
}

static double sum_of(const struct epilogue *e, size_t r, size_t c)
{
    size_t i = r * e->sums_stride + c;
    if (e->column_scale == NULL)
        return ((const float *)e->sums)[i];
    int32_t whole =
        ((const int32_t *)e->sums)[i] - (e->zero_point + e->row_zero[r]) * e->column_sum[c];
    return (double)whole * e->row_scale[r] * e->column_scale[c];
}

static void epilogue(const struct epilogue *e)
{
    for (size_t r = 0; r < e->rows; r++)
        for (size_t c = 0; c < e->columns; c++) {
            double value = activate(sum_of(e, r, c) + e->bias[c], e->act);
            double residual = e->residual != NULL ? e->residual[r * e->residual_stride + c] : 0;
            float y = (float)(value + residual);
            if (e->y_bf16 != NULL)
                round_bf16(&e->y_bf16[r * e->y_stride + c], &y, 1);
            else
                e->y[r * e->y_stride + c] = y;
        }
}

static void gate(float *y, const float *x, size_t n, enum activation act)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(activate(x[i], act) * x[n + i]);
}

static void rotate(float *x, const float *turn, size_t heads, size_t d, float direction)
{
    for (size_t head = 0, half = d / 2; head < heads; head++, x += d)
        for (size_t i = 0; i < half; i++) {
            double low = x[i], high = x[half + i], sine = (double)direction * turn[half + i];
            x[i] = (float)(low * turn[i] - high * sine);
            x[half + i] = (float)(high * turn[i] + low * sine);
        }
}

static void rotate_bf16(uint16_t *x, const float *turn, size_t heads, size_t d)
{
    for (size_t head = 0, half = d / 2; head < heads; head++, x += d)
        for (size_t i = 0; i < half; i++) {
            float turned[2], pair[2] = {widen_bf16(x[i]), widen_bf16(x[half + i])};
            const float angle[2] = {turn[i], turn[half + i]};
            memcpy(turned, pair, sizeof turned);
            rotate(turned, angle, 1, 2, 1);
            round_bf16(&x[i], &turned[0], 1);
            round_bf16(&x[half + i], &turned[1], 1);
        }
}

static float max_abs(const float *x, size_t n)
{
    float max = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return NAN;
        max = fmaxf(max, fabsf(x[i]));
    }
    return max;
}

static void range(float *low, float *high, const float *x, size_t n)
{
    *low = *high = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            *low = *high = NAN;
            return;
        }
        *low = fminf(*low, x[i]);
        *high = fmaxf(*high, x[i]);
    }
}

static void quantize(uint8_t *q, const float *x, size_t n, float inverse, int zero)
{
    for (size_t i = 0; i < n; i++)
        q[i] = (uint8_t)(lrintf(x[i] * inverse) + 128 + zero);
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

static float log_sum(float *max, const float *x, size_t n)
{
    double total = 0;
    *max = x[0];
    for (size_t i = 0; i < n; i++)
        *max = x[i] > *max ? x[i] : *max;
    for (size_t i = 0; i < n; i++)
        total += exp((double)x[i] - (double)*max);
    return (float)log(total);
}

static size_t next_above(const float *x, size_t from, size_t n, float bound)
{
    while (from < n && !(x[from] > bound))
        from++;
    return from;
}

static double dot(const float *a, const float *b, size_t n)
{
    double total = 0;
    for (size_t c = 0; c < n; c++)
        total += (double)a[c] * b[c];
    return total;
}

/* Counts the keys: n, and the global key if there is one. */
static size_t count_keys(const struct attention_bias *bias, size_t n)
{
    return n + (bias->global_rows > 0);
}

/* Returns the offset of key number j from the first key; the global key is number 0. */
static ptrdiff_t key_at(const struct attention_bias *bias, size_t j, size_t stride)
{
    if (bias->global_rows == 0)
        return (ptrdiff_t)(j * stride);
    return j == 0 ? -(ptrdiff_t)(bias->global_rows * stride) : (ptrdiff_t)((j - 1) * stride);
}

/* Returns one query's score of key number j; the bias is that query's. */
static double score(const float *q, const float *k, size_t stride, size_t d,
                    const struct attention_bias *bias, size_t j)
{
    double plain = dot(q, k + key_at(bias, j, stride), d) / sqrt((double)d);
    size_t front = bias->global_rows > 0;
    if (bias->at == NULL || j < front)
        return plain;
    return plain + (double)*attention_bias_key(bias, j - front);
}

/* Returns the bias of one head and query; no bias: an empty one. */
static struct attention_bias bias_of(const struct attention_bias *bias, size_t head, size_t query)
{
    return bias->at != NULL ? attention_bias_at(bias, head, query) : *bias;
}

/* Computes one query. The scores are computed twice: the scratch holds out[i], not them. */
static void attention(const struct attention_io *io)
{
    const size_t stride = io->kv_stride;
    double *total = (void *)io->scratch;
    for (size_t i = 0; i < io->count; i++) {
        const float *q = (const float *)io->q + i * io->q_stride;
        const struct attention_bias bias = bias_of(&io->bias, 0, i);
        double max = -INFINITY, sum = 0;
        for (size_t j = 0; j < count_keys(&bias, io->n); j++)
            max = fmax(max, score(q, io->k, stride, io->d, &bias, j));
        for (size_t c = 0; c < io->d; c++)
            total[c] = 0;
        for (size_t j = 0; j < count_keys(&bias, io->n); j++) {
            const float *value = (const float *)io->v + key_at(&bias, j, stride);
            double p = exp(score(q, io->k, stride, io->d, &bias, j) - max);
            sum += p;
            for (size_t c = 0; c < io->d; c++)
                total[c] += p * value[c];
        }
        for (size_t c = 0; c < io->d; c++)
            io->out[i * io->out_stride + c] = (float)(total[c] / sum);
    }
}

/* out[j] += softmax_j of one query and head, over `heads`. */
static void add_softmax(float *out, const float *q, const float *k, size_t stride, size_t n,
                        size_t d, size_t heads, const struct attention_bias *bias, double *scores)
{
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < count_keys(bias, n); j++) {
        scores[j] = score(q, k, stride, d, bias, j);
        max = fmax(max, scores[j]);
    }
    for (size_t j = 0; j < count_keys(bias, n); j++)
        sum += exp(scores[j] - max);
    for (size_t j = 0; j < count_keys(bias, n); j++)
        out[j] += (float)(exp(scores[j] - max) / sum / (double)heads);
}

/* The scratch holds one row of scores. */
static void attention_mean(const struct attention_io *io)
{
    for (size_t i = 0; i < io->count; i++) {
        const float *q = (const float *)io->q + i * io->q_stride;
        float *out = io->out + i * io->out_stride;
        for (size_t j = 0; j < count_keys(&io->bias, io->n); j++)
            out[j] = 0;
        for (size_t h = 0; h < io->heads; h++) {
            const struct attention_bias bias = bias_of(&io->bias, h, i);
            add_softmax(out, q + h * io->d, (const float *)io->k + h * io->d, io->kv_stride, io->n,
                        io->d, io->heads, &bias, (void *)io->scratch);
        }
    }
}

static void attention_decode(const struct decode_io *io)
{
    for (size_t h = 0; h < io->heads; h++) {
        float *p = io->scores + h * io->scores_step;
        for (size_t j = 0; j < io->n; j++) {
            const size_t row = io->slots != NULL ? io->slots[j] : j;
            const double bias =
                io->bias != NULL ? (double)io->bias[h * io->bias_step + io->n - 1 - j] : 0;
            p[j] = (float)(dot(io->q + h * io->d, io->k + row * io->kv_stride + h * io->d, io->d) +
                           bias);
        }
        softmax(p, p, io->n);
        for (size_t c = 0; c < io->d; c++) {
            double total = 0;
            for (size_t j = 0; j < io->n; j++)
                total +=
                    (double)p[j] *
                    io->v[(io->slots != NULL ? io->slots[j] : j) * io->kv_stride + h * io->d + c];
            io->out[h * io->d + c] = (float)total;
        }
    }
}

const struct kernels kernels_reference = {.name = "reference",
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
