/* activation_name.h - which activation a member of config.json names, of those in transformers'
 * ACT2FN that the kernels have. Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_ACTIVATION_NAME_H
#define ATTND_ENGINE_MODEL_FAMILY_ACTIVATION_NAME_H

#include "engine/base/doc.h"
#include "engine/base/err.h"
#include "engine/tensor/kernels.h"

/* The member `key`; where it is absent `fallback`, NULL for "gelu". ERR_UNSUPPORTED names what the
 * member says and what is supported. */
enum err_code activation_name_read(const struct json_t *config, const char *key,
                                   const char *fallback, enum activation *out, struct err *err);

#endif
