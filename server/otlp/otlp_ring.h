/* otlp_ring.h - requests that wait to be sent as spans: a fixed number of places. Who finds all
 * taken is told so and does not wait.
 *
 *     if (!otlp_ring_put(ring, &entry)) dropped++;               any thread
 *
 *     while ((count = otlp_ring_await(ring, 73, 5000)) > 0) {    the one that sends
 *         ... otlp_ring_at(ring, 0 .. count - 1) ...
 *         otlp_ring_remove(ring, count);
 *     }
 *
 * Threads: any may put and close; all else is one thread's. Entries that await told are that
 * thread's, without a lock, until it removes them.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_RING_H
#define ATTND_SERVER_OTLP_OTLP_RING_H

#include "server/otlp/otlp_spans.h"

enum { OTLP_RING_ENTRIES = 1024 };

struct otlp_ring;

/* ERR_NO_MEMORY. Yours to free, after the last put. */
enum err_code otlp_ring_open(struct otlp_ring **out, struct err *err);
void otlp_ring_free(struct otlp_ring *ring);
size_t otlp_ring_bytes(void);

/* Copies the entry. False: there is no place. */
bool otlp_ring_put(struct otlp_ring *ring, const struct otlp_entry *entry);

/* Waits until there are `enough` entries, or the oldest has waited for wait_ms, or the ring is
 * closed. How many there are; 0: it is closed, and empty. */
unsigned otlp_ring_await(struct otlp_ring *ring, unsigned enough, unsigned wait_ms);
const struct otlp_entry *otlp_ring_at(const struct otlp_ring *ring, unsigned index);
void otlp_ring_remove(struct otlp_ring *ring, unsigned count);

/* Sleeps; false at once if the ring is closed, or as soon as it is. */
bool otlp_ring_rest(struct otlp_ring *ring, unsigned ms);
void otlp_ring_close(struct otlp_ring *ring);

#endif
