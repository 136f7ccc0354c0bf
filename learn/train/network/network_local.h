/* network_local.h - a head of local attention (engine/model/bias/reach.h) in training, forward and
 * backward. Each block of queries runs over the keys that it reaches, so that time grows with the
 * sequence's length times the reach. Results, dropout's mask included, are those of
 * attention_train.h over the whole sequence with a bias that masks the keys beyond the reach. The
 * gradients of keys that several blocks reach are summed. If all queries see the first key
 * (global_token.h), a block's keys and values are copied, with the first one in front.
 *
 * Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_LOCAL_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_LOCAL_H

#include "engine/tensor/backward/attention_train.h"

#include <stdbool.h>
#include <stddef.h>

struct network_local {
    unsigned reach;                    /* above 0 */
    const struct attention_bias *band; /* reach_bias of it */
    bool has_global; /* all queries see the first key, too; the first query is not computed */
};

/* Floats of 64-byte aligned scratch for either pass, for sequences of at most tokens_max tokens. */
size_t network_local_scratch(unsigned reach, size_t tokens_max, size_t d, bool has_global);

/* `head` describes the whole sequence, without a bias; m counts its first queries. Otherwise as
 * attention_train_forward and _backward. */
double network_local_forward(const struct attention_train *head, struct network_local local,
                             float *out, size_t out_stride, float *scratch);
void network_local_backward(const struct attention_train *head, struct network_local local,
                            const float *dout, size_t dout_stride, float *dq, size_t dq_stride,
                            float *dk, float *dv, size_t dkv_stride, float *scratch);

#endif
