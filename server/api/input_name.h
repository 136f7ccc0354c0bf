/* input_name.h - which input a request names: by the path, /feedback/{id}?index=1, or by the query,
 * /feedback?id=lot7%2Fdie-3&index=1. The query may have any id. A path cannot hold one that has a
 * slash or is "." or "..", and /review/groups is no input.
 *
 * Threads: that of the request.
 */
#ifndef ATTND_SERVER_API_INPUT_NAME_H
#define ATTND_SERVER_API_INPUT_NAME_H

#include "server/serve/request.h"

struct input_name {
    const char *id; /* the request's arena's */
    unsigned index; /* of the element of `inputs`; 0 if it is not named */
};

/* By the pattern of the request's route and its query. ERR_UNUSABLE: another option, no id, or no
 * index; ERR_NO_MEMORY. Returns request->err.code. */
enum err_code input_name_read(struct input_name *out, struct request *request);

#endif
