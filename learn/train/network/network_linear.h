/* network_linear.h - a linear layer in training: product.h's three products, with bias.
 *
 *     Y = X W^T + b        dX = dY W        dW += dY^T X        db += column sums of dY
 *
 * Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_LINEAR_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_LINEAR_H

#include "learn/train/network/network_state.h"

enum {
    NETWORK_PIECE_TOKENS = 1024 /* rows of dY at a time: the backward pass reads them four times */
};

/* Takes memory for the packed weights of `linear`, whose offsets and sizes are set. */
enum err_code network_linear_open(struct network *network, struct network_linear *linear,
                                  struct err *err);
/* Packs network->values. */
void network_linear_pack(struct network *network, struct network_linear *linear);

/* y = x W^T + b + residual (NULL: none). */
void network_linear_forward(struct network *network, const struct network_linear *linear,
                            struct matrix y, struct matrix x, const struct matrix *residual,
                            size_t rows);
/* Adds to the gradients of weight and bias; dx = dy W + residual (NULL: none), unless dx is NULL.
 * dx may be the residual. */
void network_linear_backward(struct network *network, const struct network_linear *linear,
                             const struct matrix *dx, struct matrix dy, struct matrix x,
                             const struct matrix *residual, size_t rows);

#endif
