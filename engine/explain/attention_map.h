/* attention_map.h - maps of the tokens that the classifier's token attends to, from attention
 * alone.
 *
 * Both methods give a distribution over the tokens of the input, special ones included: numbers
 * that are not negative and sum to one. Neither depends on a class: they show where the model
 * attends, not the tokens that support a class (gradient.h shows these).
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_ATTENTION_MAP_H
#define ATTND_ENGINE_EXPLAIN_ATTENTION_MAP_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/capture.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"

/* Computes the [CLS] row of attention rollout (Abnar and Zuidema 2020, section 3). A_l is the
 * attention of layer l averaged over heads; the residual connection gives I half of the weight:
 *
 *     R = (A_L + I)/2 ... (A_2 + I)/2 (A_1 + I)/2
 *
 * Only the first row of R is computed, from the top down: r <- (r + r A_l)/2. Rows of A_l sum to
 * one, so rows of (A_l + I)/2 do too. `layers`, from 1 to all, are rolled out. 2 N^2 flops a layer.
 * relevance, scratch: [N].
 *
 * If a layer's queries see only the keys within a reach (model/bias/reach.h), A_l is zero beyond
 * it. Its rows still sum to one, so the method is the same. But relevance goes no further than the
 * sum of the reaches: with local layers alone, a token beyond has exactly 0.
 */
void attention_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                           float *relevance, float *scratch);

/* Computes the attention of [CLS] in one layer (1 is the lowest), averaged over heads. relevance:
 * [N]. */
void attention_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                         float *relevance);

/* r <- r (A_(L-1) + I)/2 ... (A_1 + I)/2: a distribution over the last layer's tokens becomes one
 * over the inputs. relevance, scratch: [N]. */
void attention_map_down(const struct spec *spec, const struct capture *capture, float *relevance,
                        float *scratch);

/* The maps of attention_map.h and gradient.h for models whose attention has windows
 * and whose stages merge patches (struct stack).
 *
 * The head reads the mean of the last stage's tokens, so a map begins with the same for each of
 * them. It is carried down as in rollout, with the attention of each window in its place:
 *
 *     r[j] <- (r[j] + sum_i r[i] A_l[i, j]) / 2      i and j of one window of layer l
 *     r[p] <- r[P] / 4                               for the four patches p that were merged to P
 *
 * Rows of both sum to one, so a distribution stays one. A merging is treated as a mean: a merged
 * token takes the same from each of its four patches.
 *
 * All maps are over the patches of the image, the first stage's: a layer of a higher stage is
 * coarser. Threads: pure functions.
 */

/* Computes rollout through the layers 1 to `layers`, beginning with the mean of that layer's
 * tokens. relevance, scratch: [patches]. */
void stage_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                       float *relevance, float *scratch);

/* Computes the attention that each token of a layer (1 is the lowest) receives, averaged over heads
 * and the tokens of its window, carried down through mergings only. */
void stage_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                     float *relevance, float *scratch);

/* Computes gradient.h's g over the last stage's tokens, all of which the head reads, carried down
 * through the layers; with `is_last` through mergings only. ERR_NO_MEMORY. */
enum err_code stage_map_gradient(const struct spec *spec, const struct weights *weights,
                                 const struct capture *capture, unsigned label, bool is_last,
                                 struct arena *arena, float *relevance, float *scratch,
                                 struct err *err);

#endif
