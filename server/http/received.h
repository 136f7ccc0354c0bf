/* received.h - the bytes that the HTTP library reads for a connection, as they came. The library
 * parses in place. Of a chunked body it tells only the bytes between the lines, and of a line that
 * comes in a read of its own it tells nothing.
 *
 *     received_open(&connection->received, fd, has_tls);     before anything is read
 *     received_begin_chunks(&connection->received, body)     the head is whole: true, and from now
 *                                                            on each read goes through .chunks
 *     received_forget(&connection->received);                the request is done
 *     received_close(&connection->received);                 before the socket is closed
 *
 * recv and gnutls_record_recv stand before the functions of these names that the library calls,
 * through the dynamic linker, which finds these first (http.c does the same). Sockets that were not
 * opened here pass through.
 *
 * Threads: a connection's reads and these calls are made by its I/O thread.
 */
#ifndef ATTND_SERVER_HTTP_RECEIVED_H
#define ATTND_SERVER_HTTP_RECEIVED_H

#include "server/http/layout.h"

#include <stdbool.h>
#include <stddef.h>

struct received {
    int fd;
    bool has_tls;
    const char *bytes; /* [len] the last read, where the library has it; of this request */
    size_t len;
    bool is_new; /* it has not been looked at: received_is_new */
    bool is_chunked;
    struct chunks chunks;
};

/* Sockets with higher numbers are not seen: their chunked bodies are refused. */
enum { RECEIVED_SOCKETS = 64 * 1024 };

void received_open(struct received *received, int fd, bool has_tls);
void received_close(struct received *received);

/* `body` is the byte behind the head. False: it does not stand in the last read, since the request
 * came together with one before it. */
bool received_begin_chunks(struct received *received, const char *body);
void received_forget(struct received *received);

/* True if something was read since the last call. */
bool received_is_new(struct received *received);

#endif
