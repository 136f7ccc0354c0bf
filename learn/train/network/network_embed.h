/* network_embed.h - the embeddings of model/embed.h, forward and backward. Threads: one caller,
 * with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_EMBED_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_EMBED_H

#include "learn/train/network/network_state.h"

enum err_code network_embed_open(struct network *network, struct err *err);
void network_embed_pack(struct network *network);

/* Ids, types and places of a text, the packed batch's tokens from `first` on. */
void network_embed_list(struct network *network, const struct engine_input *input, unsigned first);

/* The inputs of the batch, whose offsets are set -> x [T, D]. */
void network_embed_forward(struct network *network, const struct engine_input *const *inputs,
                           struct matrix x);
/* network->d is dL/dx; it and network->e are overwritten. */
void network_embed_backward(struct network *network);

#endif
