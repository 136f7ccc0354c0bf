/* global_token.h - a first token that attends to all others by projections of its own, while the
 * others see what is near them and this one (Beltagy, Peters and Cohan 2020, section 3.1, "Global
 * Attention", as LongformerForSequenceClassification has it for [CLS]).
 *
 * Of head h, with x [N, D] what the layer reads and q = W_q x_0 + b_q:
 *
 *     out = sum_j p_j (W_v x_j + b_v)         p = softmax_j(q . (W_k x_j + b_k) / sqrt(d))
 *
 * No token needs a key or a value for it: with u = W_k^T q, of D numbers,
 *
 *     q . (W_k x_j + b_k) = u . x_j + q . b_k            the same for all j: softmax takes it away
 *     out = W_v (sum_j p_j x_j) + b_v                    for the p_j sum to one
 *
 * so that the H heads are H queries u of one attention over keys and values x, of width D. Cost:
 * 4 N D H flops and 6 D^2 for the projections, where keys and values of all tokens are 4 N D^2. It
 * is fp32 in encoders of every precision.
 *
 * What the others do to see it is attention_bias.h's key in front. Threads: pure functions; scratch
 * is the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_GLOBAL_TOKEN_H
#define ATTND_ENGINE_TENSOR_GLOBAL_TOKEN_H

#include "engine/tensor/kernels.h"

#include <stddef.h>

struct plain_linear {
    float *weight, *bias; /* [D, D], [D] */
};

/* The key's bias is part of a checkpoint, but of no result. */
struct global_projections {
    struct plain_linear query, key, value;
};

struct global_token {
    const struct kernels *kernels;
    const struct global_projections *projections;
    const float *x; /* [N, D], 64-byte aligned rows `stride` floats apart */
    size_t stride, tokens, heads, hidden;
};

/* Floats of 64-byte aligned scratch; for rows of at most so many tokens, or 0. */
size_t global_token_scratch(size_t heads, size_t hidden, size_t tokens);

/* out [D]: what the token's row of attention is, before the projection of the output. */
void global_token_attend(const struct global_token *token, float *out, float *scratch);

/* out [count][N]: what heads `head` to head + count - 1, at most ATTENTION_QUERIES, attend to. */
void global_token_rows(const struct global_token *token, size_t head, size_t count, float *out,
                       float *scratch);

#endif
