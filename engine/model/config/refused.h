/* refused.h - refuses members of config.json that no family supports: another kind of model, code
 * of the checkpoint's own, or a change of the encoder that is not implemented. The error has the
 * name and the alternative; each kind has one table.
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

/* ERR_UNSUPPORTED for a member that would change the result: code to run (auto_map), a causal mask
 * (is_decoder), attention to another model (add_cross_attention), removed heads (pruned_heads,
 * unless the family reads it: `prunes_heads`), or packed weights (quantization_config). Absent,
 * null, false and empty ones are accepted. */
enum err_code refused_members(const struct json_t *config, bool prunes_heads, struct err *err);

/* ERR_UNSUPPORTED, always: the text names the kind of model and the alternative, if known. `known`
 * lists the supported types; model_type NULL: config.json has none. */
enum err_code refused_type(const char *model_type, const char *known, struct err *err);

#endif
