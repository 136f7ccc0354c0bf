/* activation_name.h - reads the name of an activation in config.json, of those in transformers'
 * ACT2FN that the kernels have. Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_ACTIVATION_NAME_H
#define ATTND_ENGINE_MODEL_FAMILY_ACTIVATION_NAME_H

#include "engine/base/doc.h"
#include "engine/base/err.h"
#include "engine/tensor/kernels.h"

/* Reads the member `key`; if absent, `fallback`, or "gelu" if that is NULL. ERR_UNSUPPORTED has the
 * member's value and the supported names. */
enum err_code activation_name_read(const struct json_t *config, const char *key,
                                   const char *fallback, enum activation *out, struct err *err);

#endif
