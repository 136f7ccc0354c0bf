/* network_cross.h - the attention of a decoder's block to the encoder's states, forward and
 * backward (Vaswani et al. 2017, section 3.1). Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_CROSS_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_CROSS_H

#include "learn/train/network/network_state.h"

/* block->cross of a decoder; of an encoder it stays NULL. `learns`: the block does. */
enum err_code network_cross_open(struct network *network, struct network_block *block, bool learns,
                                 struct err *err);
void network_cross_pack(struct network *network, struct network_block *block);

/* cross->n [T, D] and the encoder's states [S, W] -> cross->context [T, A] */
void network_cross_forward(struct network *network, struct network_block *block);
/* dcontext [T, A] -> dn [T, D], plus `residual` (NULL: none). The gradient of the states, in the
 * encoder's network->g, is set by the last block and added to by the others. */
void network_cross_backward(struct network *network, struct network_block *block, struct matrix dn,
                            struct matrix dcontext, const struct matrix *residual);

#endif
