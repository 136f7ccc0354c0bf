/* sentence_dense.h - the module Dense of a sentence-transformers directory:
 *
 *     y = act(W x + b)        W [out, in], b [out]
 *
 *     2_Dense/config.json         {"in_features": 768, "out_features": 256, "bias": true,
 *                                  "activation_function": "torch.nn.modules.activation.Tanh"}
 *     2_Dense/model.safetensors   linear.weight [out, in], linear.bias [out]
 *
 * Source: the package sentence-transformers, versions 5.2.3 and 6.2.0.
 *
 *     sentence_dense_read(&dense, object, &err);
 *     sentence_dense_load(&dense, "models/e5/2_Dense", &arena, &err);
 *
 * Threads: plain data, immutable after the load.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_SENTENCE_DENSE_H
#define ATTND_ENGINE_MODEL_CONFIG_SENTENCE_DENSE_H

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

/* The only value that Dense and Normalize take and give: version 6 may name others. */
#define SENTENCE_VECTOR "sentence_embedding"

enum { SENTENCE_DENSE_MAX = 6 * 65536 }; /* most numbers of a vector: six poolings side by side */

/* Names of PyTorch's classes, each with its default arguments. */
enum sentence_activation {
    SENTENCE_IDENTITY,
    SENTENCE_TANH,
    SENTENCE_RELU,
    SENTENCE_GELU, /* x Phi(x), by erf */
    SENTENCE_SILU,
    SENTENCE_SIGMOID,
    SENTENCE_ACTIVATIONS
};

struct sentence_dense {
    unsigned in, out;
    bool has_bias;
    enum sentence_activation activation;
    const float *weight; /* [out, in]; NULL until it is loaded */
    const float *bias;   /* [out]; NULL: none */
};

/* Reads the description; weight and bias become NULL. ERR_UNSUPPORTED names the member: a size that
 * is missing; an activation of another name; an input or output other than the sentence's vector; a
 * residual connection; an unknown member. ERR_UNUSABLE: a wrong type, a size that is 0 or above
 * SENTENCE_DENSE_MAX. */
enum err_code sentence_dense_read(struct sentence_dense *out, const struct json_t *object,
                                  struct err *err);

/* Reads the weights from the directory `dir` as fp32; the arena owns them. Names and shapes are
 * checked first, so a wrong size takes no memory. ERR_UNSUPPORTED: a tensor that is missing, of
 * another shape, or not known; a number that is not finite; a directory that has pytorch_model.bin
 * only (the text says how to convert it). ERR_IO; ERR_NO_MEMORY. Texts name the file in `dir`. */
enum err_code sentence_dense_load(struct sentence_dense *dense, const char *dir,
                                  struct arena *arena, struct err *err);

#endif
