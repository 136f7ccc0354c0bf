/* kernels.h - every kernel of the encoder: equation, shapes, source.
 *
 * The notation, used everywhere below and in engine/model/:
 *
 *     T  tokens of a packed batch          N  tokens of one sequence
 *     D  hidden size                       H  attention heads, d = D / H the width of one
 *     F  intermediate size of the MLP      q, k, v  query, key, value
 *
 * Matrices are row-major fp32, [rows, columns]; a row is one token. There is one implementation per
 * instruction set (simd_*.c, all from simd_body.h) and an oracle (reference.c, double
 * accumulators); the tests hold each against the oracle, and kernels_best picks one when a model is
 * opened.
 *
 * A NaN among the inputs of a result makes the result NaN, in every kernel that returns floats: an
 * overflow must reach the scores.
 *
 * Threads: kernels touch only their arguments.
 */
#ifndef ATTND_ENGINE_TENSOR_KERNELS_H
#define ATTND_ENGINE_TENSOR_KERNELS_H

#include "engine/tensor/attention_io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element-wise functions that a linear layer's epilogue can apply. hidden_act names in brackets. */
enum activation {
    ACTIVATION_NONE,
    ACTIVATION_GELU,       /* [gelu]     x Phi(x), Phi the normal distribution's CDF, by erf
                             (Hendrycks and Gimpel 2016) */
    ACTIVATION_GELU_TANH,  /* [gelu_new] x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (ibid.) */
    ACTIVATION_RELU,       /* [relu]     max(x, 0) */
    ACTIVATION_TANH,       /* BERT's pooler */
    ACTIVATION_SILU,       /* [silu]     x / (1 + e^-x) (Elfwing, Uchibe and Doya 2018) */
    ACTIVATION_QUICK_GELU, /* [quick_gelu] x / (1 + e^(-1.702 x)) (Hendrycks and Gimpel 2016,
                             section 2; CLIP) */
    ACTIVATION_COUNT
};

enum {
    OPERAND_PARTS = 3,
    OPERAND_STEP = 32,      /* of fp32 in parts: operand.h */
    ATTENTION_QUERIES = 32, /* most queries of a block */
    ATTENTION_KEYS = 144,   /* most keys of a tile: scores and queries fill half an L1 cache */
};

/* y[r, c] = act(sums[r, c] + bias[c]) + residual[r, c] over a [rows, columns] block, with
 *
 *     sums = float                                                  column_scale == NULL
 *     sums = (int32 - (zero_point + row_zero[r]) column_sum[c]) row_scale[r] column_scale[c]
 *                                                                   otherwise
 *
 * Strides are in numbers. residual may be NULL; y may be the fp32 sums or the residual. With
 * y_bf16 the result is rounded to bf16 (to nearest even) and goes there instead. Results have the
 * error of fp32, but for GELU of integer sums in y, which become bytes, and of fp32 sums in y_bf16:
 * it is below 6e-5 before the rounding. */
struct epilogue {
    float *y;
    uint16_t *y_bf16;
    size_t y_stride;
    const void *sums;
    size_t sums_stride;
    const float *row_scale, *column_scale;
    const int32_t *row_zero, *column_sum; /* a row's zero; the sum of a column's weights */
    int32_t zero_point;                   /* what the product has taken for zero in every row */
    const float *bias;
    const float *residual;
    size_t residual_stride;
    size_t rows, columns;
    enum activation act;
};

struct kernels {
    const char *name; /* "avx512", "avx2", "generic" or "reference" */

    /* y[r] = (x[r] - mean) / sqrt(variance + eps) * gamma + beta, over each row of `width` numbers,
     * with the biased variance (Ba, Kiros and Hinton 2016, eq. 4); rows are `*_stride` numbers
     * apart. y may be x. A row whose variance is beyond fp32 becomes NaN.
     * Cost: one read, one write, 5 flops a number. */
    void (*layer_norm)(float *y, size_t y_stride, const float *x, size_t x_stride,
                       const float *gamma, const float *beta, size_t rows, size_t width, float eps);

    /* y[r] = x[r] / sqrt(mean of squares + eps) * gamma (Zhang and Sennrich 2019, eq. 4); else as
     * layer_norm. Cost: one read, one write, 3 flops a number. */
    void (*rms_norm)(float *y, size_t y_stride, const float *x, size_t x_stride, const float *gamma,
                     size_t rows, size_t width, float eps);

    /* Bias, activation and residual after a product, see struct epilogue. */
    void (*epilogue)(const struct epilogue *epilogue);

    /* y[i] = act(x[i]) x[n + i], i < n: the gate of a gated MLP (Shazeer 2020, eq. 6). y may be x.
     * Cost: two reads, one write. */
    void (*gate)(float *y, const float *x, size_t n, enum activation act);

    /* Rotary positions (Su et al. 2021, eq. 34): rotates each of `heads` heads side by side, of d =
     * 2 h numbers, in place. `turn` holds the h cosines c and then the h sines s of the angles.
     * direction 1: forwards; -1: back, which is also the gradient:
     *     (x[i], x[h + i]) = (x[i] c[i] - x[h + i] s[i], x[h + i] c[i] + x[i] s[i]),  i < h
     * rotate_bf16 computes in fp32 and rounds once. Cost: one read, one write, 3 flops a number. */
    void (*rotate)(float *x, const float *turn, size_t heads, size_t d, float direction);
    void (*rotate_bf16)(uint16_t *x, const float *turn, size_t heads, size_t d);

    /* max |x[i]|, n >= 1; NaN if one of them is NaN. */
    float (*max_abs)(const float *x, size_t n);
    /* low = min(0, x[i]), high = max(0, x[i]); both NaN if one of them is NaN. */
    void (*range)(float *low, float *high, const float *x, size_t n);
    /* q[i] = round(x[i] inverse) + 128 + zero, ties to even; it must lie in 0..255. */
    void (*quantize)(uint8_t *q, const float *x, size_t n, float inverse, int zero);
    /* bf16, rounded to nearest, ties to even. */
    void (*round_bf16)(uint16_t *out, const float *x, size_t n);
    /* Three bf16 whose sum is x[i], each the upper bits that are left: number 0 to out[0], out[32]
     * and out[64], each 32 numbers 96 further (operand.h: parts). Zeros may follow the last number,
     * to the end of its 32. */
    void (*cut_f32)(uint16_t *out, const float *x, size_t n);
    /* pairs[i] = low[i] in its lower half and high[i] in its upper one, both rounded so. */
    void (*pair_bf16)(uint32_t *pairs, const float *low, const float *high, size_t n);

    /* p[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x), n >= 1. p may be x. */
    void (*softmax)(float *p, const float *x, size_t n);
    /* Returns l = log sum_j exp(x[j] - max x), n >= 1: x[i] - max - l is the log-probability of i.
     * NaN if one of them is NaN or plus infinity, or all are minus infinity. Cost: two reads. */
    float (*log_sum)(float *max, const float *x, size_t n);
    /* The least i >= from with x[i] > bound; n if there is none. Cost: one read. */
    size_t (*next_above)(const float *x, size_t from, size_t n, float bound);

    /* One head of scaled dot-product attention for a block of queries (Vaswani et al. 2017, eq. 1;
     * computed tile by tile over the keys with a running maximum and sum: Milakov and Gimelshein
     * 2018, Dao et al. 2022):
     *     out[i] = sum_j softmax_j(q[i] . k[j] / sqrt(d) + b[i, j]) v[j]
     * for i < count and j < n. scratch: attention_scratch(d) floats. A query's result does not
     * depend on its block. Cost: 4 count n d flops, and with a bias one read and one multiply-add a
     * score. If the bias has global_rows, the softmax has n + 1 keys: row -global_rows of k and v,
     * then the n. */
    void (*attention)(const struct attention_io *io);

    /* The probabilities of a block of queries, averaged over heads that lie side by side, for
     * attention rollout (Abnar and Zuidema 2020, section 3):
     *     out[i, j] = 1/heads sum_h softmax_j(q_h[i] . k_h[j] / sqrt(d) + b[h, i, j])
     * scratch: attention_mean_scratch(n, d) floats. With global_rows `out` and the scratch are for
     * n + 1 keys. Cost: 2 count n d heads flops, and as many exponentials as numbers. */
    void (*attention_mean)(const struct attention_io *io);

    /* Attention of one query to keys that need not lie one behind the other, for heads side by
     * side: a step of a decoder (see struct decode_io).
     *     out[h] = sum_j p[h, j] v_h[row j],   p[h] = softmax_j(q_h . k_h[row j] + b[h, n - 1 - j])
     * p is left in `scores`. A head's result does not depend on the others. Cost: 4 n d heads
     * flops; keys and values are read once. */
    void (*attention_decode)(const struct decode_io *io);
};

/* Floats of scratch that `attention` needs for heads of width d. */
size_t attention_scratch(size_t d);
/* Floats of scratch that `attention_mean` needs for n keys. */
size_t attention_mean_scratch(size_t n, size_t d);

extern const struct kernels kernels_avx512;
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_generic;
extern const struct kernels kernels_reference;

/* The fastest implementation that this CPU can run. */
const struct kernels *kernels_best(void);

/* Returns true if this CPU can run it. */
bool kernels_runnable(const struct kernels *kernels);

#endif
