/* network_stages.h - stages in training (struct stack): selecting the current stage, moving rows
 * into the windows of a layer, and patch merging, forward and backward. For a family without stages
 * these functions do nothing.
 *
 * The network's spec, its sequences and the shapes of its scratch are those of the current stage,
 * so the code that uses them need not know of stages. Outside the blocks a sequence is an input.
 * Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_STAGES_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_STAGES_H

#include "learn/train/network/network_state.h"

/* Makes the specs and window orders of all stages and selects the first stage. */
enum err_code network_stages_open(struct network *network, struct err *err);
/* Selects the stage of a layer; called while blocks are opened and packed. */
void network_stages_select(struct network *network, unsigned layer);
/* The merging in front of layer `layer`, whose stage is selected, if there is one. */
enum err_code network_stages_open_merging(struct network *network, unsigned layer, struct err *err);
void network_stages_pack_merging(struct network *network, unsigned layer);

/* Source row of each of a layer's rows (patch_windows_move); NULL: rows are not moved. */
const unsigned *network_stages_move(const struct network *network, unsigned layer);

/* Called before a layer's block. Computes the block's x from the `out` of the previous block; for
 * the first block, from its own `in`. */
void network_stages_enter(struct network *network, unsigned layer);
/* _leave is called after the last block: inputs become the sequences. _return goes back to the
 * windows of the last block. */
void network_stages_leave(struct network *network);
void network_stages_return(struct network *network);
/* Called after a block's backward pass. network->d, the gradient of the block's x, becomes that of
 * the previous block's out, or of the embeddings. */
void network_stages_backward(struct network *network, unsigned layer);

#endif
