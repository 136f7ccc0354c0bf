/* tls.h - the server's certificate, and what is known of a client by its own; the only interface to
 * GnuTLS, whose sessions the HTTP library drives.
 *
 *     if (tls_open(&tls, "server.pem", "server.key", "", &err)) ...
 *     if (tls_read(tls, &next, &err) == ERR_OK)          a reload: the same files again
 *         tls_use(tls, next);                             from now on handshakes get this one
 *
 * TLS 1.2 and 1.3. Each handshake takes the certificate that is in use when it begins, so one that
 * is exchanged drops no connection. Clients are asked for a certificate if there is a file of
 * authorities, and may come without one: what it opens is for the keys to say (server/auth).
 *
 * Error texts name the option and what is wrong, without directories. Threads: any; internally
 * locked, a leaf.
 */
#ifndef ATTND_SERVER_HTTP_TLS_H
#define ATTND_SERVER_HTTP_TLS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_FILE_BYTES_MAX = 256 * 1024, TLS_CHAIN_MAX = 8, TLS_NAMES_MAX = 16 };

struct tls;
struct tls_certificate;

/* *out is NULL if cert_file is NULL or "": the server speaks plain HTTP. ERR_UNUSABLE for a file
 * that cannot be used, or a key that is not the certificate's; ERR_NO_MEMORY. Strings are
 * copied. */
enum err_code tls_open(struct tls **out, const char *cert_file, const char *key_file,
                       const char *client_ca_file, struct err *err);
void tls_close(struct tls *tls);

/* The files as they are now. Errors as above; nothing changes. */
enum err_code tls_read(const struct tls *tls, struct tls_certificate **out, struct err *err);
/* True if its first certificate is not the one in use. */
bool tls_is_new(struct tls *tls, const struct tls_certificate *next);
void tls_use(struct tls *tls, struct tls_certificate *next); /* takes ownership */
void tls_discard(struct tls_certificate *certificate);       /* one that is not to be used */

/* Unix time at which the certificate in use ends, or the first of its chain to do so. */
int64_t tls_expiry_s(struct tls *tls);

/* ---- for http.c ---- */

const char *tls_priorities(void);
/* The authorities as PEM; NULL: clients are not asked for a certificate. */
const char *tls_client_authorities(const struct tls *tls);

/* Limits of the bytes that a session may receive before any of them is read. GnuTLS keeps a
 * handshake message until it is whole, and a client without a key may announce 16 MiB, in a
 * handshake and after it; gnutls_handshake_set_max_packet_length looks at whole messages only. The
 * first limit holds in a handshake: a ClientHello and the client's certificates, which stay as long
 * as the connection. The second holds after it: the largest head and a record. */
enum { TLS_HANDSHAKE_BYTES_MAX = 16 * 1024, TLS_UNREAD_BYTES_MAX = 20 * 1024 };

/* Counts the unread bytes of a session, and must outlive it. */
struct tls_intake {
    int fd;
    size_t unread_bytes; /* received since something was read last: set to 0 then */
    bool is_open;        /* the handshake is over */
};

/* Bounds the memory of a session. Call it before the handshake. */
void tls_bound(void *session, struct tls_intake *intake, int fd);

/* The callback for MHD_OPTION_HTTPS_CERT_CALLBACK2; there is one server in a process. */
void *tls_certificate_callback(struct tls *tls);

/* The client's names, from a session whose handshake is over: the subject's common name and the DNS
 * names of a certificate that the authorities vouch for, [*count] in the arena, NUL-terminated.
 * NULL if there is none. *until_s: when the first of its chain expires, in Unix time: a connection
 * may outlive it. */
const char **tls_client_names(void *session, unsigned *count, int64_t *until_s,
                              struct arena *arena);

#endif
