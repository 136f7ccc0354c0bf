/* meter.h - the use of a key's limits: requests a second, and requests at once.
 *
 *     if (meter_take(meter, &limits, clock_now_ns(), &wait_s) == METER_TAKEN)
 *         ... the request ...
 *         meter_give(meter);
 *
 * The rate is a token bucket that holds one second's worth, and at least one request. Limits are
 * given at each call: they are the key's, which a reload may change, while the meter goes on.
 *
 * Threads: internally locked, a leaf; the number of holders is atomic.
 */
#ifndef ATTND_SERVER_AUTH_METER_H
#define ATTND_SERVER_AUTH_METER_H

#include <stdint.h>

struct meter;

struct meter_limits {
    double rate;          /* requests a second; 0: any number */
    unsigned concurrency; /* requests at once; 0: any number */
};

enum meter_verdict { METER_TAKEN, METER_RATE, METER_CONCURRENCY };

/* A meter with a full bucket and one holder. NULL if there is no memory. */
struct meter *meter_open(void);
struct meter *meter_share(struct meter *meter);
/* Each holder calls it; the last call frees the meter. NULL does nothing. */
void meter_release(struct meter *meter);

/* Counts one request if both limits allow it; meter_give ends it. If they do not, nothing is used,
 * and *wait_s is the time that the bucket needs for it; 0: the time is not known. */
enum meter_verdict meter_take(struct meter *meter, const struct meter_limits *limits,
                              uint64_t now_ns, double *wait_s);
void meter_give(struct meter *meter);

#endif
