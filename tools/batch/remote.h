/* remote.h - answers chunks through a running attnd: inputs go in envelopes of POST /predict, as
 * many as the server takes at once. What will pass (429, 503, a connection that breaks) is asked
 * again, REMOTE_ATTEMPTS times in all with growing pauses: a prediction may be asked for twice.
 *
 *     remote_server_open(&server, &options, &err);      asks GET /models
 *     remote_open(&remote, &server, &err);
 *     remote_answer(remote, chunk, &err);
 *     remote_close(remote);
 *     remote_server_close(&server);
 *
 * Threads: a server is immutable after open; a struct remote belongs to one thread at a time.
 */
#ifndef ATTND_TOOLS_BATCH_REMOTE_H
#define ATTND_TOOLS_BATCH_REMOTE_H

#include "tools/batch/chunk.h"
#include "tools/batch/result.h"
#include "tools/client/buffer.h"
#include "tools/client/server_url.h"
#include "tools/client/tls_stream.h"

#include <stdatomic.h>

enum { REMOTE_ATTEMPTS = 8, REMOTE_PAUSE_MS = 250 };

struct remote_options {
    const char *url;
    const char *model;              /* a name; NULL: the server's default */
    const char *explain;            /* a method, or "default"; NULL: none */
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
    struct buffer identity; /* name, version and digest of the models that may answer */
    bool takes_images;      /* and no texts */
    unsigned inputs_max;
    size_t body_bytes_max;
};

/* ERR_UNUSABLE for a model that it does not serve, or another answer than is expected; ERR_IO. */
enum err_code remote_server_open(struct remote_server *out, const struct remote_options *options,
                                 struct err *err);
void remote_server_close(struct remote_server *server);

struct remote;
enum err_code remote_open(struct remote **out, const struct remote_server *server, struct err *err);
void remote_close(struct remote *remote);

/* The same as local_answer. It also fails if the server refuses a whole request for good (the key,
 * the model), or cannot be reached after all attempts. */
enum err_code remote_answer(struct remote *remote, struct chunk *chunk, struct err *err);

#endif
