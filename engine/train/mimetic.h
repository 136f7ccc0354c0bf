/* mimetic.h - an initialisation of vision transformers that behaves like a trained one from the
 * start (Trockman and Kolter 2023, "Mimetic Initialization of Self-Attention Layers"): in each head
 * W_q^T W_k = a1 Z1 + b1 I and W_v, W_o with W_o W_v = a2 Z2 - b2 I, Z random normal with variance
 * 1 / D, a1 = b1 = 0.7, a2 = b2 = 0.4 (section 4); positions are two-dimensional sines and cosines
 * (ibid.; Chen, Xie and He 2021). Small data sets gain most. Threads: pure function.
 */
#ifndef ATTND_ENGINE_TRAIN_MIMETIC_H
#define ATTND_ENGINE_TRAIN_MIMETIC_H

#include "engine/train/parameters.h"

/* Overwrites query, key, value, attention's output and the positions of an image model. */
void mimetic_init(struct parameters *parameters, uint64_t seed);

#endif
