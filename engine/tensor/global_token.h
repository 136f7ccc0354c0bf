/* global_token.h - a first token that attends to all others by projections of its own, while the
 * others see this token and those near them (Beltagy, Peters and Cohan 2020, section 3.1, "Global
 * Attention"; LongformerForSequenceClassification makes [CLS] global).
 *
 * For head h, with the layer's input x [N, D] and q = W_q x_0 + b_q:
 *
 *     out = sum_j p_j (W_v x_j + b_v)         p = softmax_j(q . (W_k x_j + b_k) / sqrt(d))
 *
 * No token needs a key or a value for it: with u = W_k^T q, of D numbers,
 *
 *     q . (W_k x_j + b_k) = u . x_j + q . b_k            q . b_k is equal for all j: softmax drops
 * it
 *     out = W_v (sum_j p_j x_j) + b_v                    because the p_j sum to one
 *
 * so the H heads are H queries u of one attention over keys and values x, of width D. Cost: 4 N D H
 * flops, and 6 D^2 for the projections; keys and values of all tokens would cost 4 N D^2. It is
 * fp32 in encoders of every precision.
 *
 * The other tokens see it as the global key of attention_io.h. Threads: pure functions; scratch
 * is the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_GLOBAL_TOKEN_H
#define ATTND_ENGINE_TENSOR_GLOBAL_TOKEN_H

#include "engine/tensor/kernels.h"

#include <stddef.h>

struct plain_linear {
    float *weight, *bias; /* [D, D], [D] */
};

/* The key's bias is in the checkpoint, but changes no result. */
struct global_projections {
    struct plain_linear query, key, value;
};

struct global_token {
    const struct kernels *kernels;
    const struct global_projections *projections;
    const float *x; /* [N, D], 64-byte aligned rows `stride` floats apart */
    size_t stride, tokens, heads, hidden;
};

/* Floats of 64-byte aligned scratch. tokens: most tokens of global_token_rows; 0: it is not
 * used. */
size_t global_token_scratch(size_t heads, size_t hidden, size_t tokens);

/* out [D]: the token's context, before the projection of the output. */
void global_token_attend(const struct global_token *token, float *out, float *scratch);

/* out [count][N]: probabilities of heads `head` to head + count - 1, at most ATTENTION_QUERIES. */
void global_token_rows(const struct global_token *token, size_t head, size_t count, float *out,
                       float *scratch);

#endif
