/* network_global.h - the global token, which attends to all tokens (engine/tensor/global_token.h),
 * in training: forward as there, with dropout on its probabilities, and backward. Each token's row
 * is extended by a one, X = [x, 1], and each row of a weight by its bias, W = [W, b]:
 *
 *     u_h = W_k,h^T q_h      P = softmax(u_h X^T / sqrt(d))     y_h = D(P) X     out_h = W_v,h y_h
 *
 * This is attention_train.h with H queries u_h and with X as keys and values. It gives du and, as
 * the sum of the key and the value gradients, dX. The weights' gradients are outer products:
 *
 *     dW_v,h += dout_h y_h^T     dW_k,h += q_h du_h^T     dq_h = W_k,h du_h     dW_q += dq X_0^T
 *
 * Always fp32. Each sequence is one task. The weights' gradients are summed over the sequences in
 * order, each row by one member of the pool. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_GLOBAL_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_GLOBAL_H

#include "learn/train/network/network_state.h"

/* Takes scratch memory; does nothing for a family without a global token. */
enum err_code network_global_open(struct network *network, struct err *err);

/* Regularisers and dropout of a block's attention, as network_attention.c sets them. */
struct network_global_run {
    struct network *network;
    const struct network_block *block;
    float dropout, entropy, sparsity;
    uint32_t key;
    bool learns; /* the weights */
};

/* The first row of each sequence of block->context; adds to network->penalties [rows, heads]. */
void network_global_forward(const struct network_global_run *run);

/* The same rows of dcontext -> gradients of the weights, and dx [T, D], which is written. */
void network_global_backward(const struct network_global_run *run, struct matrix dcontext,
                             struct matrix dx);

#endif
