/* http.h - the HTTP/1.1 server: the only interface to libmicrohttpd.
 *
 * http_start opens a listener with a pool of I/O threads and calls the application (a table of
 * functions) for each exchange, always in this order and always on an I/O thread:
 *
 *     head    headers are whole and framed soundly; the application may refuse before any body
 *     begin   the body is whole; the application answers, or suspends and returns HTTP_SUSPENDED
 *     finish  after http_resume: the application fills the reply
 *     more    a part of a reply with `has_more` is sent: the application gives the next part, or
 *             suspends, and `finish` gives it
 *     done    the reply is sent, or the client is gone; the exchange's arena is freed after it
 *
 * `done` is called exactly once for every exchange whose `head` or `refuse` was called. An exchange
 * has one owner at a time: between http_suspend and http_resume the I/O threads do not touch it,
 * and the thread that resumes it does not touch it again.
 *
 * What the edge refuses by itself (bad framing, over-long or slow heads and bodies, missing length,
 * Expect of a body over the limit) goes through `refuse`, so that every error has one encoder. It
 * may come without `head`, and for a head that never became whole the exchange has no path, no
 * headers and no query. The library's own refusals (http.c lists them) do not come at all.
 *
 * A `head` that replies is answered once the body has come and been dropped, so the client can
 * read the answer and keep its connection.
 */
#ifndef ATTND_SERVER_HTTP_HTTP_H
#define ATTND_SERVER_HTTP_HTTP_H

#include "engine/base/err.h"
#include "server/http/http_app.h"

/* Resident bytes of an idle connection: the library's pool, its record and ours. Measured with 4000
 * connections that had made one request each: 33456. The kernel's socket comes on top. */
enum { HTTP_CONNECTION_BYTES = 34 * 1024 };

/* Additional bytes of a TLS connection: 18 KiB after a handshake, or 32 KiB with the largest chain
 * of client certificates that is accepted (16 KiB; 12.6 measured), and the part of a message that
 * is never finished (20 KiB, for which GnuTLS takes 1.8 times as much). */
enum { HTTP_TLS_BYTES = 72 * 1024 };

struct http_server;

/* ERR_UNUSABLE if the libmicrohttpd that is linked is of a version that is not supported
 * (library.c): to be asked before the work of a start; http_start asks again. */
enum err_code http_check_library(struct err *err);

/* ERR_IO if the address cannot be bound, ERR_UNUSABLE for an inherited socket that is none. The
 * application's table must outlive the server. */
enum err_code http_start(struct http_server **out, const struct http_options *options,
                         const struct http_app *app, struct err *err);
unsigned http_port(const struct http_server *server); /* 0: a socket in the file system */
/* "127.0.0.1", "::1", "unix:/run/attnd/admin.sock"; valid as long as the server. */
const char *http_address(const struct http_server *server);

/* Lets those in that have been held. */
void http_accept(struct http_server *server);

/* From now on every reply carries Connection: close, and idle keep-alive connections are closed. */
void http_drain(struct http_server *server);

/* Closes the listening socket; connections go on. What waits at an inherited one waits on. */
void http_quiesce(struct http_server *server);

/* Connections that hold an exchange (head seen, done not yet called), or whose head is arriving. */
unsigned http_busy(const struct http_server *server);

/* Closes every connection and joins the I/O threads. Begins nothing new and waits for what is still
 * suspended: its holders must be able to resume it. */
void http_stop(struct http_server *server);

#endif
