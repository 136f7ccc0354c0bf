/* network_words.h - the output of a decoder: logits of the vocabulary for each token that it has
 * read, a piece of the tokens at a time. The logits of all tokens at once would be the largest
 * matrix by far: 0.5 GB for 2048 tokens and 58 000 words.
 *
 *     logits = (s states) W^T + b,   W: a weight of its own, or the words'
 *
 * b, the final_logits_bias of some checkpoints, is not learnt (transformers: a buffer). s is 1 or
 * spec->output_scale (Raffel et al. 2020). Threads: one caller, with its pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_WORDS_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_WORDS_H

#include "learn/train/network/network_state.h"

/* For a decoder; with other heads these do nothing. */
enum err_code network_words_open(struct network *network, struct err *err);
void network_words_pack(struct network *network);

/* Judges the logits of the decoder's states. With `learns` it also sets network->g to the gradient
 * of the states, and adds to the weight's gradient. */
void network_words_run(struct network *network, const struct network_judge *judge, bool learns);

#endif
