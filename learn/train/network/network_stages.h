/* network_stages.h - stages in training (model/stages.h): which one the network is at, the way into
 * the windows of a layer, and merging, forward and backward. All of it is nothing for a family
 * without stages.
 *
 * The network's spec, its sequences and the shapes of its scratch are those of the stage at hand:
 * what works on them need not know of stages. Outside the blocks sequences are the inputs. Threads:
 * one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_STAGES_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_STAGES_H

#include "learn/train/network/network_state.h"

/* Specs and orders of all stages; the network is at the first then. */
enum err_code network_stages_open(struct network *network, struct err *err);
/* To the stage that a layer is in, while blocks are opened and packed. */
void network_stages_select(struct network *network, unsigned layer);
/* The merging in front of layer `layer`, whose stage is selected, if there is one. */
enum err_code network_stages_open_merging(struct network *network, unsigned layer, struct err *err);
void network_stages_pack_merging(struct network *network, unsigned layer);

/* Where the rows of a layer come from (patch_windows_move); NULL: they stay. */
const unsigned *network_stages_move(const struct network *network, unsigned layer);

/* Before a layer's block: from the out of the one before, or its own in if it is the first, to its
 * x. */
void network_stages_enter(struct network *network, unsigned layer);
/* Behind the last block, with the inputs as sequences; and back to its windows. */
void network_stages_leave(struct network *network);
void network_stages_return(struct network *network);
/* Behind a block's backward pass: network->d from that of its x to that of the out of the block
 * before, or of the embeddings. */
void network_stages_backward(struct network *network, unsigned layer);

#endif
