/* spec_config.h - config.json's object -> a spec: family, sizes, labels, scores. For spec.c; what a
 * spec is, and what is refused, stands in spec.h. Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_CONFIG_H
#define ATTND_ENGINE_MODEL_SPEC_CONFIG_H

#include "engine/model/spec.h"

struct json_t;

/* Over a spec of zeros; strings in the arena. ERR_UNSUPPORTED and what doc.h's readers return. */
enum err_code spec_config_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err);

/* The encoder of the labels of a zero-shot model, from the same object. */
enum err_code spec_config_read_labels(struct spec *spec, const struct json_t *config,
                                      struct err *err);

#endif
