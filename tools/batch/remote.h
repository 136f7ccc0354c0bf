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
#include "tools/batch/remote_call.h"

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
