/* rotary_config.h - config.json's rotary positions and local layers: the bases of the angles, the
 * local layers, and their reach (Warner et al. 2024, section 2.1).
 *
 *     transformers 4   global_rope_theta, local_rope_theta, global_attn_every_n_layers,
 *                      local_attention; rope_scaling absent or null
 *     transformers 5   layer_types and rope_parameters in place of the first three; read if version
 *                      4 could express the same
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_ROTARY_CONFIG_H
#define ATTND_ENGINE_MODEL_CONFIG_ROTARY_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

struct json_t;

enum { ROTARY_KINDS = 2 }; /* kinds of layers: global ones, which see all tokens, and local ones */

struct rotary_config {
    double base[ROTARY_KINDS];
    const unsigned *reaches; /* [layers] in the arena: farthest token seen; 0: all */
};

/* ERR_UNSUPPORTED or ERR_UNUSABLE, with the member's name, for scaled angles, another kind of
 * layer, and a window below 2. */
enum err_code rotary_config_read(struct rotary_config *out, const struct json_t *config,
                                 unsigned layers, struct arena *arena, struct err *err);

#endif
