/* openapi_values.h - the values that replace "@name" in the document: limits of the code, limits of
 * the configuration in service, and lists of words. Private to openapi. Threads: no state. */
#ifndef ATTND_SERVER_OPENAPI_OPENAPI_VALUES_H
#define ATTND_SERVER_OPENAPI_OPENAPI_VALUES_H

#include "server/serve/snapshots.h"

struct json_t; /* jansson's */

/* Replaces every string that begins with '@', in all of the tree. 0, or not: there is no memory, or
 * no value of the name. */
int openapi_values_fill(struct json_t *tree, const struct snapshot *snapshot);

#endif
