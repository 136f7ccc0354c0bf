#include "server/http/http_request.h"

#include <gnutls/gnutls.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

/* Partners: received_open and received_close, and a read of the same I/O thread. */
static _Atomic(struct received *) by_socket[RECEIVED_SOCKETS];

void received_open(struct received *received, int fd, bool has_tls)
{
    *received = (struct received){.fd = fd, .has_tls = has_tls};
    if (fd >= 0 && fd < RECEIVED_SOCKETS)
        atomic_store(&by_socket[fd], received);
}

void received_close(struct received *received)
{
    if (received->fd >= 0 && received->fd < RECEIVED_SOCKETS)
        atomic_store(&by_socket[received->fd], NULL);
}

/* A part that was found elsewhere may point anywhere, so it is compared as a number. */
bool received_begin_chunks(struct received *received, const char *body)
{
    const uintptr_t from = (uintptr_t)received->bytes, at = (uintptr_t)body;
    if (received->len == 0 || at <= from || at - from > received->len)
        return false;
    received->chunks = (struct chunks){0};
    received->is_chunked = true;
    chunks_read(&received->chunks, body, received->len - (size_t)(at - from));
    return true;
}

void received_forget(struct received *received)
{
    received->is_chunked = false;
    received->len = 0;
}

bool received_is_new(struct received *received)
{
    const bool is_new = received->is_new;
    received->is_new = false;
    return is_new;
}

static void note(int fd, bool has_tls, const char *bytes, size_t len)
{
    struct received *received =
        fd >= 0 && fd < RECEIVED_SOCKETS ? atomic_load(&by_socket[fd]) : NULL;
    if (received == NULL || received->has_tls != has_tls)
        return;
    received->bytes = bytes;
    received->len = len;
    received->is_new = true;
    if (received->is_chunked)
        chunks_read(&received->chunks, bytes, len);
}

/* A test may have a recv of its own, and then no chunked body is taken. (clang takes no attribute
 * behind the inline recv of _FORTIFY_SOURCE.) */
#pragma weak recv
ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    static _Atomic(void *) found;
    union {
        void *symbol;
        ssize_t (*call)(int, void *, size_t, int);
    } next = {.symbol = atomic_load(&found)};
    if (next.symbol == NULL)
        atomic_store(&found, next.symbol = dlsym(RTLD_NEXT, "recv"));
    ssize_t len = next.call(fd, bytes, size, flags);
    if (len > 0)
        note(fd, false, bytes, (size_t)len);
    return len;
}

/* The socket is what the session sends to (tls_bound has it receive by way of a function). */
ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t size)
{
    static _Atomic(void *) found;
    union {
        void *symbol;
        ssize_t (*call)(gnutls_session_t, void *, size_t);
    } next = {.symbol = atomic_load(&found)};
    if (next.symbol == NULL)
        atomic_store(&found, next.symbol = dlsym(RTLD_NEXT, "gnutls_record_recv"));
    ssize_t len = next.call(session, bytes, size);
    gnutls_transport_ptr_t from, to;
    gnutls_transport_get_ptr2(session, &from, &to);
    if (len > 0)
        note((int)(intptr_t)to, true, bytes, (size_t)len);
    return len;
}
