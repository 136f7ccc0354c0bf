/* gradient.h - maps of the tokens that support a class: the last layer's attention, weighted with
 * the gradient of the class's logit (Chefer, Gur and Wolf 2021, "Generic Attention-model
 * Explainability", eq. 5), and carried down through the layers below as in rollout.
 *
 * With A_h the [CLS] row of head h in the last layer and y the logit of the class before
 * temperature,
 *
 *     g = 1/H sum_h max(0, dy/dA_h * A_h)        r = g / sum(g) (A_(L-1) + I)/2 ... (A_1 + I)/2
 *
 * g is the support of each of the last layer's tokens for the class; the layers below map these
 * tokens to the inputs. The state of [CLS] before the last block is not specific to a class here
 * and is left out. If no token supports the class, A itself replaces g.
 *
 * dy/dA_h[j] = dy/dO_h . V_h[j], where O_h is the head's output: only one token's path through the
 * last block and the classifier is differentiated. Weights are read back from the products' packed
 * form, with the values that are multiplied (rounded, if the model runs in bf16 or int8).
 *
 * A distilled DeiT, whose logits are the mean of two classifiers on two tokens, has a g for each
 * token. A head that reads a mean, of the patches (DINOv2, BEiT) or of all tokens (ModernBERT with
 * classifier_pooling "mean"), has one for each token that it reads. g is their sum.
 *
 * A zero-shot model's logit is c . z / |z|, with a label's embedding c and the image's embedding
 * z = W_p norm(h). Its gradient is taken at h; the rest is as above.
 *
 * Threads: a pure function of a model and a capture.
 */
#ifndef ATTND_ENGINE_EXPLAIN_GRADIENT_H
#define ATTND_ENGINE_EXPLAIN_GRADIENT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/capture.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"

/* relevance [N], not negative, sums to one. Some 2 (2 D F + D D) flops a token that
 * the head reads. ERR_NO_MEMORY. */
enum err_code gradient_map(const struct spec *spec, const struct weights *weights,
                           const struct capture *capture, unsigned label, struct arena *arena,
                           float *relevance, struct err *err);

/* The same without carrying it down: g / sum(g), over the last layer's tokens. In the last layer a
 * token of a text still represents its own word: on kernel-bert this is the most faithful map
 * (insertion minus deletion 0.056 above gradient_map's, 0.025 to 0.087). A patch of wafer-vit does
 * not, and the map misses the defects' places: carry it down for images. */
enum err_code gradient_map_last(const struct spec *spec, const struct weights *weights,
                                const struct capture *capture, unsigned label, struct arena *arena,
                                float *relevance, struct err *err);

/* relevance [N] += g, not scaled, of a sequence whose tokens the head reads all: a whole image, or
 * a window of kind `kind` (attention_io.h) of a stage's spec (spec_at). ERR_NO_MEMORY. */
enum err_code gradient_add(const struct spec *spec, const struct weights *weights,
                           const struct capture *capture, unsigned kind, unsigned label,
                           struct arena *arena, float *relevance, struct err *err);

/* Scales numbers that are not negative so that they sum to one; false if all are 0. */
bool gradient_normalise(float *relevance, size_t n);

/* Bytes that a map takes of the arena if the head reads all of `tokens` tokens; else 0, because it
 * takes only a few vectors of fixed size. */
size_t gradient_bytes(const struct spec *spec, unsigned tokens);

/* dy/dA of the last layer for head token `token`: gradient [heads][N]. For tests. */
enum err_code gradient_of_attention(const struct spec *spec, const struct weights *weights,
                                    const struct capture *capture, unsigned label, unsigned token,
                                    struct arena *arena, float *gradient, struct err *err);

#endif
