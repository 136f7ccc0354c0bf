/* network_sentence.h - the pooling of an embedding in training: the modes of
 * engine/model/sentence_pooling.h over all tokens of a text, side by side. What stands behind it,
 * Normalize, belongs to the loss (ranking_loss.h), which compares by cosine. Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_SENTENCE_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_SENTENCE_H

#include "learn/train/network/network_state.h"

/* head.normed [tokens, D] -> head.logits[0] [inputs, modes D]; an input is one sequence. */
void network_sentence_pool(struct network *network);

/* dvectors [inputs, modes D], dense -> network->g [tokens, D], the gradient of head.normed. The
 * first of equal largest tokens gets the whole gradient of their maximum. */
void network_sentence_spread(struct network *network, const float *dvectors);

#endif
