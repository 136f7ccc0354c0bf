/* connection.h - one kept-alive connection: it carries one request at a time.
 *
 *     struct connection connection;
 *     connection_init(&connection);
 *     connection.trust = trust; connection.host = "localhost";   for TLS
 *     connection_send(&connection, address, len, request, bytes);  opens a socket if there is none
 *     ... when epoll reports connection.fd, or at once after connection_send:
 *     switch (connection_event(&connection)) {
 *     case CONNECTION_WAITING: ...   poll for connection_wants(&connection)
 *     case CONNECTION_REPLIED: ...   connection.reply
 *     case CONNECTION_FAILED:  ...   connection.failure; connection.retryable
 *     case CONNECTION_CLOSED:  ...   the peer closed it while idle
 *     }
 *
 * Sockets are non-blocking. Threads: one at a time.
 */
#ifndef ATTND_TOOLS_CLIENT_CONNECTION_H
#define ATTND_TOOLS_CLIENT_CONNECTION_H

#include "engine/base/err.h"
#include "tools/client/buffer.h"
#include "tools/client/outcome.h"
#include "tools/client/tls_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* An incremental parser of HTTP/1.1 replies.
 *
 *     struct http_parse reply = {0};
 *     http_parse_reset(&reply);
 *     switch (http_parse_feed(&reply, bytes, len, &used)) {
 *     case HTTP_PARSE_MORE: ...        feed what arrives next; http_parse_end if nothing will
 *     case HTTP_PARSE_DONE: ...        reply.status, reply.body; bytes from `used` on are not its
 *     case HTTP_PARSE_BAD: ...         reply.why
 *     }
 *
 * Strict about framing: lines end in CRLF, one Content-Length, never both framings, chunk sizes
 * that fit. Interim (1xx) replies are skipped. Threads: one at a time.
 */

enum {
    HTTP_PARSE_LINE_MAX = 8192,
    HTTP_PARSE_LINES_MAX = 128,            /* header and trailer lines */
    HTTP_PARSE_BODY_MAX = 64 * 1024 * 1024 /* bytes */
};

enum http_parse_result { HTTP_PARSE_MORE, HTTP_PARSE_DONE, HTTP_PARSE_BAD };

struct http_parse {
    /* The reply; complete when the result is HTTP_PARSE_DONE. */
    unsigned status;
    bool closes;      /* no further request on this connection */
    bool retry_after; /* a Retry-After header with a number of seconds was there */
    struct buffer body;
    const char *why; /* after HTTP_PARSE_BAD; static */

    /* State of the parser. */
    enum {
        HTTP_PARSE_STATUS,
        HTTP_PARSE_HEADERS,
        HTTP_PARSE_BODY,       /* `left` bytes */
        HTTP_PARSE_BODY_CLOSE, /* until the connection closes */
        HTTP_PARSE_CHUNK_SIZE,
        HTTP_PARSE_CHUNK, /* `left` bytes */
        HTTP_PARSE_CHUNK_END,
        HTTP_PARSE_TRAILERS,
        HTTP_PARSE_WHOLE,
        HTTP_PARSE_BROKEN
    } at;
    bool has_length, chunked, any_byte;
    uint64_t length, left;
    unsigned lines;
    size_t line_len;
    char line[HTTP_PARSE_LINE_MAX];
};

/* Ready for the next reply; keeps the body's memory. */
void http_parse_reset(struct http_parse *parse);
void http_parse_deinit(struct http_parse *parse);

/* Reads up to the reply's end; *used is how many of the bytes it took. */
enum http_parse_result http_parse_feed(struct http_parse *parse, const char *bytes, size_t len,
                                       size_t *used);

/* The connection has closed: DONE if that ends the reply, else BAD. */
enum http_parse_result http_parse_end(struct http_parse *parse);

enum connection_state {
    CONNECTION_NONE,
    CONNECTION_IDLE,
    CONNECTION_CONNECTING,
    CONNECTION_SHAKING, /* hands, under TLS */
    CONNECTION_SENDING,
    CONNECTION_RECEIVING
};

enum connection_result {
    CONNECTION_WAITING,
    CONNECTION_REPLIED,
    CONNECTION_FAILED,
    CONNECTION_CLOSED
};

struct connection {
    int fd; /* -1: none */
    enum connection_state state;
    struct http_parse reply;
    enum outcome failure; /* after CONNECTION_FAILED */
    bool retryable;       /* ... the server did not receive it all, on a reused connection */

    const char *request; /* borrowed until the result */
    size_t request_len, sent;
    unsigned served;         /* requests that this socket has carried to their reply */
    uint64_t acknowledged_0; /* TCP_INFO's count of acknowledged bytes before this request, or,
                                under TLS, before the handshake */
    uint64_t bytes_out, bytes_in;

    const struct tls_stream_trust *trust; /* set by the caller, borrowed; NULL: plain HTTP */
    const char *host;                     /* host that the certificate must name; NULL: any */
    struct tls_stream *tls;               /* session of the socket; NULL: none yet */
    struct err err;                       /* error of a failed handshake; reply.why shows it */
};

void connection_init(struct connection *connection);
void connection_deinit(struct connection *connection);

/* Begins a request on the open socket, or on a new one. False with errno if no socket can be had or
 * the address refuses at once. The caller adds a new connection->fd to its epoll set. */
bool connection_send(struct connection *connection, const struct sockaddr *address,
                     socklen_t address_len, const char *request, size_t len);

enum connection_result connection_event(struct connection *connection);

/* EPOLLIN or EPOLLOUT. */
uint32_t connection_wants(const struct connection *connection);

/* Closes the socket, whatever it was doing. */
void connection_close(struct connection *connection);

#endif
