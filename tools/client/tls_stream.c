#include "tools/client/tls_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The versions that the server speaks (server/http/tls.c). */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct tls_stream_trust {
    gnutls_certificate_credentials_t credentials;
    bool takes_any;
    unsigned flags; /* of a verification */
};

struct tls_stream {
    gnutls_session_t session;
    int fd;
    uint64_t wire_bytes;
    bool is_open; /* the handshake is over */
};

/* ---- whom to trust ---- */

static enum err_code take_authorities(struct tls_stream_trust *trust, const char *ca_file,
                                      struct err *err)
{
    int count = ca_file != NULL ? gnutls_certificate_set_x509_trust_file(
                                      trust->credentials, ca_file, GNUTLS_X509_FMT_PEM)
                                : gnutls_certificate_set_x509_system_trust(trust->credentials);
    if (count > 0)
        return ERR_OK;
    const char *name = ca_file != NULL ? ca_file : "the system's authorities";
    return err_set(err, ERR_UNUSABLE, "%s: %s", name,
                   count == 0 ? "holds no certificate" : gnutls_strerror(count));
}

static enum err_code take_own(struct tls_stream_trust *trust,
                              const struct tls_stream_trust_options *options, struct err *err)
{
    int code = gnutls_certificate_set_x509_key_file(trust->credentials, options->cert_file,
                                                    options->key_file, GNUTLS_X509_FMT_PEM);
    if (code >= 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s and %s: %s", options->cert_file, options->key_file,
                   gnutls_strerror(code));
}

enum err_code tls_stream_trust_open(struct tls_stream_trust **out,
                                    const struct tls_stream_trust_options *options, struct err *err)
{
    *out = NULL;
    struct tls_stream_trust *trust = calloc(1, sizeof *trust);
    if (trust == NULL || gnutls_certificate_allocate_credentials(&trust->credentials) < 0) {
        free(trust);
        return err_no_memory(err, sizeof *trust);
    }
    trust->takes_any = options->takes_any;
    trust->flags = options->takes_expired ? GNUTLS_VERIFY_DISABLE_TIME_CHECKS |
                                                GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS
                                          : 0;
    if ((!options->takes_any && take_authorities(trust, options->ca_file, err)) ||
        (options->cert_file != NULL && take_own(trust, options, err))) {
        tls_stream_trust_close(trust);
        return err->code;
    }
    *out = trust;
    return ERR_OK;
}

void tls_stream_trust_close(struct tls_stream_trust *trust)
{
    if (trust == NULL)
        return;
    gnutls_certificate_free_credentials(trust->credentials);
    free(trust);
}

/* ---- one connection ---- */

/* Counts what leaves, which is more than what is sent. */
static ssize_t push(gnutls_transport_ptr_t context, const void *bytes, size_t len)
{
    struct tls_stream *stream = context;
    ssize_t sent = send(stream->fd, bytes, len, MSG_NOSIGNAL);
    if (sent < 0)
        gnutls_transport_set_errno(stream->session, errno);
    else
        stream->wire_bytes += (size_t)sent;
    return sent;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *bytes, size_t len)
{
    struct tls_stream *stream = context;
    ssize_t got = recv(stream->fd, bytes, len, 0);
    if (got < 0)
        gnutls_transport_set_errno(stream->session, errno);
    return got;
}

static bool is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

enum err_code tls_stream_open(struct tls_stream **out, const struct tls_stream_trust *trust, int fd,
                              const char *host, struct err *err)
{
    *out = NULL;
    struct tls_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || gnutls_init(&stream->session, GNUTLS_CLIENT) < 0) {
        free(stream);
        return err_no_memory(err, sizeof *stream);
    }
    stream->fd = fd;
    gnutls_session_t session = stream->session;
    int code = gnutls_priority_set_direct(session, priorities, NULL);
    if (code >= 0)
        code = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, trust->credentials);
    if (code >= 0 && host != NULL && !is_numeric(host)) /* an address is no name: RFC 6066 */
        code = gnutls_server_name_set(session, GNUTLS_NAME_DNS, host, strlen(host));
    if (!trust->takes_any)
        gnutls_session_set_verify_cert(session, host, trust->flags);
    gnutls_transport_set_ptr(session, stream);
    gnutls_transport_set_push_function(session, push);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_handshake_set_timeout(session, GNUTLS_INDEFINITE_TIMEOUT); /* the caller's to keep */
    if (code < 0) {
        tls_stream_close(stream);
        return err_no_memory(err, sizeof *stream);
    }
    *out = stream;
    return ERR_OK;
}

void tls_stream_close(struct tls_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->is_open)
        gnutls_bye(stream->session, GNUTLS_SHUT_WR);
    gnutls_deinit(stream->session);
    free(stream);
}

enum tls_stream_result tls_stream_shake_hands(struct tls_stream *stream, struct err *err)
{
    int code;
    do
        code = gnutls_handshake(stream->session);
    while (code < 0 && code != GNUTLS_E_AGAIN && gnutls_error_is_fatal(code) == 0);
    stream->is_open = code >= 0;
    if (code >= 0)
        return TLS_STREAM_DONE;
    if (code == GNUTLS_E_AGAIN)
        return TLS_STREAM_WAIT;
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR) {
        /* "The certificate is NOT trusted. The certificate issuer is unknown." */
        gnutls_datum_t text;
        unsigned status = gnutls_session_get_verify_cert_status(stream->session);
        if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) < 0) {
            err_set(err, ERR_FORBIDDEN, "TLS: the server's certificate is not trusted");
            return TLS_STREAM_UNTRUSTED;
        }
        int len = (int)strcspn((const char *)text.data, "\n");
        while (len > 0 && text.data[len - 1] == ' ')
            len--;
        err_set(err, ERR_FORBIDDEN, "TLS: %.*s", len, (const char *)text.data);
        gnutls_free(text.data);
        return TLS_STREAM_UNTRUSTED;
    }
    err_set(err, ERR_IO, "TLS: %s", gnutls_strerror(code));
    return TLS_STREAM_BROKEN;
}

bool tls_stream_wants_write(const struct tls_stream *stream)
{
    return gnutls_record_get_direction(stream->session) == 1;
}

static ssize_t failed(int error)
{
    errno = error;
    return -1;
}

ssize_t tls_stream_send(struct tls_stream *stream, const void *bytes, size_t len)
{
    ssize_t sent;
    do
        sent = gnutls_record_send(stream->session, bytes, len);
    while (sent == GNUTLS_E_INTERRUPTED);
    if (sent >= 0)
        return sent;
    return failed(sent == GNUTLS_E_AGAIN ? EAGAIN : ECONNRESET);
}

ssize_t tls_stream_recv(struct tls_stream *stream, void *bytes, size_t len)
{
    ssize_t got;
    do
        got = gnutls_record_recv(stream->session, bytes, len);
    while (got < 0 && got != GNUTLS_E_AGAIN && gnutls_error_is_fatal((int)got) == 0);
    if (got >= 0 || got == GNUTLS_E_PREMATURE_TERMINATION)
        return got > 0 ? got : 0;
    return failed(got == GNUTLS_E_AGAIN ? EAGAIN : ECONNRESET);
}

uint64_t tls_stream_wire_bytes(const struct tls_stream *stream)
{
    return stream->wire_bytes;
}
