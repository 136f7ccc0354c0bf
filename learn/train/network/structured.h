/* structured.h - an initialisation of vision transformers with the locality of a convolution, for
 * data sets too small to learn it (after Zheng, Li and Lucey 2024, "Structured Initialization for
 * Vision Transformers", who make attention begin as convolutions with impulse filters).
 *
 * The first d channels of the residual stream, d the width of a head, start as the position of the
 * patch: sines and cosines of row and column, d / 4 frequencies each. At the start nothing else
 * writes to these channels (zero rows in W_o and W_2). In a block each of the first five heads
 * attends to one neighbour: W_k copies the position and W_q rotates it by the angle of an offset
 * (y, x), so that
 *
 *     q_i . k_j is largest where j = i + (y, x)
 *
 * The offsets are (0, 0) and, in alternating blocks, the four direct or the four diagonal
 * neighbours. Other heads and all other weights are normal with standard deviation 1 / sqrt(D). The
 * scale of the attention logits is then set on real inputs, block after block, so that the mean
 * logit of the best match is 8.
 *
 *     structured_init(&parameters, seed);
 *     structured_sharpen(&parameters, network, &batch);
 *
 * Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_STRUCTURED_H
#define ATTND_LEARN_TRAIN_NETWORK_STRUCTURED_H

#include "learn/train/network/network.h"
#include "learn/train/network/parameters.h"

#include <stdint.h>

/* Replaces every value but the norms'. For image models whose head width is a multiple of 4. */
void structured_init(struct parameters *parameters, uint64_t seed);

/* The network was opened with these parameters. It is repacked with them at the end. */
void structured_sharpen(struct parameters *parameters, struct network *network,
                        const struct network_batch *batch);

#endif
