/* label_map.h - an object of attnd.json with a value for every label, {"Center": 0.8, ...}: a label
 * without a member, or a member that is no label, is an error that names it. Threads: no state.
 */
#ifndef ATTND_ENGINE_DECIDE_LABEL_MAP_H
#define ATTND_ENGINE_DECIDE_LABEL_MAP_H

#include "engine/base/err.h"

struct json_t;

/* Calls visit once for each label, in the object's order; value may be JSON's null. Labels that are
 * equal share a member. `path` names the object in error texts. */
enum err_code label_map_read(const struct json_t *object, const char *path,
                             const char *const *labels, unsigned count,
                             enum err_code (*visit)(void *context, unsigned label,
                                                    const struct json_t *value, struct err *err),
                             void *context, struct err *err);

#endif
