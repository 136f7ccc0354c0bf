/* spec_labels.h - config.json's object -> a spec's labels and kind of scores. For spec_config.c.
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_LABELS_H
#define ATTND_ENGINE_MODEL_SPEC_LABELS_H

#include "engine/model/spec.h"

struct json_t;

/* Reads id2label, else num_labels; then problem_type. Strings in the arena. ERR_UNSUPPORTED, and
 * the errors of doc.h's readers. */
enum err_code spec_labels_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err);

#endif
