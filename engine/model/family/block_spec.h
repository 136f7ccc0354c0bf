/* block_spec.h - the form of an encoder's block in a family. Three files read it: encoder.c, the
 * forward pass of serving; network_block.c, forward and backward of training; and gradient.c,
 * the gradient of explanations.
 *
 *   NORM_AFTER    a = x + attention(x);        h = norm(a); out = norm(h + mlp(h))
 *                 (Vaswani et al. 2017; Devlin et al. 2019)
 *   NORM_BEFORE   a = x + attention(norm(x));  out = a + mlp(norm(a))
 *                 (Dosovitskiy et al. 2021, eq. 2 and 3)
 *
 * attention(n) = W_o softmax(Q K^T / sqrt(d) + B) V over all tokens of a sequence, or those within
 * the layer's reach (reach.h). Q, K and V come from n W_qkv; Q and K are rotated if positions are
 * rotary (rotary.h). B is zero, a table of relative positions (relative_bias.h, window_bias.h),
 * minus infinity for later tokens (weights.c), or terms of queries, keys and distances; the
 * scores are then divided by the root of the number of terms (disentangled.h).
 *
 * A norm subtracts a row's mean and divides by its deviation or, if it is an RMS norm, only divides
 * by the root of the mean square (Zhang and Sennrich 2019). Unscaled scores are Q K^T + B (Raffel
 * et al. 2020, section 2.1).
 *
 * A decoder's block has attention over earlier tokens only, from a cache, and a second attention
 * between it and the MLP, whose keys and values come from the states of an encoder (Vaswani et al.
 * 2017, section 3.1): engine/model/decoder/decoder.h reads it, and in training
 * learn/train/network/network_cross.c.
 *
 * mlp(h) = act(h W_1) W_2 or, with a gate, gate(u) * v W_2 where [u, v] = h W_1 (Shazeer 2020, "GLU
 * Variants Improve Transformer"). With a layer scale each branch is multiplied by a vector before
 * it is added (Touvron et al. 2021, "Going deeper with Image Transformers", eq. 4): training
 * learns it, serving folds it into the weights before it. Threads: constant data.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_BLOCK_SPEC_H
#define ATTND_ENGINE_MODEL_FAMILY_BLOCK_SPEC_H

#include "engine/tensor/kernels.h"

#include <stdbool.h>

enum norm_placement { NORM_AFTER, NORM_BEFORE };

struct block_spec {
    enum norm_placement norm;
    bool always_biased; /* query, key and value have biases, whatever config.json's qkv_bias is */
    bool key_unbiased;  /* the key has no bias */
    bool is_causal;     /* a token attends to itself and to those before it: weights.c */
    bool is_decoder;
    bool has_rms_norms;
    bool is_unscaled;            /* the scores are not divided by the root of a head's width */
    bool skips_first_norm;       /* n = x in block 0 of a NORM_BEFORE encoder */
    bool drops_attention_out;    /* training: dropout before the residual sum of the attention, */
    bool drops_out_as_attention; /* at the rate of the probabilities */
    bool keeps_mlp_out;          /* training: no dropout before the residual sum of the MLP */
    bool drops_activated;        /* training: dropout before W_2 */
    bool gates_by_activation;    /* the MLP is gated by config.json's activation */
    enum activation gate;        /* else the gate of a gated MLP; none: it has no gate */
};

#endif
