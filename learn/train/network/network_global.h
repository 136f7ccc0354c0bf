/* network_global.h - the token that sees all (engine/tensor/global_token.h) in training: forward as
 * there, with dropout on its probabilities, and backward. With a one behind each token's numbers,
 * X = [x, 1], and a bias behind each row of a weight, W = [W, b]:
 *
 *     u_h = W_k,h^T q_h      P = softmax(u_h X^T / sqrt(d))     y_h = D(P) X     out_h = W_v,h y_h
 *
 * which is attention_train.h of H queries over keys and values X. Its gradients of u, of y's keys
 * and of y's values are those of u and, both, of x; weights follow as outer products:
 *
 *     dW_v,h += dout_h y_h^T     dW_k,h += q_h du_h^T     dq_h = W_k,h du_h     dW_q += dq X_0^T
 *
 * Always fp32. Sequences are tasks of their own; the weights' gradients are summed over them in
 * their order, each row by one member of the pool. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_GLOBAL_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_GLOBAL_H

#include "learn/train/network/network_state.h"

/* Scratch; nothing where no token sees all. */
enum err_code network_global_open(struct network *network, struct err *err);

/* How a block's attention is regularised and dropped, as network_attention.c has it. */
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
