/* rotary_config.h - what config.json says of rotary positions and local layers: the bases of the
 * angles, which layers are local, and how far those reach (Warner et al. 2024, section 2.1).
 *
 *     transformers 4   global_rope_theta, local_rope_theta, global_attn_every_n_layers,
 *                      local_attention; rope_scaling absent or null
 *     transformers 5   layer_types and rope_parameters in place of the first three, which is read
 *                      where it says what the others can say
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_ROTARY_CONFIG_H
#define ATTND_ENGINE_MODEL_CONFIG_ROTARY_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

struct json_t;

enum { ROTARY_KINDS = 2 }; /* of layers: global ones, which see all tokens, and local ones */

struct rotary_config {
    double base[ROTARY_KINDS];
    const unsigned *reaches; /* [layers] in the arena: to how many tokens away; 0: to all */
};

/* ERR_UNSUPPORTED or ERR_UNUSABLE by the member's name for what is not supported: angles that are
 * scaled, another kind of layer, a window below 2. */
enum err_code rotary_config_read(struct rotary_config *out, const struct json_t *config,
                                 unsigned layers, struct arena *arena, struct err *err);

#endif
