/* network_relative.h - relative positions in training (model/config/disentangled.h). All layers
 * share one normalised table. Each block sends it through its query and key projections, with its
 * own dropout mask (pos_dropout of DisentangledSelfAttention). The backward pass ends in the
 * projections and in the table. The heads use the projected rows in network_attention.c. For a
 * family without relative positions these functions do nothing. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_RELATIVE_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_RELATIVE_H

#include "learn/train/network/network_state.h"

/* _open takes memory for the table and its gradients, _open_block for a block's projected rows. */
enum err_code network_relative_open(struct network *network, struct err *err);
enum err_code network_relative_open_block(struct network *network, struct network_block *block,
                                          struct err *err);

/* Normalises the table; called after the values have changed. */
void network_relative_pack(struct network *network);

/* Projects the rows of a block; called before its attention. */
void network_relative_forward(struct network *network, const struct network_block *block);

/* Around the backward pass of a block's attention: _begin sets the rows' gradient to zero;
 * _backward takes it through the projections and adds to the table's gradient, which all blocks
 * share. */
void network_relative_begin(struct network *network);
void network_relative_backward(struct network *network, const struct network_block *block);

/* Adds the gradients of the table and its norm; called at the end of a backward pass. */
void network_relative_unpack(struct network *network);

#endif
