/* attention_train.h - one head of attention with its gradient, for training.
 *
 * Forward, for m queries over the n tokens of a sequence (kernels.h: attention), with dropout D on
 * the probabilities (Vaswani et al. 2017, section 5.4; the mask as backward.h's dropout):
 *
 *     S = Q K^T / sqrt(d) + B     P = softmax(S) by rows     O = D(P) V
 *
 * Backward, from dO (P is computed again: n x m numbers a head are cheaper to make than to keep):
 *
 *     dV += D(P)^T dO     dP = D(dO V^T) + dR/dP     dS = P (dP - rowsum(P dP)) / sqrt(d)
 *     dQ = dS K           dK += dS^T Q     dB += sqrt(d) dS
 *
 * R is the regulariser on attention, summed over heads and queries, with its two weights:
 *
 *     R = entropy x (-sum_j P_j log P_j) + sparsity x (1 - sum_j P_j^2)
 *
 * (positive weights make attention sharper, negative ones broader).
 *
 * The products are gemm.h's tiles, in fp32 or with factors rounded to bf16; softmax, dropout and
 * all sums are fp32. Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_BACKWARD_ATTENTION_TRAIN_H
#define ATTND_ENGINE_TENSOR_BACKWARD_ATTENTION_TRAIN_H

#include "engine/tensor/backward/backward.h"
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of a head's queries and keys in a longer sequence of `tokens` tokens: a number of the
 * dropout mask depends on query and key only, not on how the sequence is cut. */
struct attention_train_mask {
    size_t first_query, first_key, tokens; /* 0 tokens: the head is the whole, of n keys */
};

struct attention_train {
    const struct kernels *kernels;
    const struct backward *backward;
    const struct gemm *gemm; /* fp32 or bf16 */
    const float *q;          /* [m, d], rows q_stride floats apart */
    size_t q_stride, m;
    const float *k, *v; /* [n, d] each */
    size_t kv_stride, n;
    size_t d;
    unsigned terms;   /* terms of a score, B holds the others: Q K^T / sqrt(terms d); 0: one */
    bool is_unscaled; /* Q K^T is not divided (Raffel et al. 2020, section 2.1) */
    float dropout;    /* rate; 0: none */
    uint32_t key;     /* key of this head's mask: index i n + j for query i and key j */
    struct attention_train_mask mask; /* with tokens: (first_query + i) tokens + first_key + j */
    float entropy, sparsity;
    /* B at this head and its first query; NULL: none. With global_rows, key 0 is the global key, in
     * front of the bias' keys: it gets no bias, and in the mask it is the sequence's key 0. */
    const struct attention_bias *bias;
    float *dbias; /* laid out like the bias, at the same place; NULL: not computed */
};

/* Floats of 64-byte aligned scratch for either pass, for m <= queries_max and n <= tokens_max. */
size_t attention_train_scratch(size_t queries_max, size_t tokens_max, size_t d);

/* out [m, d]. Returns R of this head (0 if both weights are 0). */
double attention_train_forward(const struct attention_train *head, float *out, size_t out_stride,
                               float *scratch);

/* dq [m, d] is written; dk, dv [n, d] and dbias are added to. */
void attention_train_backward(const struct attention_train *head, const float *dout,
                              size_t dout_stride, float *dq, size_t dq_stride, float *dk, float *dv,
                              size_t dkv_stride, float *scratch);

#endif
