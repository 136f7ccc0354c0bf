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
 * The products are gemm.h's tiles, fp32 or with what is multiplied rounded to bf16; softmax,
 * dropout and all sums are fp32. Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_BACKWARD_ATTENTION_TRAIN_H
#define ATTND_ENGINE_TENSOR_BACKWARD_ATTENTION_TRAIN_H

#include "engine/tensor/backward/backward.h"
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Where a head's queries and keys lie in a longer sequence of so many tokens, of which they are a
 * part: a number of its dropout mask depends on query and key only, not on the parts. */
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
    unsigned terms; /* that a score is the sum of, B the others: Q K^T / sqrt(terms d); 0: one */
    float dropout;  /* rate; 0: none */
    uint32_t key;   /* of the mask of this head: index i n + j for query i and key j */
    struct attention_train_mask mask; /* or (first_query + i) tokens + first_key + j */
    float entropy, sparsity;
    /* B, of this head and its first query; NULL: none. With global_rows, key 0 is one in front of
     * the bias' keys: nothing is added to its score, and in the mask it is the sequence's key 0. */
    const struct attention_bias *bias;
    float *dbias; /* laid out as the bias, at the same place; NULL: not asked */
};

/* Floats of 64-byte aligned scratch for either pass, for m <= queries_max and n <= tokens_max. */
size_t attention_train_scratch(size_t queries_max, size_t tokens_max, size_t d);

/* out [m, d]. Returns R of this head (0 if both weights are). */
double attention_train_forward(const struct attention_train *head, float *out, size_t out_stride,
                               float *scratch);

/* dq [m, d] is written; dk, dv [n, d] and dbias are added to. */
void attention_train_backward(const struct attention_train *head, const float *dout,
                              size_t dout_stride, float *dq, size_t dq_stride, float *dk, float *dv,
                              size_t dkv_stride, float *scratch);

#endif
