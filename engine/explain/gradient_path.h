/* gradient_path.h - takes a gradient back from a class's logit to the output of the last block's
 * attention, through the head and that block. Private to gradient.c.
 *
 *     gradient_path_back(&path, spec, weights, capture, label, token, rows, arena, &err);
 *     ... path.normed [rows, A]: dy / dO ...
 *
 * Threads: a pure function of a model and a capture.
 */
#ifndef ATTND_ENGINE_EXPLAIN_GRADIENT_PATH_H
#define ATTND_ENGINE_EXPLAIN_GRADIENT_PATH_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/capture.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/tensor/backward/backward.h"

/* Buffers of the backward pass of `rows` neighbouring tokens, from the head to the last block's
 * attention. A weight's column is unpacked once for all of them. */
struct gradient_path {
    const struct spec *spec;
    const struct weights *weights;
    const struct layer *layer; /* the last layer */
    const struct kernels *kernels;
    const struct backward *backward;
    const float *attention_sum, *mlp_sum; /* [rows, D] the capture's */
    unsigned token;                       /* number of the first token */
    unsigned kind;                        /* the sequence's kind, for its bias */
    size_t rows;
    float *column[2]; /* [D, F or P] an output's weights; two for a gated MLP */
    float *normed;    /* [rows, D] input of the MLP */
    float *features;  /* [rows, D] input of the pooler, then the residual gradient of the MLP */
    float *hidden;    /* [rows, D] gradients */
    float *inner;     /* [rows, F] gradients */
    float *read;      /* [spec_features] gradient of the classifier's input */
};

/* normed [rows, A] = dy / dO for the tokens from `token` on, where O is the heads' outputs side by
 * side. The arena owns the numbers. ERR_NO_MEMORY. */
enum err_code gradient_path_back(struct gradient_path *path, const struct spec *spec,
                                 const struct weights *weights, const struct capture *capture,
                                 unsigned label, unsigned token, size_t rows, struct arena *arena,
                                 struct err *err);

/* Numbers that gradient_path_back takes of the arena. */
size_t gradient_path_floats(const struct spec *spec, size_t rows);

#endif
