/* network_windows.h - pooling of the features of an input's windows into the features of the input:
 * the mean or the maximum, as engine/model/head.h pools them, and its backward pass. If every input
 * is one sequence there is nothing to pool. Threads: the caller's.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_WINDOWS_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_WINDOWS_H

#include "learn/train/network/network_state.h"

/* x [rows, D] -> pooled [inputs, D]. Returns pooled, or x if there is nothing to pool. */
struct matrix network_windows_pool(const struct network *network, struct matrix pooled,
                                   struct matrix x);

/* dpooled [inputs, D] -> dx [rows, D]. For the maximum, the first of equal windows gets the whole
 * gradient. dx is not dpooled. If there is nothing to pool, dx is not written. */
void network_windows_backward(const struct network *network, struct matrix dx,
                              struct matrix dpooled, struct matrix pooled, struct matrix x);

#endif
