/* refused.h - what a config.json may say that no family here can honour: another kind of model,
 * code of the checkpoint's own, or a change of the encoder that is not implemented. Each is refused
 * by name, with what to do instead; the list is one table a kind.
 *
 *     if (refused_members(config, false, &err))        // any family: auto_map, is_decoder, ...
 *         return err.code;
 *     refused_type(model_type, known, &err);           // of a model_type that no family has
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_REFUSED_H
#define ATTND_ENGINE_MODEL_CONFIG_REFUSED_H

#include "engine/base/err.h"

#include <stdbool.h>

struct json_t;

/* ERR_UNSUPPORTED for a member that would change the result: code to be run (auto_map), a causal
 * mask (is_decoder), attention to another model (add_cross_attention), heads cut out (pruned_heads,
 * unless the family reads it: `prunes_heads`), or packed weights (quantization_config). Absent,
 * null, false and empty ones pass. */
enum err_code refused_members(const struct json_t *config, bool prunes_heads, struct err *err);

/* ERR_UNSUPPORTED, always: what kind of model it is and what to take instead, if that is known.
 * `known` lists the supported types; model_type NULL: config.json has none. */
enum err_code refused_type(const char *model_type, const char *known, struct err *err);

#endif
