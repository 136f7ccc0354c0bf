/* http_app.h - the interface between the HTTP server and the application behind it: the exchange
 * (one request and its reply), the application's functions, the options. http.h says when each is
 * called.
 *
 * Threads: an exchange belongs to its connection's I/O thread, except between http_suspend and
 * http_resume, when it belongs to the application.
 */
#ifndef ATTND_SERVER_HTTP_HTTP_APP_H
#define ATTND_SERVER_HTTP_HTTP_APP_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/bounds/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_METHODS(X) X(GET) X(HEAD) X(POST) X(PATCH) X(DELETE) X(OPTIONS)

enum http_method {
#define X(method) HTTP_##method,
    HTTP_METHODS(X)
#undef X
        HTTP_OTHER
};

/* "GET", ...; "_OTHER" of one that is none of them. */
static inline const char *http_method_name(enum http_method method)
{
    static const char *const names[] = {
#define X(method) #method,
        HTTP_METHODS(X)
#undef X
            "_OTHER"};
    return names[method];
}

struct http_field {
    const char *name, *value;
};

struct http_reply {
    unsigned status;
    const char *content_type;
    const char *body; /* in the exchange's arena, or static */
    size_t body_len;
    const char *allow;             /* 405: the Allow header; NULL: none */
    unsigned retry_after_s;        /* 0: no Retry-After header */
    const char *request_id;        /* X-Request-Id; NULL: none */
    const char *traceparent;       /* traceparent; NULL: none */
    const struct http_field *more; /* further headers, a NULL name at the end; NULL: none */
    bool close;                    /* Connection: close after this reply */
    /* The body is a part: it is sent as a chunk, and `more` is asked for the next one. A part
     * without has_more is the last; a later one whose body is NULL breaks the connection, so that
     * the client sees that the reply is not whole. Only body, body_len and this count in later
     * parts. */
    bool has_more;
};

struct http_exchange {
    /* Set by http.c before head; borrowed until done. */
    enum http_method method;
    const char *path;   /* percent-decoded; never contains NUL; "" if there was no whole head */
    struct arena arena; /* all memory of this exchange */
    uint64_t head_ns;   /* clock_now_ns when the head was whole */
    uint64_t body_ns;   /* ... and the body */
    const char *body;   /* [body_len], NUL-terminated for convenience; set before begin */
    size_t body_len;
    bool has_length; /* the head says how long the body is, or that it is chunked */
    bool is_admin;   /* it came in on the address for administration */

    /* Set by the application. */
    size_t body_bytes_max;   /* in head: the limit of this route's body */
    struct http_reply reply; /* before returning HTTP_REPLY, and in finish and refuse */
    void *state;             /* the application's own; NULL at head */
    size_t memory_bytes;     /* taken for it from http_options.memory; given back with the arena */
};

enum http_next { HTTP_CONTINUE, HTTP_REPLY, HTTP_SUSPENDED };

struct http_app {
    void *context;
    enum http_next (*head)(void *context, struct http_exchange *exchange);  /* CONTINUE or REPLY */
    enum http_next (*begin)(void *context, struct http_exchange *exchange); /* REPLY or SUSPENDED */
    void (*finish)(void *context, struct http_exchange *exchange);
    enum http_next (*more)(void *context, struct http_exchange *exchange); /* REPLY or SUSPENDED */
    void (*refuse)(void *context, struct http_exchange *exchange, const struct err *err);
    void (*done)(void *context, struct http_exchange *exchange);
};

struct tls; /* tls.h */

struct http_options {
    const char *address; /* "127.0.0.1", "0.0.0.0", "::1", ..., "unix:/run/attnd/admin.sock" */
    unsigned port;       /* 0: any free one */
    int inherited;       /* a socket that listens already, instead of these; 0: none */
    bool is_admin;       /* told to its exchanges */
    bool is_held;        /* clients wait in the backlog until http_accept */
    unsigned io_threads;
    unsigned connections_max;
    unsigned header_timeout_ms, body_timeout_ms;
    size_t body_bytes_max; /* the largest body any route takes */
    struct memory *memory; /* budget of the bodies; shared with others */
    struct tls *tls;       /* NULL, or a socket of a path: plain HTTP; must outlive the server */
};

/* A request header; NULL if absent. On an I/O thread, or by the exchange's owner. */
const char *http_header(const struct http_exchange *exchange, const char *name);
/* Calls visit for each header of this name, in order. Where http_header may be called. */
void http_header_each(const struct http_exchange *exchange, const char *name,
                      void (*visit)(void *context, const char *value), void *context);
/* Calls visit for every query argument (percent-decoded), in order; value may be NULL. */
void http_query_each(const struct http_exchange *exchange,
                     void (*visit)(void *context, const char *name, const char *value),
                     void *context);

/* The address on which the connection came in, "127.0.0.1:8080" or "[::1]:8080", if that is a
 * loopback one, so that the client is a process of this machine, and "localhost:80" for a socket in
 * the file system, whose clients have no address to name in Host; false else. */
enum { HTTP_ADDRESS_BYTES = 64 };
bool http_loopback_address(const struct http_exchange *exchange, char out[HTTP_ADDRESS_BYTES]);

/* True if the connection uses TLS. */
bool http_is_secure(const struct http_exchange *exchange);
/* The names in the client's certificate, if an authority of the server has signed it: its common
 * name and DNS names, [*count], valid as long as the exchange. NULL: the client has shown none. */
const char *const *http_client_names(const struct http_exchange *exchange, unsigned *count);

/* Call it in begin or more, before the exchange goes to a thread that may resume it at once. */
void http_suspend(struct http_exchange *exchange);
/* The exchange's owner calls it once, on any thread. */
void http_resume(struct http_exchange *exchange);

/* True if the client has left. Call it in begin or while suspended, on any thread; it takes one or
 * two system calls. A client that closed its side together with its request still waits for the
 * answer. */
bool http_client_gone(const struct http_exchange *exchange);

#endif
