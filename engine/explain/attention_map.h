/* attention_map.h - which tokens the classifier's token attends to, from the attention alone.
 *
 * Both methods give a distribution over the tokens of the input, special ones included: numbers
 * that are not negative and sum to one. Neither depends on a class: they show where the model
 * attends, not what supports which class (gradient.h does that).
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_ATTENTION_MAP_H
#define ATTND_ENGINE_EXPLAIN_ATTENTION_MAP_H

#include "engine/model/capture.h"
#include "engine/model/spec.h"

/* The [CLS] row of attention rollout (Abnar and Zuidema 2020, section 3): with A_l the attention of
 * layer l averaged over heads, half of what a token is comes from itself by the residual,
 *
 *     R = (A_L + I)/2 ... (A_2 + I)/2 (A_1 + I)/2
 *
 * and only the first row of R is carried, from the top down: r <- (r + r A_l)/2. Rows of A_l sum to
 * one, so that those of (A_l + I)/2 do. `layers`, from 1 to all, are rolled out. 2 N^2 flops a
 * layer. relevance, scratch: [N].
 *
 * Of a layer whose queries see only the keys within a reach (model/bias/reach.h) A_l is zero beyond
 * it. Its rows sum to one like any others, so nothing changes but that relevance goes no further
 * than the layers on its way reach together: with local layers alone, a token beyond has exactly 0.
 */
void attention_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                           float *relevance, float *scratch);

/* What [CLS] attends to in one layer (1 is the lowest), averaged over heads. relevance: [N]. */
void attention_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                         float *relevance);

/* r <- r (A_(L-1) + I)/2 ... (A_1 + I)/2: a distribution over what the last layer reads becomes one
 * over the inputs. relevance, scratch: [N]. */
void attention_map_down(const struct spec *spec, const struct capture *capture, float *relevance,
                        float *scratch);

#endif
