/* nearest.h - "did you mean": the known name nearest to a mistyped one.
 *
 *     const char *near = nearest_name("queue_limt", known, count); // "queue_limit"
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_BASE_NEAREST_H
#define ATTND_ENGINE_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The first of the names known[0..count) with the smallest edit distance to `name`, if at most one
 * byte more than a third of `name` has to change, else NULL. Names of more than 64 bytes are near
 * to nothing, and so is one that is too much to compare: a millisecond at most is spent. */
const char *nearest_name(const char *name, const char *const *known, size_t count);

/* Appends ", name" to a list of known names for an error text, list[size] being "" at first. False
 * if that does not fit: the list then ends with "..." and takes no more. size is at least 8. */
bool nearest_list(char *list, size_t size, const char *name);

#endif
