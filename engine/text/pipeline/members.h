/* members.h - refuses unknown members of tokenizer.json, because they could change the ids.
 *
 *     static const char *const known[] = {"type", "strip_left", "strip_right", NULL};
 *     if (members_check(step, "$.normalizer", known, &err))
 *         return err.code;
 *     if (members_type(&type, step, "$.normalizer", &err))
 *         return err.code;
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_MEMBERS_H
#define ATTND_ENGINE_TEXT_PIPELINE_MEMBERS_H

#include "engine/base/err.h"

#include <stdbool.h>

struct json_t;

/* known: names, ended by NULL. ERR_UNSUPPORTED for a member of another name, and for a value that
 * is not an object. */
enum err_code members_check(const struct json_t *object, const char *path, const char *const *known,
                            struct err *err);

/* The string member "type", borrowed. ERR_UNSUPPORTED if there is none. */
enum err_code members_type(const char **out, const struct json_t *object, const char *path,
                           struct err *err);

/* True if `json` is an object of that type. */
bool members_has_type(const struct json_t *json, const char *type);

/* Sets and returns the error for a type that the reader's table does not have: ERR_UNSUPPORTED. */
enum err_code members_unknown_type(const char *type, const char *path, struct err *err);

#endif
