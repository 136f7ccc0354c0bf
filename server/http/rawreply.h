/* rawreply.h - an answer written straight to a socket, for the two moments at which the HTTP
 * library takes none: while a body is arriving, and while it is closing a connection.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_HTTP_RAWREPLY_H
#define ATTND_SERVER_HTTP_RAWREPLY_H

#include "server/http/http_app.h"

/* Sends the reply with Connection: close; with_body false answers a HEAD. Memory comes from the
 * arena; without memory, or if the peer takes nothing, nothing is sent. */
void rawreply_send(int fd, const struct http_reply *reply, bool with_body, struct arena *arena);

/* Copies id without the bytes that do not belong in a header (what is not printable ASCII). NULL
 * if nothing remains or there is no memory. */
const char *rawreply_header_safe(const char *id, struct arena *arena);

#endif
