/* network_distances.h - attention of one head whose scores have terms by distance (disentangled
 * attention). A matrix of these terms is computed from the block's rows (network_relative.h) and
 * becomes the bias of the head. Its gradient goes back to queries, keys and rows.
 *
 *     by = network_distances_add(network, block, head, &one, &bias, scratch);
 *     attention_train_forward(&one, ...)       or, with one.dbias = by.dmatrix of zeros, backward
 *     network_distances_backward(network, &by, head, dq, dq_stride, dk, dk_stride);
 *
 * Threads: heads may run in parallel; in the backward pass the sequences of one head may not.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_DISTANCES_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_DISTANCES_H

#include "engine/tensor/backward/attention_train.h"
#include "engine/tensor/backward/relative_train.h"
#include "learn/train/network/network_state.h"

struct network_distances {
    struct relative_train head;
    float *matrix, *dmatrix; /* [n, m] by keys */
    float *scratch;
};

/* True if the family's scores have terms by distance. */
bool network_distances_exist(const struct network *network);

/* Floats of scratch for sequences of up to `tokens` tokens; 0 if there are no such terms. */
size_t network_distances_floats(const struct network *network, size_t tokens);

/* Fills the head's bias, which `one` borrows. The matrices lie in `scratch` (64-byte aligned);
 * dmatrix starts as zeros. */
struct network_distances network_distances_add(const struct network *network,
                                               const struct network_block *block, unsigned head,
                                               struct attention_train *one,
                                               struct attention_bias *bias, float *scratch);

/* Adds the gradients that follow from dmatrix to dq [m, d], dk [n, d] and the gradient of the
 * block's rows. */
void network_distances_backward(const struct network *network, const struct network_distances *by,
                                unsigned head, float *dq, size_t dq_stride, float *dk,
                                size_t dk_stride);

#endif
