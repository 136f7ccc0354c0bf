/* mimetic.h - an initialisation of vision transformers that behaves like a trained one from the
 * start (Trockman and Kolter 2023, "Mimetic Initialization of Self-Attention Layers", section 4):
 *
 *     in each head      W_q^T W_k = P (0.7 I + 0.7 Z)     a token attends to tokens like itself
 *     in each block     W_o W_v   = 0.4 Z - 0.4 I         and takes some of their common part away
 *
 * with Z random normal of variance 1 / D; where the paper truncates a singular value decomposition
 * to the head's width, P projects on a random subspace of it. Positions are two-dimensional sines
 * and cosines (Chen, Xie and He 2021), scaled to the deviation of other embeddings. Small data sets
 * gain most. Threads: pure function.
 */
#ifndef ATTND_ENGINE_TRAIN_MIMETIC_H
#define ATTND_ENGINE_TRAIN_MIMETIC_H

#include "engine/train/parameters.h"

#include <stdint.h>

/* Overwrites query, key, value, attention's output and the positions of an image model. */
enum err_code mimetic_init(struct parameters *parameters, uint64_t seed, struct err *err);

#endif
