/* network_head.h - the head on the encoder: the classifier of model/head.h, BERT's
 * masked-language-model head, the classifier of each token, or the pooling of an embedding.
 * Threads: one caller, with its pool.
 *
 *     classifier   logits = W_c D(act(W_p norm(x))) + b_c       (norm or pooler may be missing)
 *                  logits = W_c D(norm(pooling(norm(x)))) + b_c (a head that reads all tokens)
 *     MLM          logits = E norm(act(W_t x + b_t)) + b        E: the word embeddings
 *     tags         logits = W_c D(norm(x)) + b_c                a row for each kept token; or, of
 *                  ModernBERT, W_c D(norm(act(W_p norm(x)))) + b_c
 *     embedding    logits = pooling(norm(x))                    (network_sentence.h)
 *     states       D(norm(x)) of all tokens, in head.normed; backward from network->g
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_HEAD_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_HEAD_H

#include "learn/train/network/network_state.h"

enum err_code network_head_open(struct network *network, struct err *err);
void network_head_pack(struct network *network);

/* The kept rows of the last block's out -> head.logits[0], head.features. */
void network_head_forward(struct network *network);
/* dlogits (dense) -> network->d, the gradient of the last block's out. */
void network_head_backward(struct network *network, const float *dlogits);

#endif
