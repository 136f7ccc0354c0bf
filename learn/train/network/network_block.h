/* network_block.h - one block of the encoder, forward and backward. Its equations stand at struct
 * network_block. Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_BLOCK_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_BLOCK_H

#include "learn/train/network/network_state.h"

/* Offsets, sizes and packed weights of block `layer`; x and out are the caller's to set. */
enum err_code network_block_open(struct network *network, struct network_block *block,
                                 unsigned layer, struct err *err);
/* True if layer `layer` learns: its block is not below the frozen depth. */
bool network_block_learns(const struct network *network, unsigned layer);
void network_block_pack(struct network *network, struct network_block *block);

/* x -> out. The last block computes only the kept rows. */
void network_block_forward(struct network *network, struct network_block *block);

/* network->d: dL/dout in, dL/dx out. */
void network_block_backward(struct network *network, struct network_block *block, float share);

#endif
