/* gradient.h - which tokens support a class: the last layer's attention, weighted with the gradient
 * of the class's logit (Chefer, Gur and Wolf 2021, "Generic Attention-model Explainability", eq.
 * 5), and carried down through the layers below as rollout does.
 *
 * With A_h the [CLS] row of head h in the last layer and y the logit of the class before
 * temperature,
 *
 *     g = 1/H sum_h max(0, dy/dA_h * A_h)        r = g / sum(g) (A_(L-1) + I)/2 ... (A_1 + I)/2
 *
 * g is how much each of the last layer's tokens supports the class; the layers below map these
 * tokens to the inputs. What [CLS] held before the last block is not specific to a class here and
 * is left out; if no token supports the class, A itself replaces g.
 *
 * dy/dA_h[j] = dy/dO_h . V_h[j], where O_h is the head's output: only one token's path through the
 * last block and the classifier is differentiated. Its weights are read back from where the
 * products keep them, as they are multiplied (rounded, if the model runs in bf16 or int8).
 *
 * A distilled DeiT, whose logits are the mean of two classifiers on two tokens, has g for each
 * token. A head that reads a mean, of the patches (DINOv2, BEiT) or of all tokens (ModernBERT as
 * classifier_pooling says), has it for each token that it reads, and g is their sum.
 *
 * A zero-shot model's logit is c . z / |z|, c a label's embedding and z = W_p norm(h) the image's:
 * its gradient at h, and from there on as above.
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

/* The same without carrying it down: g / sum(g), over the last layer's tokens. A token of a text
 * still stands for its own word there: on kernel-bert this is the most faithful map (insertion
 * minus deletion 0.056 above gradient_map's, 0.025 to 0.087). A patch of wafer-vit does not, and
 * the map misses the defects' places: carry it down for images. */
enum err_code gradient_map_last(const struct spec *spec, const struct weights *weights,
                                const struct capture *capture, unsigned label, struct arena *arena,
                                float *relevance, struct err *err);

/* relevance [N] += g, not yet scaled, of a sequence all of whose tokens the head reads: all of an
 * image, or a window of kind `kind` of what spec_at gave (attention_bias.h). ERR_NO_MEMORY. */
enum err_code gradient_add(const struct spec *spec, const struct weights *weights,
                           const struct capture *capture, unsigned kind, unsigned label,
                           struct arena *arena, float *relevance, struct err *err);

/* Scales what is not negative so that it sums to one; false if there is nothing to scale. */
bool gradient_normalise(float *relevance, size_t n);

/* What a map takes of the arena where the head reads all of so many tokens; else 0, a few vectors
 * that grow with nothing. */
size_t gradient_bytes(const struct spec *spec, unsigned tokens);

/* dy/dA of the last layer for head token `token`: gradient [heads][N]. For tests. */
enum err_code gradient_of_attention(const struct spec *spec, const struct weights *weights,
                                    const struct capture *capture, unsigned label, unsigned token,
                                    struct arena *arena, float *gradient, struct err *err);

#endif
