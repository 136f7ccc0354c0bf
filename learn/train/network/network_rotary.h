/* network_rotary.h - rotary positions (engine/tensor/rotary.h) in training: query and key of a
 * block are rotated after their product. Their gradients are rotated back before the product's
 * backward pass, since the transpose of a rotation is the rotation by the negative angle. For a
 * family without rotary positions these functions do nothing. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROTARY_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROTARY_H

#include "learn/train/network/network_state.h"

/* Makes the tables of angles, for global and for local layers. */
enum err_code network_rotary_open(struct network *network, struct err *err);

/* Rotates query and key in the block's qkv_rows and query_rows, in place. */
void network_rotary_forward(struct network *network, const struct network_block *block);

/* Rotates dquery [queries, D] and columns D to 2 D of dqkv [T, 3 D] back, in place. dquery is the
 * first D columns of dqkv, except in the last block. */
void network_rotary_backward(struct network *network, const struct network_block *block,
                             struct matrix dquery, struct matrix dqkv);

#endif
