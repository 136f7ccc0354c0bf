/* client.h - the run: a pool of connections, fed by a closed or an open loop, on one thread.
 *
 * Blocks SIGINT and SIGTERM while it runs: either stops the sending; in-flight requests are still
 * awaited, and the report is made as usual.
 */
#ifndef ATTND_LOADTEST_CLIENT_H
#define ATTND_LOADTEST_CLIENT_H

#include "engine/base/err.h"
#include "loadtest/answer.h"
#include "loadtest/options.h"
#include "loadtest/tally.h"
#include "loadtest/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- when requests are due ---- */

/* The pacer says when the requests of an open loop are due (pacer.c).
 *
 * Due times depend on the clock alone, never on answers: a server that stalls does not slow its
 * clients down, and the wait that it causes is measured (no "coordinated omission").
 *
 *     struct pacer pacer;
 *     pacer_init(&pacer, start_ns, rate, poisson, seed);
 *     while (pacer.due_ns <= now_ns) { ...; pacer_advance(&pacer); }
 */

struct pacer {
    uint64_t due_ns; /* time of the next request */
    uint64_t start_ns;
    double rate; /* a second */
    bool poisson;
    double at_s;     /* the next request's distance from the start */
    uint64_t count;  /* requests before the next one */
    uint64_t random; /* state of the generator, never 0 */
};

/* The first request is due at start_ns (with `poisson`: one gap later). */
void pacer_init(struct pacer *pacer, uint64_t start_ns, double rate, bool poisson, unsigned seed);
void pacer_advance(struct pacer *pacer);

/* ---- the run ---- */

/* Sends, receives and judges until a bound is reached; everything ends up in the tally. `book` may
 * be NULL. ERR_IO if the process lacks descriptors for its connections; ERR_UNUSABLE for a file of
 * certificates. */
enum err_code client_run(const struct options *options, struct workload *workload,
                         const struct answer_book *book, struct tally *tally, struct err *err);

#endif
