/* tls_fixture.h - certificates made when they are needed, and a client that speaks TLS: the tests
 * hold no keys, and need no program that makes some.
 *
 *     tls_fixture_authority(&dir, "ca");                              ca.pem, ca.key
 *     tls_fixture_issue(&dir, "server", "ca", &(struct tls_subject){.name = "localhost"});
 *     struct tls_client client;
 *     if (tls_client_open(&client, port, &(struct tls_client_options){.dir = &dir, .trust = "ca"}))
 *         struct tls_answer answer = tls_client_ask(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
 *     tls_client_close(&client);
 *
 * Whatever cannot be made fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_TLS_FIXTURE_H
#define ATTND_TESTS_SUPPORT_TLS_FIXTURE_H

#include "tests/support/tempdir.h"

#include <stdbool.h>
#include <stddef.h>

struct gnutls_session_int;
struct gnutls_certificate_credentials_st;

struct tls_subject {
    const char *name;       /* common name */
    const char *dns;        /* a name beside it; NULL: none */
    bool is_client;         /* else a server's, for 127.0.0.1 */
    int days_from, days_to; /* from now; both 0: from yesterday to in 30 days */
};

void tls_fixture_authority(const struct tempdir *dir, const char *stem);
/* STEM.pem: the certificate that the authority had before, of the same key, and that has expired. */
void tls_fixture_expired(const struct tempdir *dir, const char *stem, const char *authority);
/* STEM.pem and STEM.key, by the authority. */
void tls_fixture_issue(const struct tempdir *dir, const char *stem, const char *authority,
                       const struct tls_subject *subject);

struct tls_client_options {
    const struct tempdir *dir;
    const char *trust;      /* stem of the authority of the server */
    const char *own;        /* stem of the client's certificate; NULL: it has none */
    const char *priorities; /* NULL: GnuTLS's own */
};

struct tls_client {
    struct gnutls_session_int *session;
    struct gnutls_certificate_credentials_st *credentials;
    int fd;
};

/* False if the handshake fails, also for a certificate that is not the authority's. */
bool tls_client_open(struct tls_client *client, unsigned port,
                     const struct tls_client_options *options);
bool tls_client_send(struct tls_client *client, const void *bytes, size_t len);
/* Sends the request and reads one answer; status 0: the connection ended before a whole one. */
struct tls_answer {
    int status;
    char text[262144]; /* head and the beginning of the body */
    size_t body_len;
};
void tls_client_read(struct tls_client *client, struct tls_answer *out);
int tls_client_ask(struct tls_client *client, const char *request, struct tls_answer *out);
/* The serial number of the server's certificate, as the fixture counts them; -1: none. */
long tls_client_serial(struct tls_client *client);
void tls_client_close(struct tls_client *client);

#endif
