/* path_pattern.h - patterns of decoded paths: "{name}" is one element, or its beginning before
 * what follows in the pattern; all else is as it is.
 *
 *     path_pattern_matches("/models/{name}", "/models/wafer-vit")
 *     path_pattern_matches("/models/{name}:predict", "/models/wafer-vit:predict")
 *     path_pattern_value("/models/{name}", path, "name", &arena)        "wafer-vit"
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_HTTP_PATH_PATTERN_H
#define ATTND_SERVER_HTTP_PATH_PATTERN_H

#include "engine/base/arena.h"

#include <stdbool.h>

bool path_pattern_matches(const char *pattern, const char *path);

/* The element of the path that stands at "{name}" in the pattern, which has it and matches; in the
 * arena. NULL if there is no memory. */
const char *path_pattern_value(const char *pattern, const char *path, const char *name,
                               struct arena *arena);

#endif
