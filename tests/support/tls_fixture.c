#include "tests/support/tls_fixture.h"

#include "tests/support/http_client.h"
#include "tests/support/suite.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DAY_S = 24 * 60 * 60, PATIENCE_MS = 20000 };

static void must(int code)
{
    ck_assert_msg(code >= 0, "%s", gnutls_strerror(code));
}

static unsigned next_serial = 1;

/* ---- certificates ---- */

static void write_pem(const struct tempdir *dir, const char *stem, const char *end,
                      gnutls_datum_t *pem)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", stem, end);
    tempdir_write(dir, name, pem->data, pem->size);
    gnutls_free(pem->data);
}

static gnutls_datum_t load(const struct tempdir *dir, const char *stem, const char *end)
{
    char path[160];
    gnutls_datum_t data;
    snprintf(path, sizeof path, "%s/%s.%s", dir->path, stem, end);
    must(gnutls_load_file(path, &data));
    return data;
}

static gnutls_x509_privkey_t new_key(const struct tempdir *dir, const char *stem)
{
    gnutls_x509_privkey_t key;
    gnutls_datum_t pem;
    must(gnutls_x509_privkey_init(&key));
    must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    must(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem));
    write_pem(dir, stem, "key", &pem);
    return key;
}

static gnutls_x509_crt_t new_certificate(gnutls_x509_privkey_t key, const char *name, time_t from,
                                         time_t to)
{
    gnutls_x509_crt_t certificate;
    unsigned serial = next_serial++;
    unsigned char bytes[2] = {(unsigned char)(serial >> 8 & 0x7F), (unsigned char)serial};
    must(gnutls_x509_crt_init(&certificate));
    must(gnutls_x509_crt_set_version(certificate, 3));
    must(gnutls_x509_crt_set_serial(certificate, bytes, sizeof bytes));
    must(gnutls_x509_crt_set_activation_time(certificate, from));
    must(gnutls_x509_crt_set_expiration_time(certificate, to));
    must(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                       (unsigned)strlen(name)));
    must(gnutls_x509_crt_set_key(certificate, key));
    return certificate;
}

static void export(const struct tempdir *dir, const char *stem, gnutls_x509_crt_t certificate)
{
    gnutls_datum_t pem;
    must(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem));
    write_pem(dir, stem, "pem", &pem);
    gnutls_x509_crt_deinit(certificate);
}

void tls_fixture_authority(const struct tempdir *dir, const char *stem)
{
    gnutls_x509_privkey_t key = new_key(dir, stem);
    gnutls_x509_crt_t certificate =
        new_certificate(key, stem, time(NULL) - DAY_S, time(NULL) + 365 * DAY_S);
    must(gnutls_x509_crt_set_basic_constraints(certificate, 1, -1));
    must(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN));
    must(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0));
    export(dir, stem, certificate);
    gnutls_x509_privkey_deinit(key);
}

void tls_fixture_expired(const struct tempdir *dir, const char *stem, const char *authority)
{
    gnutls_x509_privkey_t key;
    gnutls_datum_t key_pem = load(dir, authority, "key");
    must(gnutls_x509_privkey_init(&key));
    must(gnutls_x509_privkey_import(key, &key_pem, GNUTLS_X509_FMT_PEM));
    gnutls_x509_crt_t certificate =
        new_certificate(key, authority, time(NULL) - 365 * DAY_S, time(NULL) - DAY_S);
    must(gnutls_x509_crt_set_basic_constraints(certificate, 1, -1));
    must(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN));
    must(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0));
    export(dir, stem, certificate);
    gnutls_x509_privkey_deinit(key);
    gnutls_free(key_pem.data);
}

static void sign(const struct tempdir *dir, gnutls_x509_crt_t certificate, const char *authority)
{
    gnutls_x509_crt_t issuer;
    gnutls_x509_privkey_t key;
    gnutls_datum_t pem = load(dir, authority, "pem"), key_pem = load(dir, authority, "key");
    must(gnutls_x509_crt_init(&issuer));
    must(gnutls_x509_crt_import(issuer, &pem, GNUTLS_X509_FMT_PEM));
    must(gnutls_x509_privkey_init(&key));
    must(gnutls_x509_privkey_import(key, &key_pem, GNUTLS_X509_FMT_PEM));
    must(gnutls_x509_crt_sign2(certificate, issuer, key, GNUTLS_DIG_SHA256, 0));
    gnutls_x509_crt_deinit(issuer);
    gnutls_x509_privkey_deinit(key);
    gnutls_free(pem.data);
    gnutls_free(key_pem.data);
}

void tls_fixture_issue(const struct tempdir *dir, const char *stem, const char *authority,
                       const struct tls_subject *subject)
{
    static const unsigned char local[4] = {127, 0, 0, 1};
    bool usual = subject->days_from == 0 && subject->days_to == 0;
    time_t now = time(NULL);
    gnutls_x509_privkey_t key = new_key(dir, stem);
    gnutls_x509_crt_t certificate =
        new_certificate(key, subject->name, now + (usual ? -1 : subject->days_from) * DAY_S,
                        now + (usual ? 30 : subject->days_to) * DAY_S);
    if (subject->dns != NULL)
        must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, subject->dns,
                                                  (unsigned)strlen(subject->dns),
                                                  GNUTLS_FSAN_APPEND));
    if (!subject->is_client)
        must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, local,
                                                  sizeof local, GNUTLS_FSAN_APPEND));
    must(gnutls_x509_crt_set_key_purpose_oid(
        certificate, subject->is_client ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER, 0));
    sign(dir, certificate, authority);
    export(dir, stem, certificate);
    gnutls_x509_privkey_deinit(key);
}

/* ---- a client ---- */

static void take_files(struct tls_client *client, const struct tls_client_options *options)
{
    char paths[2][160];
    must(gnutls_certificate_allocate_credentials(&client->credentials));
    snprintf(paths[0], sizeof paths[0], "%s/%s.pem", options->dir->path, options->trust);
    must(
        gnutls_certificate_set_x509_trust_file(client->credentials, paths[0], GNUTLS_X509_FMT_PEM));
    if (options->own == NULL)
        return;
    snprintf(paths[0], sizeof paths[0], "%s/%s.pem", options->dir->path, options->own);
    snprintf(paths[1], sizeof paths[1], "%s/%s.key", options->dir->path, options->own);
    must(gnutls_certificate_set_x509_key_file(client->credentials, paths[0], paths[1],
                                              GNUTLS_X509_FMT_PEM));
}

/* Sends its certificate whatever authorities the server names. */
static void prepare(struct tls_client *client, const struct tls_client_options *options)
{
    must(
        gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT | GNUTLS_NO_SIGNAL));
    if (options->priorities != NULL)
        must(gnutls_priority_set_direct(client->session, options->priorities, NULL));
    else
        must(gnutls_set_default_priority(client->session));
    must(gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials));
    gnutls_session_set_verify_cert(client->session, NULL, 0);
    gnutls_transport_set_int(client->session, client->fd);
    gnutls_handshake_set_timeout(client->session, PATIENCE_MS);
    gnutls_record_set_timeout(client->session, PATIENCE_MS);
}

bool tls_client_open(struct tls_client *client, unsigned port,
                     const struct tls_client_options *options)
{
    int code;
    *client = (struct tls_client){.fd = http_connect(port)};
    take_files(client, options);
    prepare(client, options);
    do
        code = gnutls_handshake(client->session);
    while (code < 0 && gnutls_error_is_fatal(code) == 0);
    if (code >= 0)
        return true;
    tls_client_close(client);
    return false;
}

bool tls_client_send(struct tls_client *client, const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t sent = gnutls_record_send(client->session, at, len);
        if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* The bytes of the body that the head in out->text announces; 0: the head is not whole. */
static size_t announced(const struct tls_answer *out, size_t *head_len)
{
    const char *end = strstr(out->text, "\r\n\r\n");
    const char *length = strstr(out->text, "Content-Length: ");
    *head_len = end != NULL ? (size_t)(end + 4 - out->text) : 0;
    return length != NULL ? strtoul(length + strlen("Content-Length: "), NULL, 10) : 0;
}

void tls_client_read(struct tls_client *client, struct tls_answer *out)
{
    char piece[16384];
    size_t total = 0, head_len = 0, wanted = 0;
    *out = (struct tls_answer){0};
    while (head_len == 0 || total < head_len + wanted) {
        ssize_t got = gnutls_record_recv(client->session, piece, sizeof piece);
        if (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED)
            continue;
        if (got <= 0)
            return;
        size_t room =
            sizeof out->text - 1 - (total < sizeof out->text ? total : sizeof out->text - 1);
        memcpy(out->text + sizeof out->text - 1 - room, piece,
               (size_t)got < room ? (size_t)got : room);
        total += (size_t)got;
        wanted = announced(out, &head_len);
    }
    out->status = (int)strtol(out->text + strlen("HTTP/1.1 "), NULL, 10);
    out->body_len = total - head_len;
}

int tls_client_ask(struct tls_client *client, const char *request, struct tls_answer *out)
{
    *out = (struct tls_answer){0};
    if (tls_client_send(client, request, strlen(request)))
        tls_client_read(client, out);
    return out->status;
}

long tls_client_serial(struct tls_client *client)
{
    unsigned count = 0;
    unsigned char bytes[8] = {0};
    size_t len = sizeof bytes;
    gnutls_x509_crt_t certificate;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(client->session, &count);
    if (count == 0)
        return -1;
    must(gnutls_x509_crt_init(&certificate));
    must(gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER));
    must(gnutls_x509_crt_get_serial(certificate, bytes, &len));
    gnutls_x509_crt_deinit(certificate);
    return len == 1 ? bytes[0] : bytes[0] << 8 | bytes[1];
}

void tls_client_close(struct tls_client *client)
{
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    close(client->fd);
}
