/* network_attention.h - the attention of a block over the sequences of a micro-batch. A task is one
 * head of one sequence; the members of the pool take tasks from a counter. Threads: one caller,
 * with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_ATTENTION_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_ATTENTION_H

#include "learn/train/network/network_state.h"

/* Floats of scratch of one member. */
size_t network_attention_floats(const struct network *network);

/* For a family whose scores have a bias that all blocks share; else these do nothing. _open takes
 * memory for the bias and its gradient. _pack makes the bias from the values. _unpack adds the
 * bias's gradient to the gradient of those values and sets it to zero. */
enum err_code network_attention_open(struct network *network, struct err *err);
void network_attention_pack(struct network *network);
void network_attention_unpack(struct network *network);

/* The same for a block that has a bias of its own. */
enum err_code network_attention_open_block(struct network *network, struct network_block *block,
                                           struct err *err);
void network_attention_pack_block(struct network *network, struct network_block *block);
void network_attention_unpack_block(struct network *network, struct network_block *block);

/* qkv_rows, query_rows -> context; adds to network->penalty. */
void network_attention_forward(struct network *network, const struct network_block *block);

/* dcontext [queries, D] -> dquery [queries, D] and columns D to 3 D of dqkv [T, 3 D]. With a global
 * token also dglobal [T, D], its part of the gradient of the block's input n. Both regularisers are
 * weighted with `share`. */
void network_attention_backward(struct network *network, const struct network_block *block,
                                struct matrix dcontext, struct matrix dquery, struct matrix dqkv,
                                struct matrix dglobal, float share);

#endif
