/* remote_call.h - one call to the server, asked again while it may pass: the part of remote.h that
 * knows statuses and pauses.
 *
 * Threads: a connection belongs to one at a time. */
#ifndef ATTND_TOOLS_BATCH_REMOTE_CALL_H
#define ATTND_TOOLS_BATCH_REMOTE_CALL_H

#include "engine/base/err.h"
#include "tools/batch/remote.h"
#include "tools/client/connection.h"

struct json_t;

struct remote_reply {
    unsigned status;
    struct json_t *body; /* yours to doc_free; NULL: it is no JSON */
};

/* `body` NULL: a GET. An item of `results` with a passing status counts as one of the whole.
 * ERR_IO after the last attempt, which tells how many there were; ERR_NO_MEMORY. */
enum err_code remote_call(const struct remote_server *server, struct connection *connection,
                          const char *path, const struct buffer *body, struct remote_reply *out,
                          struct err *err);

/* ERR_UNUSABLE: what the server said of the call, with its status. */
enum err_code remote_call_refused(const struct remote_server *server,
                                  const struct remote_reply *reply, struct err *err);

#endif
