/* remote_call.h - a server, and one call to it, which is repeated while the failure may pass: the
 * part of remote.c that knows statuses and pauses.
 *
 * Threads: a connection belongs to one at a time. */
#ifndef ATTND_TOOLS_BATCH_REMOTE_CALL_H
#define ATTND_TOOLS_BATCH_REMOTE_CALL_H

#include "engine/base/err.h"
#include "tools/answers/asking.h"
#include "tools/batch/result.h"
#include "tools/client/buffer.h"
#include "tools/client/connection.h"
#include "tools/client/server_url.h"
#include "tools/client/tls_stream.h"

#include <stdatomic.h>

struct json_t;

enum { REMOTE_ATTEMPTS = 8, REMOTE_PAUSE_MS = 250 };

struct remote_options {
    const char *url;
    const char *model;       /* a name; NULL: the server's default */
    const char *explain;     /* a method, or "default"; NULL: none */
    const char *prompt_name; /* NULL: the model's */
    struct asking asking;
    const char *key_file, *ca_file; /* NULL: none; the system's authorities */
    struct result_format format;
    unsigned pause_ms;       /* before the second attempt; it doubles, to 32 times as much */
    const atomic_bool *stop; /* set by another thread: no further attempt; NULL: never */
};

struct remote_server {
    const struct remote_options *options;
    struct server_url url;
    struct tls_stream_trust *trust;
    struct buffer authorization;
    char *asked;            /* members of a request that are asked for all inputs */
    struct buffer identity; /* name, version and digest of the models that may answer */
    bool takes_images;      /* and no texts */
    bool asks;              /* a model that may answer takes questions */
    unsigned texts;         /* of an answer, of models that all write texts; 0: they do not */
    unsigned inputs_max;
    size_t body_bytes_max;
};

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
