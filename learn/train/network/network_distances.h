/* network_distances.h - the attention of one head where scores have terms by distance: a matrix of
 * them is made of the block's rows (network_relative.h) and becomes the bias of the head; its
 * gradient goes back to queries, keys and rows.
 *
 *     by = network_distances_add(network, block, head, &one, &bias, scratch);
 *     attention_train_forward(&one, ...)       or, with one.dbias = by.dmatrix of zeros, backward
 *     network_distances_backward(network, &by, head, dq, dq_stride, dk, dk_stride);
 *
 * Threads: heads may run beside each other, the sequences of one head may not (backward).
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

/* Whether the family has them. */
bool network_distances_exist(const struct network *network);

/* Floats of scratch for sequences of up to so many tokens; 0 without. */
size_t network_distances_floats(const struct network *network, size_t tokens);

/* The head's bias, which is filled and borrowed by `one`; the matrices lie in scratch (64-byte
 * aligned) and dmatrix is zero. */
struct network_distances network_distances_add(const struct network *network,
                                               const struct network_block *block, unsigned head,
                                               struct attention_train *one,
                                               struct attention_bias *bias, float *scratch);

/* From dmatrix: dq [m, d] and dk [n, d] are added to, and so is the gradient of the block's rows.
 */
void network_distances_backward(const struct network *network, const struct network_distances *by,
                                unsigned head, float *dq, size_t dq_stride, float *dk,
                                size_t dk_stride);

#endif
