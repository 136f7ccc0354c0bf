/* stage_map.h - the maps of attention_map.h and gradient.h for models whose attention has windows
 * and whose stages merge patches (engine/stack.h).
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
#ifndef ATTND_ENGINE_EXPLAIN_STAGE_MAP_H
#define ATTND_ENGINE_EXPLAIN_STAGE_MAP_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/capture.h"
#include "engine/model/weights.h"

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
