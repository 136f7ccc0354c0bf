/* network_relative.h - relative places in training (model/config/disentangled.h): the table that
 * all layers share, normalised, goes through each block's query and key projections, dropped out
 * anew for each (as DisentangledSelfAttention has pos_dropout); the way back ends in the
 * projections and in the table. Heads read and learn the rows: network_distances.h. Nothing to do
 * for a family without. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_RELATIVE_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_RELATIVE_H

#include "learn/train/network/network_state.h"

/* Room for the table and its gradients; and for a block's projected rows. */
enum err_code network_relative_open(struct network *network, struct err *err);
enum err_code network_relative_open_block(struct network *network, struct network_block *block,
                                          struct err *err);

/* After the values have changed: the table, normalised. */
void network_relative_pack(struct network *network);

/* The rows of a block, before its attention. */
void network_relative_forward(struct network *network, const struct network_block *block);

/* Around a block's attention, backward: the rows' gradient is zero; then it goes back to the
 * projections and, beside that of other blocks, to the table. */
void network_relative_begin(struct network *network);
void network_relative_backward(struct network *network, const struct network_block *block);

/* At the end of a backward pass: the gradients of the table and its norm. */
void network_relative_unpack(struct network *network);

#endif
