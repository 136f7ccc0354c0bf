/* clock.h - time. Deadlines and durations are monotonic nanoseconds, never the wall clock: they
 * survive a clock step. The wall clock is only for people to read. Threads: any.
 *
 * The monotonic clock of Linux begins at boot. This one is a day ahead of it, so that an hour
 * before any time is a valid time even a second after boot, and 0 is long before all times. Code
 * that passes a time to the kernel subtracts the day. */
#ifndef ATTND_ENGINE_BASE_CLOCK_H
#define ATTND_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { CLOCK_NS_PER_MS = 1000000, CLOCK_NS_PER_S = 1000000000, CLOCK_AHEAD_S = 24 * 3600 };

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec + CLOCK_AHEAD_S) * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Processor time of the calling thread, which stops while other threads have its processor. */
static inline uint64_t clock_thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline double clock_ms_between(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? (double)(end_ns - start_ns) / CLOCK_NS_PER_MS : 0.0;
}

enum { CLOCK_UTC_BYTES = 40 };

/* Now by the wall clock, in RFC 3339, UTC, milliseconds: "2026-11-22T17:36:45.235Z". */
void clock_utc(char out[CLOCK_UTC_BYTES]);

#endif
