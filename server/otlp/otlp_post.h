/* otlp_post.h - sends one message to a collector: a connection, a POST, its answer.
 *
 *     struct otlp_endpoint endpoint;
 *     if (otlp_post_endpoint(&endpoint, config->otlp_endpoint, &err))
 *         return err_prefix(&err, "otlp_endpoint: ");
 *     struct otlp_patience patience = {clock_now_ns() + 10 * CLOCK_NS_PER_S, &stop_ns};
 *     if (otlp_post(&endpoint, bytes, len, &patience, &answer, &err))
 *         ... not even an answer; err says why ...
 *
 * The endpoint is "http://127.0.0.1:4318/v1/traces": plain HTTP to a numeric address, or to
 * localhost, which is 127.0.0.1, as in the option `listen`. A name would have to be resolved, which
 * may block for long. TLS is for a collector beside attnd to speak.
 *
 * A client of our own, of which a library would be a hundred times as much: each batch takes a
 * connection, which for one batch in some seconds costs nothing, so there is no state to lose.
 *
 * Threads: the caller's waits, at most until its patience ends. The other functions have no state.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_POST_H
#define ATTND_SERVER_OTLP_OTLP_POST_H

#include "engine/base/err.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { OTLP_ENDPOINT_BYTES = 256 };

struct otlp_endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t address_len;
    char host[64];                  /* "127.0.0.1:4318", for the header Host */
    char path[OTLP_ENDPOINT_BYTES]; /* "/v1/traces", also if the URL has none */
};

/* ERR_UNUSABLE: what is expected. */
enum err_code otlp_post_endpoint(struct otlp_endpoint *out, const char *url, struct err *err);

struct otlp_answer {
    unsigned status;        /* 100 to 599; 0: this is no HTTP reply */
    unsigned retry_after_s; /* Retry-After in seconds; 0: none, or a date */
    uint64_t rejected; /* spans, of a 200: not taken after all (OTLP/HTTP, "Partial Success") */
};

/* Times of clock_now_ns. */
struct otlp_patience {
    uint64_t until_ns;
    const atomic_uint_fast64_t *stop_ns; /* set at any time: the end is no later; 0: not set */
};

/* ERR_IO if no answer came: what failed, never a word of the collector's. */
enum err_code otlp_post(const struct otlp_endpoint *endpoint, const void *body, size_t len,
                        const struct otlp_patience *patience, struct otlp_answer *out,
                        struct err *err);

/* The parser of answers. Bytes are untrusted; what is not understood counts as not said. */

/* True if the reply is complete: the head, and the body up to its Content-Length. */
bool otlp_post_is_whole(const char *bytes, size_t len);
/* Reads a reply, also one that is not complete. */
void otlp_post_read(struct otlp_answer *out, const char *bytes, size_t len);

#endif
