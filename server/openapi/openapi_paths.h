/* openapi_paths.h - the paths of the document: an operation for each route. Private to openapi.
 * Threads: no state. */
#ifndef ATTND_SERVER_OPENAPI_OPENAPI_PATHS_H
#define ATTND_SERVER_OPENAPI_OPENAPI_PATHS_H

#include "server/openapi/openapi.h"

struct json_t; /* jansson's */

/* 0, or not: there is no memory. has_keys: the server takes nothing without a key. */
int openapi_paths_add(struct json_t *document, const struct openapi_route *routes, unsigned count,
                      bool has_keys);

#endif
