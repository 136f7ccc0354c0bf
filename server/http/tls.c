/* tls.c - see tls.h. A handshake gets copies of the certificate and its key, which GnuTLS frees
 * with the session: a session may last longer than the certificate is in use, and the HTTP library
 * offers no place to note which it has. */
#include "server/http/tls.h"

#include "engine/base/file.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct tls_certificate {
    atomic_uint holders;      /* partners: acquire, tls_discard */
    gnutls_x509_crt_t *chain; /* [count] the server's own first; gnutls_malloc */
    unsigned count;
    gnutls_x509_privkey_t key;
    int64_t expiry_s;
};

struct tls {
    char *cert_file, *key_file, *authorities; /* the last as PEM; NULL: none */
    pthread_mutex_t lock;
    struct tls_certificate *current; /* under lock */
};

/* GnuTLS hands no context to the callback. Set before the server starts, cleared after it has
 * stopped; partner: retrieve. */
static _Atomic(struct tls *) in_use;

const char *tls_priorities(void)
{
    return "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";
}

/* ---- files ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* NUL-terminated; to be freed. */
static enum err_code read_file(gnutls_datum_t *out, const char *option, const char *path,
                               struct err *err)
{
    char *bytes;
    size_t len;
    *out = (gnutls_datum_t){NULL, 0};
    if (file_read(&bytes, &len, path, TLS_FILE_BYTES_MAX, err)) {
        if (err->code != ERR_NO_MEMORY)
            err->code = ERR_UNUSABLE;
        return err_prefix(err, "%s: %s: ", option, last_part(path));
    }
    *out = (gnutls_datum_t){(unsigned char *)bytes, (unsigned)len};
    return ERR_OK;
}

static enum err_code refuse(struct err *err, const char *option, const char *path, int code)
{
    if (code == GNUTLS_E_MEMORY_ERROR)
        return err_no_memory(err, TLS_FILE_BYTES_MAX);
    return err_set(err, ERR_UNUSABLE, "%s: %s: %s", option, last_part(path), gnutls_strerror(code));
}

static enum err_code read_chain(struct tls_certificate *out, const char *path, struct err *err)
{
    gnutls_datum_t pem;
    if (read_file(&pem, "tls_cert_file", path, err))
        return err->code;
    int code = gnutls_x509_crt_list_import2(&out->chain, &out->count, &pem, GNUTLS_X509_FMT_PEM,
                                            GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    free(pem.data);
    if (code < 0)
        return refuse(err, "tls_cert_file", path, code);
    if (out->count > TLS_CHAIN_MAX)
        return err_set(err, ERR_UNUSABLE, "tls_cert_file: %s: more than %d certificates",
                       last_part(path), TLS_CHAIN_MAX);
    out->expiry_s = INT64_MAX;
    for (unsigned i = 0; i < out->count; i++) {
        int64_t expiry_s = (int64_t)gnutls_x509_crt_get_expiration_time(out->chain[i]);
        out->expiry_s = expiry_s < out->expiry_s ? expiry_s : out->expiry_s;
    }
    return ERR_OK;
}

static enum err_code read_key(struct tls_certificate *out, const char *path, struct err *err)
{
    gnutls_datum_t pem;
    if (read_file(&pem, "tls_key_file", path, err))
        return err->code;
    int code = gnutls_x509_privkey_init(&out->key);
    if (code >= 0)
        code = gnutls_x509_privkey_import2(out->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (pem.data != NULL) /* the key may be all that a reader of memory is after */
        explicit_bzero(pem.data, pem.size);
    free(pem.data);
    return code < 0 ? refuse(err, "tls_key_file", path, code) : ERR_OK;
}

static enum err_code check_pair(const struct tls_certificate *certificate, const char *path,
                                struct err *err)
{
    unsigned char ids[2][64] = {{0}, {0}};
    size_t sizes[2] = {sizeof ids[0], sizeof ids[1]};
    int codes[2] = {gnutls_x509_crt_get_key_id(certificate->chain[0], GNUTLS_KEYID_USE_SHA256,
                                               ids[0], &sizes[0]),
                    gnutls_x509_privkey_get_key_id(certificate->key, GNUTLS_KEYID_USE_SHA256,
                                                   ids[1], &sizes[1])};
    if (codes[0] < 0 || codes[1] < 0)
        return refuse(err, "tls_key_file", path, codes[0] < 0 ? codes[0] : codes[1]);
    if (sizes[0] != sizes[1] || memcmp(ids[0], ids[1], sizes[0]) != 0)
        return err_set(err, ERR_UNUSABLE,
                       "tls_key_file: %s: not the key of the first certificate in tls_cert_file",
                       last_part(path));
    return ERR_OK;
}

enum err_code tls_read(const struct tls *tls, struct tls_certificate **out, struct err *err)
{
    struct tls_certificate *certificate = calloc(1, sizeof *certificate);
    *out = NULL;
    if (certificate == NULL)
        return err_no_memory(err, sizeof *certificate);
    atomic_init(&certificate->holders, 1);
    if (read_chain(certificate, tls->cert_file, err) || read_key(certificate, tls->key_file, err) ||
        check_pair(certificate, tls->key_file, err)) {
        tls_discard(certificate);
        return err->code;
    }
    *out = certificate;
    return ERR_OK;
}

/* ---- exchange ---- */

void tls_discard(struct tls_certificate *certificate)
{
    if (certificate == NULL ||
        atomic_fetch_sub_explicit(&certificate->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (unsigned i = 0; i < certificate->count; i++)
        gnutls_x509_crt_deinit(certificate->chain[i]);
    gnutls_free(certificate->chain);
    if (certificate->key != NULL)
        gnutls_x509_privkey_deinit(certificate->key);
    free(certificate);
}

static struct tls_certificate *acquire(struct tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    struct tls_certificate *current = tls->current;
    atomic_fetch_add_explicit(&current->holders, 1, memory_order_relaxed);
    pthread_mutex_unlock(&tls->lock);
    return current;
}

void tls_use(struct tls *tls, struct tls_certificate *next)
{
    pthread_mutex_lock(&tls->lock);
    struct tls_certificate *old = tls->current;
    tls->current = next;
    pthread_mutex_unlock(&tls->lock);
    tls_discard(old);
}

bool tls_is_new(struct tls *tls, const struct tls_certificate *next)
{
    struct tls_certificate *current = acquire(tls);
    bool is_new = gnutls_x509_crt_equals(current->chain[0], next->chain[0]) == 0;
    tls_discard(current);
    return is_new;
}

int64_t tls_expiry_s(struct tls *tls)
{
    struct tls_certificate *current = acquire(tls);
    int64_t expiry_s = current->expiry_s;
    tls_discard(current);
    return expiry_s;
}

/* ---- open, close ---- */

static enum err_code copy_path(char **out, const char *path, struct err *err)
{
    *out = strdup(path);
    return *out != NULL ? ERR_OK : err_no_memory(err, strlen(path));
}

/* The library reads them once more, at start; here they are found to be usable. */
static enum err_code read_authorities(struct tls *tls, const char *path, struct err *err)
{
    gnutls_datum_t pem;
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    if (path == NULL || path[0] == '\0')
        return ERR_OK;
    if (read_file(&pem, "tls_client_ca_file", path, err))
        return err->code;
    int code = gnutls_x509_crt_list_import2(&list, &count, &pem, GNUTLS_X509_FMT_PEM, 0);
    for (unsigned i = 0; code >= 0 && i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    tls->authorities = (char *)pem.data;
    return code < 0 ? refuse(err, "tls_client_ca_file", path, code) : ERR_OK;
}

enum err_code tls_open(struct tls **out, const char *cert_file, const char *key_file,
                       const char *client_ca_file, struct err *err)
{
    *out = NULL;
    if (cert_file == NULL || cert_file[0] == '\0')
        return ERR_OK;
    struct tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return err_no_memory(err, sizeof *tls);
    pthread_mutex_init(&tls->lock, NULL);
    if (copy_path(&tls->cert_file, cert_file, err) || copy_path(&tls->key_file, key_file, err) ||
        tls_read(tls, &tls->current, err) || read_authorities(tls, client_ca_file, err)) {
        tls_close(tls);
        return err->code;
    }
    *out = tls;
    return ERR_OK;
}

void tls_close(struct tls *tls)
{
    struct tls *mine = tls;
    if (tls == NULL)
        return;
    atomic_compare_exchange_strong(&in_use, &mine, NULL);
    tls_discard(tls->current);
    pthread_mutex_destroy(&tls->lock);
    free(tls->cert_file);
    free(tls->key_file);
    free(tls->authorities);
    free(tls);
}

const char *tls_client_authorities(const struct tls *tls)
{
    return tls->authorities;
}

/* ---- a handshake ---- */

static void drop_copies(gnutls_pcert_st *copies, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        gnutls_pcert_deinit(&copies[i]);
    gnutls_free(copies);
}

static int copy_chain(const struct tls_certificate *from, gnutls_pcert_st **out)
{
    gnutls_pcert_st *copies = gnutls_malloc(from->count * sizeof *copies);
    if (copies == NULL)
        return GNUTLS_E_MEMORY_ERROR;
    for (unsigned i = 0; i < from->count; i++) {
        int code = gnutls_pcert_import_x509(&copies[i], from->chain[i], 0);
        if (code < 0) {
            drop_copies(copies, i);
            return code;
        }
    }
    *out = copies;
    return 0;
}

static int copy_key(const struct tls_certificate *from, gnutls_privkey_t *out)
{
    int code = gnutls_privkey_init(out);
    if (code < 0)
        return code;
    code = gnutls_privkey_import_x509(*out, from->key, GNUTLS_PRIVKEY_IMPORT_COPY);
    if (code < 0)
        gnutls_privkey_deinit(*out);
    return code;
}

static int retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **chain, unsigned *count, gnutls_ocsp_data_st **ocsp,
                    unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    struct tls *tls = atomic_load(&in_use);
    if (tls == NULL)
        return -1;
    struct tls_certificate *current = acquire(tls);
    int code = copy_chain(current, chain);
    *count = current->count;
    if (code == 0 && (code = copy_key(current, key)) < 0)
        drop_copies(*chain, *count);
    tls_discard(current);
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    return code < 0 ? -1 : 0;
}

void *tls_certificate_callback(struct tls *tls)
{
    union {
        gnutls_certificate_retrieve_function3 *call;
        void *symbol;
    } callback = {.call = retrieve};
    atomic_store(&in_use, tls);
    return callback.symbol;
}

/* ---- what a session receives ---- */

/* Replaces GnuTLS's own function that reads from the socket. An error ends the connection. */
static ssize_t pull(gnutls_transport_ptr_t context, void *bytes, size_t size)
{
    struct tls_intake *intake = context;
    size_t most = intake->is_open ? TLS_UNREAD_BYTES_MAX : TLS_HANDSHAKE_BYTES_MAX;
    size_t left = most - intake->unread_bytes;
    if (left == 0) {
        errno = ECONNABORTED;
        return -1;
    }
    ssize_t len = recv(intake->fd, bytes, size < left ? size : left, 0);
    intake->unread_bytes += len > 0 ? (size_t)len : 0;
    return len;
}

/* The client's is the last message of a handshake, in TLS 1.2 and 1.3. */
static int note_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                         const gnutls_datum_t *message)
{
    (void)type;
    (void)when;
    (void)message;
    gnutls_transport_ptr_t from, to;
    gnutls_transport_get_ptr2(session, &from, &to);
    struct tls_intake *intake = from;
    intake->is_open = intake->is_open || incoming != 0;
    intake->unread_bytes = incoming != 0 ? 0 : intake->unread_bytes;
    return 0;
}

void tls_bound(void *session, struct tls_intake *intake, int fd)
{
    gnutls_transport_ptr_t from, to;
    *intake = (struct tls_intake){.fd = fd};
    gnutls_handshake_set_max_packet_length(session, TLS_HANDSHAKE_BYTES_MAX);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       note_finished);
    gnutls_transport_get_ptr2(session, &from, &to);
    gnutls_transport_set_ptr2(session, intake, to);
    gnutls_transport_set_pull_function(session, pull);
}

/* ---- a client's certificate ---- */

/* A name with a NUL inside is nobody's. */
static void add_name(const char **names, unsigned *count, const char *name, size_t len,
                     struct arena *arena)
{
    const char *copy = memchr(name, '\0', len) == NULL ? arena_copy(arena, name, len) : NULL;
    if (copy != NULL && *count < TLS_NAMES_MAX)
        names[(*count)++] = copy;
}

static void collect_names(gnutls_x509_crt_t certificate, const char **names, unsigned *count,
                          struct arena *arena)
{
    char name[256];
    size_t len = sizeof name;
    if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &len) >=
        0)
        add_name(names, count, name, len, arena);
    for (unsigned i = 0; i < TLS_NAMES_MAX; i++) {
        len = sizeof name;
        int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, name, &len, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return;
        if (type == GNUTLS_SAN_DNSNAME)
            add_name(names, count, name, len, arena);
    }
}

const char **tls_client_names(void *session, unsigned *count, int64_t *until_s, struct arena *arena)
{
    const int64_t now_s = time(NULL); /* before the chain is judged */
    unsigned chain_len = 0;
    *count = 0;
    *until_s = INT64_MAX;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &chain_len);
    if (chain == NULL || chain_len == 0)
        return NULL;
    char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st wanted = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                    .data = (unsigned char *)purpose};
    unsigned status = 0;
    if (gnutls_certificate_verify_peers(session, &wanted, 1, &status) < 0 || status != 0)
        return NULL;
    const char **names = arena_alloc_array(arena, TLS_NAMES_MAX, sizeof *names);
    if (names == NULL)
        return NULL;
    for (unsigned i = 0; i < chain_len; i++) {
        gnutls_x509_crt_t certificate;
        if (gnutls_x509_crt_init(&certificate) < 0)
            return NULL;
        bool is_read = gnutls_x509_crt_import(certificate, &chain[i], GNUTLS_X509_FMT_DER) >= 0;
        if (is_read && i == 0)
            collect_names(certificate, names, count, arena);
        int64_t ends_s = is_read ? (int64_t)gnutls_x509_crt_get_expiration_time(certificate) : 0;
        if (i == 0 || ends_s >= now_s) /* others that have expired were not needed */
            *until_s = ends_s < *until_s ? ends_s : *until_s;
        gnutls_x509_crt_deinit(certificate);
    }
    return names;
}
