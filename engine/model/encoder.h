/* encoder.h - the stack of attention blocks that all families share, over a packed batch.
 *
 * Sequences lie end to end in one matrix of T tokens; workspace->offset marks the borders. Linear
 * layers, norms and activations process one matrix; only attention uses the borders. Linear layers
 * read their activations in the precision of the weights. The code that computes a value converts
 * it: the norm, and the pool's member that finishes a block of attention.
 *
 * Threads: weights are shared; a workspace belongs to one caller, which lends it a pool.
 */
#ifndef ATTND_ENGINE_MODEL_ENCODER_H
#define ATTND_ENGINE_MODEL_ENCODER_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* workspace->x: embeddings in; out: the last hidden states, before a final norm, of the tokens that
 * the head reads: [rows x spec_head_tokens, D]. Other tokens are only keys and values in the last
 * block, which saves three quarters of it. If the head reads all tokens, the states are in the
 * batch's order. In a family with stages it runs the layers of one stage, `spec` from spec_at:
 * engine/engine_state.h. */
void encoder_run(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace);

/* ---- parts of a block, for the first workspace->tokens rows; a decoder's block has them, too ----
 */

/* normed = y = norm(x); normed = x if the block lacks the norm. y may be x. */
void encoder_norm(const struct spec *spec, struct workspace *workspace, const struct norm *norm,
                  float *y, const float *x);
/* operand = x in the operand's precision. Does nothing if the operand is x itself. */
void encoder_store(struct workspace *workspace, const struct operand *operand, const float *x,
                   size_t stride, size_t width);
/* qkv = W_qkv projected */
void encoder_project(struct workspace *workspace, const struct linear *linear);
/* y = W x + residual, [., D] */
void encoder_multiply(struct workspace *workspace, const struct linear *linear,
                      const struct operand *x, float *y, const float *residual);
/* out = W_2 act(W_1 normed) + residual, of layer `index` */
void encoder_mlp(const struct spec *spec, const struct layer *layer, struct workspace *workspace,
                 float *out, const float *residual, unsigned index);

#endif
