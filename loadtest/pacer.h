/* pacer.h - when the requests of an open loop are due.
 *
 * Due times depend on the clock alone, never on answers: a server that stalls does not slow its
 * clients down, and the wait that it causes is measured (no "coordinated omission").
 *
 *     struct pacer pacer;
 *     pacer_init(&pacer, start_ns, rate, poisson, seed);
 *     while (pacer.due_ns <= now_ns) { ...; pacer_advance(&pacer); }
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LOADTEST_PACER_H
#define ATTND_LOADTEST_PACER_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
