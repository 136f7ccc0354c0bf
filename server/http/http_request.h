/* http_request.h - one request between the HTTP library and the application: its memory, what its
 * head allows, its body, and the answers that go past the library. Private to http.c, http_head.c
 * and http_answer.c, which are the part of it that knows the library.
 *
 * Threads: a request belongs to its connection's I/O thread, except while it is suspended.
 */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_H

#include "engine/base/err.h"
#include "server/bounds/memory.h"
#include "server/http/conns.h"
#include "server/http/framing.h"
#include "server/http/http_app.h"
#include "server/http/layout.h"
#include "server/http/sockets.h"
#include "server/http/tls.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The bytes that the HTTP library reads for a connection, as they came. The library
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

/* Identifies the version of libmicrohttpd that is linked, and how to make it strict.
 *
 *     struct library library;
 *     if (library_identify(&library, MHD_get_version(), &err))
 *         return err.code;                                   the version is none that was tested
 *
 * Debian 12 has 0.9.75 and Debian 13 has 1.0.1 under the same soname, so the version is asked for
 * when the program runs, not when it is compiled. By MHD_get_version, since 0.9.75 has no
 * MHD_get_version_bin.
 *
 * Threads: no state.
 */

struct library {
    int strict_option, strict_level; /* for MHD_start_daemon */
    bool is_lax;                     /* it takes what layout.h has to refuse */
};

/* ERR_UNUSABLE, with the version and the ranges, for a version outside them or no version. */
enum err_code library_identify(struct library *out, const char *version, struct err *err);

/* ---- the body ---- */

/* A request body as it arrives: a buffer that grows with the bytes received, not with the declared
 * length. A client that announces 32 MB and sends nothing takes no memory: the buffer starts small
 * and doubles up to the announced length. All that a body holds is taken from the process's budget,
 * up to BODY_SMALL_BYTES from the part that is kept for small requests.
 */

enum { BODY_SMALL_BYTES = 64 * 1024 };

struct body {
    struct memory *memory;
    char *bytes; /* [capacity + 1], NUL after len */
    size_t len, capacity;
};

void body_init(struct body *body, struct memory *memory);

/* Adds bytes; announced is the length the client gave, 0 if none. The caller bounds the length.
 * ERR_QUEUE_FULL and ERR_TOO_LARGE as memory_take; ERR_NO_MEMORY. */
enum err_code body_append(struct body *body, const void *bytes, size_t len, size_t announced,
                          struct err *err);

/* Frees the bytes and gives them back to the budget; the body may be used again. */
void body_deinit(struct body *body);

/* ---- the request ---- */

struct MHD_Connection;

/* Every request of a server shares this; constant but for the internally locked and the atomic. */
struct http_shared {
    struct http_app app;
    struct http_options options;
    struct library library;
    struct conns conns;
    atomic_bool draining; /* alone: read when a reply is queued */
    /* Partners: a thread that enters the application increments `entered`, then reads stopping;
     * http_answer_stop sets stopping, then waits for the count to be zero. */
    atomic_bool stopping;
    atomic_uint entered; /* begun and neither answered nor back from a suspension */
};

struct http_connection {
    struct conn conn; /* first: what conns.h links */
    struct http_shared *shared;
    struct http_request *request;  /* the current one; NULL between two */
    struct sockets_traffic before; /* TCP's counts when the last request was done */
    bool linger;                   /* the last answer went to a client that was still sending */
    bool closing;                  /* the last answer said Connection: close */

    struct tls_intake intake; /* only with TLS */
    struct received received; /* bytes that the library reads */
    /* Names of the client's certificate, once they were asked for; in the arena. */
    bool names_known;
    const char **names;
    unsigned name_count;
    int64_t names_until_s; /* Unix time */
    struct arena arena;
};

enum http_phase {
    HTTP_PHASE_LINE,      /* the application has not been called for the request */
    HTTP_PHASE_BODY,      /* body arriving */
    HTTP_PHASE_DROP,      /* body arriving but dropped: the reply is decided */
    HTTP_PHASE_SUSPENDED, /* another thread owns the exchange, or has just given it back */
    HTTP_PHASE_ANSWERED,
};

struct http_request {
    struct http_exchange exchange; /* first: what the application holds */
    struct http_shared *shared;
    struct http_connection *connection;
    struct MHD_Connection *library; /* NULL: a refusal without a request */
    const char *target;             /* as sent */
    const char *target_at;          /* place where the library found it, and decodes it */
    enum http_phase phase;
    bool told; /* head or refuse has been called: done must be called */
    struct query query;
    struct framing framing;
    const char *body_at; /* the byte behind the head */
    struct body body;
    size_t body_bytes_max; /* the route's limit or the server's, whichever is less */
    size_t dropped;        /* bytes of a dropped body */
    size_t sent;           /* bytes of the reply's part that the library has taken */
};

static inline const struct http_request *http_request_of(const struct http_exchange *exchange)
{
    return (const struct http_request *)(const void *)exchange;
}

/* NULL without memory. The target is copied. Destroying it calls done if that is owed. */
struct http_request *http_request_create(struct http_connection *connection, const char *target);
void http_request_destroy(struct http_request *request);

/* Has the application fill in the reply for err; the connection will be closed. */
void http_request_refuse(struct http_request *request, const struct err *err);

/* Method, target and headers of a whole head, which must be all that it holds. */
enum err_code http_request_check_head(struct http_request *request, const struct layout_head *head,
                                      const struct framing_field *fields, size_t count,
                                      struct err *err);

/* Calls the application's head and settles the limit of the body. */
enum http_next http_request_ask_head(struct http_request *request);

/* ERR_TOO_LARGE if the announced body is over the limit. */
enum err_code http_request_check_length(const struct http_request *request, struct err *err);

/* ERR_MALFORMED if a line of a chunked body that was read so far is not as it must be, or, with
 * is_whole, if the body is not whole. */
enum err_code http_request_check_chunks(const struct http_request *request, bool is_whole,
                                        struct err *err);

/* A piece of body. False: the request has been answered here and its connection must end. */
bool http_request_take_body(struct http_request *request, const void *bytes, size_t len);

/* Answers a refusal in the middle of a body, past the library; its connection must end. False. */
bool http_request_break_off(struct http_request *request, const struct err *err);

/* Gives the application the whole body; it answers or suspends. */
enum http_next http_request_begin(struct http_request *request);

/* Answers 408 if the request ends because its body was too slow. */
void http_request_answer_slow_body(struct http_request *request);

/* Answers, if it must, a connection that ends with an incomplete head. */
void http_request_part(struct http_connection *connection);

#endif
