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

/* Returns the first of the names known[0..count) with the smallest edit distance to `name`, if that
 * is at most a third of `name`'s bytes plus one; else NULL. Also NULL for names of more than 64
 * bytes, and if the comparison would take more than about a millisecond. */
const char *nearest_name(const char *name, const char *const *known, size_t count);

/* Appends ", name" to a list of known names for an error text; list[size] is "" at first. False if
 * that does not fit: the list then ends with "..." and is full. size is at least 8. Names may come
 * from a file: a control character, which a terminal would obey, becomes "?". */
bool nearest_list(char *list, size_t size, const char *name);

#endif
