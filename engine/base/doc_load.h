/* doc_load.h - jansson's parser, safe against failed allocations. Private to doc.c: the only caller
 * of json_loadb. For files that may include jansson.
 *
 * Threads: any; a parse belongs to the thread that runs it.
 */
#ifndef ATTND_ENGINE_BASE_DOC_LOAD_H
#define ATTND_ENGINE_BASE_DOC_LOAD_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

/* json_loadb. False: an allocation failed; *out is NULL, nothing is kept, *error is not set. True:
 * *out is the tree, or NULL with *error set. */
bool doc_load(json_t **out, const char *bytes, size_t len, size_t flags, json_error_t *error);

#endif
