/* spec_config_stages.h - the members of config.json that are lists, one number a stage: depths and
 * num_heads, with embed_dim and window_size (SwinConfig). Threads: pure functions. */
#ifndef ATTND_ENGINE_MODEL_SPEC_CONFIG_STAGES_H
#define ATTND_ENGINE_MODEL_SPEC_CONFIG_STAGES_H

#include "engine/base/doc.h"
#include "engine/model/spec.h"

/* Fills stages but for their MLP, and layers, heads, hidden and window. ERR_UNSUPPORTED by name. */
enum err_code spec_config_stages(struct spec *spec, const struct json_t *config, struct err *err);

/* Whether windows of all stages fit into images of this size without a rest. */
enum err_code spec_config_stages_fit(const struct spec *spec, unsigned image_size, struct err *err);

#endif
