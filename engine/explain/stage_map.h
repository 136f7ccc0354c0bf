/* stage_map.h - the maps of attention_map.h and gradient.h where attention has windows and patches
 * are merged between stages (model/stages.h).
 *
 * The head reads the mean of the last stage's tokens, so that a map begins with as much for each
 * of them. It is carried down as rollout does it, with the attention of each window in its place:
 *
 *     r[j] <- (r[j] + sum_i r[i] A_l[i, j]) / 2      i and j of one window of layer l
 *     r[p] <- r[P] / 4                               for the four patches p that were merged to P
 *
 * Rows of both sum to one, so that a distribution stays one. The way down through a merging is that
 * of its residual: what a merged token is comes from each of its four patches alike.
 *
 * All maps are over the patches that the image is cut into, the first stage's: a layer of a higher
 * stage looks as coarse there as it is. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_STAGE_MAP_H
#define ATTND_ENGINE_EXPLAIN_STAGE_MAP_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/capture.h"
#include "engine/model/weights.h"

/* Rollout through the layers 1 to `layers`, beginning with the mean of that layer's tokens.
 * relevance, scratch: [patches]. */
void stage_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                       float *relevance, float *scratch);

/* What each token of a layer (1 is the lowest) receives on average, over heads and over the tokens
 * of its window; from there down through mergings only. */
void stage_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                     float *relevance, float *scratch);

/* gradient.h's g over the last stage's tokens, for every one is read, carried down from there; with
 * `is_last` through mergings only. ERR_NO_MEMORY. */
enum err_code stage_map_gradient(const struct spec *spec, const struct weights *weights,
                                 const struct capture *capture, unsigned label, bool is_last,
                                 struct arena *arena, float *relevance, float *scratch,
                                 struct err *err);

#endif
