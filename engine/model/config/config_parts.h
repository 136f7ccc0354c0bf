/* config_parts.h - readers of parts of config.json: what no family supports (refused.c), and
 * rotary positions. For spec_config.c. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_CONFIG_PARTS_H
#define ATTND_ENGINE_MODEL_CONFIG_CONFIG_PARTS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

struct json_t;

/* ERR_UNSUPPORTED for a member that would change the result: code to run (auto_map), a causal mask
 * (is_decoder), attention to another model (add_cross_attention), removed heads (pruned_heads,
 * unless the family reads it: `prunes_heads`), or packed weights (quantization_config). Absent,
 * null, false and empty ones are accepted. */
enum err_code refused_members(const struct json_t *config, bool prunes_heads, struct err *err);

/* ERR_UNSUPPORTED, always: the text names the kind of model and the alternative, if known. `known`
 * lists the supported types; model_type NULL: config.json has none. */
enum err_code refused_type(const char *model_type, const char *known, struct err *err);

enum { ROTARY_KINDS = 2 }; /* kinds of layers: global ones, which see all tokens, and local ones */

/* Rotary positions and local layers: the bases of the angles, the local layers, and their reach
 * (Warner et al. 2024, section 2.1).
 *
 *     transformers 4   global_rope_theta, local_rope_theta, global_attn_every_n_layers,
 *                      local_attention; rope_scaling absent or null
 *     transformers 5   layer_types and rope_parameters in place of the first three; read if version
 *                      4 could express the same
 */
struct rotary_config {
    double base[ROTARY_KINDS];
    const unsigned *reaches; /* [layers] in the arena: farthest token seen; 0: all */
};

/* ERR_UNSUPPORTED or ERR_UNUSABLE, with the member's name, for scaled angles, another kind of
 * layer, and a window below 2. */
enum err_code rotary_config_read(struct rotary_config *out, const struct json_t *config,
                                 unsigned layers, struct arena *arena, struct err *err);

#endif
