/* tls_stream.h - the client's end of TLS over a connected socket, for the programs that ask a
 * server; their only interface to GnuTLS. The server's end is in server/http.
 *
 *     tls_stream_trust_open(&trust, &(struct tls_stream_trust_options){.ca_file = "ca.pem"}, &err);
 *     tls_stream_open(&stream, trust, fd, "localhost", &err);
 *     while ((result = tls_stream_shake_hands(stream, &err)) == TLS_STREAM_WAIT) ... poll ...
 *     tls_stream_send(stream, request, len); tls_stream_recv(stream, piece, sizeof piece);
 *     tls_stream_close(stream); close(fd);
 *     tls_stream_trust_close(trust);
 *
 * TLS 1.2 and 1.3. The socket stays the caller's, and blocks or not as the caller made it.
 *
 * Threads: a stream by one at a time; a trust is immutable, and outlives its streams.
 */
#ifndef ATTND_TOOLS_CLIENT_TLS_STREAM_H
#define ATTND_TOOLS_CLIENT_TLS_STREAM_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls_stream_trust_options {
    const char *ca_file;              /* PEM; NULL: the system's authorities */
    const char *cert_file, *key_file; /* the client's own, PEM; NULL: it has none */
    bool takes_any;                   /* no certificate is looked at */
    bool takes_expired;               /* nor its dates */
};

struct tls_stream_trust;

/* Whose certificates are taken: those that an authority of the file vouches for, and the file's
 * own. ERR_UNUSABLE for a file that cannot be used; strings are not kept. */
enum err_code tls_stream_trust_open(struct tls_stream_trust **out,
                                    const struct tls_stream_trust_options *options,
                                    struct err *err);
void tls_stream_trust_close(struct tls_stream_trust *trust); /* NULL does no harm */

struct tls_stream;

/* The certificate must be of that host, a name or a numeric address; NULL: of any. */
enum err_code tls_stream_open(struct tls_stream **out, const struct tls_stream_trust *trust, int fd,
                              const char *host, struct err *err);
/* Says goodbye, if that can be sent at once. NULL does no harm. */
void tls_stream_close(struct tls_stream *stream);

enum tls_stream_result {
    TLS_STREAM_DONE,
    TLS_STREAM_WAIT,      /* for tls_stream_wants_write or for bytes; a blocking socket: too long */
    TLS_STREAM_UNTRUSTED, /* err says what is wrong with the certificate */
    TLS_STREAM_BROKEN,    /* the other side has left, or does not speak TLS */
};
enum tls_stream_result tls_stream_shake_hands(struct tls_stream *stream, struct err *err);
bool tls_stream_wants_write(const struct tls_stream *stream);

/* Results are those of send(2) and recv(2), but every error other than EAGAIN is ECONNRESET. After
 * EAGAIN the same bytes must be sent again. The end of the connection is 0, also without TLS's
 * close_notify: HTTP says where its messages end. */
ssize_t tls_stream_send(struct tls_stream *stream, const void *bytes, size_t len);
ssize_t tls_stream_recv(struct tls_stream *stream, void *bytes, size_t len);

/* Bytes that the socket has taken so far, with the handshake. */
uint64_t tls_stream_wire_bytes(const struct tls_stream *stream);

#endif
