/* network_rotary.h - rotary positions (engine/tensor/rotary.h) in training: query and key of a
 * block are turned behind their product, and their gradients turned back before its backward pass,
 * since the transpose of a rotation is the rotation by the negative angle. Of a family without
 * rotary positions nothing happens. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROTARY_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROTARY_H

#include "learn/train/network/network_state.h"

/* The tables of angles, of global and of local layers. */
enum err_code network_rotary_open(struct network *network, struct err *err);

/* qkv_rows and query_rows of the block, where they lie. */
void network_rotary_forward(struct network *network, const struct network_block *block);

/* dquery [queries, D] and columns D to 2 D of dqkv [T, 3 D], of which dquery is the first D columns
 * but in the last block. */
void network_rotary_backward(struct network *network, const struct network_block *block,
                             struct matrix dquery, struct matrix dqkv);

#endif
