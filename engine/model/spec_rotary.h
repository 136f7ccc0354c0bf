/* spec_rotary.h - config.json of a family with rotary positions and local layers: the two bases of
 * the angles, which layers are local, and how far those reach (Warner et al. 2024, section 2.1).
 *
 *     transformers 4   global_rope_theta, local_rope_theta, global_attn_every_n_layers,
 *                      local_attention; rope_scaling absent or null
 *     transformers 5   layer_types and rope_parameters in place of the first three, which is read
 *                      where it says what the others can say
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_ROTARY_H
#define ATTND_ENGINE_MODEL_SPEC_ROTARY_H

#include "engine/model/spec.h"

struct json_t;

/* The bases and, in the arena, the reaches into a spec that has its layers, hidden size and heads;
 * of another family nothing. ERR_UNSUPPORTED by the member's name for what is not supported: angles
 * that are scaled, another kind of layer, heads of an odd width. */
enum err_code spec_rotary_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err);

#endif
