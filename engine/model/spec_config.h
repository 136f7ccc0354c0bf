/* spec_config.h - config.json's object -> a spec: family, sizes, labels, scores. For spec.c; spec.h
 * describes a spec, and config/config_parts.h has the readers of parts. Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_CONFIG_H
#define ATTND_ENGINE_MODEL_SPEC_CONFIG_H

#include "engine/model/spec.h"

struct json_t;

/* Fills a spec of zeros; strings in the arena. ERR_UNSUPPORTED, and the errors of doc.h's
 * readers. */
enum err_code spec_config_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err);

/* Reads the encoder of labels of a zero-shot model, from the same object. */
enum err_code spec_config_read_labels(struct spec *spec, const struct json_t *config,
                                      struct err *err);

/* Reads the sizes of a stack whose family is set. ERR_UNSUPPORTED, and the errors of doc.h's
 * readers. */
enum err_code spec_config_read_sizes(struct spec *spec, const struct json_t *config,
                                     struct err *err);

/* Reads id2label, else num_labels; then problem_type. Strings in the arena. ERR_UNSUPPORTED, and
 * the errors of doc.h's readers. */
enum err_code spec_labels_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err);

#endif
