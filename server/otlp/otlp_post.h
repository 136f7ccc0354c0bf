/* otlp_post.h - sends one message to a collector: a connection, a POST, its answer.
 *
 *     struct otlp_patience patience = {clock_now_ns() + 10 * CLOCK_NS_PER_S, &stop_ns};
 *     if (otlp_post(&endpoint, bytes, len, &patience, &answer, &err))
 *         ... not even an answer; err says why ...
 *
 * A client of our own, of which a library would be a hundred times as much: each batch takes a
 * connection, which for one batch in some seconds costs nothing, so there is no state to lose.
 *
 * Threads: the caller's waits, at most until its patience ends.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_POST_H
#define ATTND_SERVER_OTLP_OTLP_POST_H

#include "server/otlp/otlp_answer.h"
#include "server/otlp/otlp_endpoint.h"

#include <stdatomic.h>

/* By clock_now_ns. */
struct otlp_patience {
    uint64_t until_ns;
    const atomic_uint_fast64_t *stop_ns; /* set at any time: the end is no later; 0: not set */
};

/* ERR_IO if no answer came: what failed, never a word of the collector's. */
enum err_code otlp_post(const struct otlp_endpoint *endpoint, const void *body, size_t len,
                        const struct otlp_patience *patience, struct otlp_answer *out,
                        struct err *err);

#endif
