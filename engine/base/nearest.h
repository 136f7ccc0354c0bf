/* nearest.h - the known name that a mistyped one most likely meant, for error texts.
 *
 *     const char *guess = nearest_name("modle", known, known_count); -> "model"
 *
 * Threads: no state. */
#ifndef ATTND_ENGINE_BASE_NEAREST_H
#define ATTND_ENGINE_BASE_NEAREST_H

#include <stddef.h>

/* Names longer than this are never near anything. */
enum { NEAREST_LENGTH_MAX = 64 };

/* The entry of known[count] with the smallest edit distance to name (insert, delete, replace, swap
 * of neighbours; ASCII case does not count), the first of equals. NULL when even that one is
 * further than a third of the longer name, rounded up. */
const char *nearest_name(const char *name, const char *const *known, size_t count);

#endif
