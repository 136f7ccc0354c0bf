/* clock.h - time. Deadlines and durations are monotonic nanoseconds, never the wall clock: they
 * survive a clock step. The wall clock is only for people to read. Threads: any.
 *
 * The monotonic clock of Linux begins when the machine does. Ours is a day ahead of it: an hour
 * before any moment is a moment too, on a machine that was started a second ago, and 0 is long
 * before all of them. Who hands a moment to the kernel takes the day off. */
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

/* Processor time of the calling thread, which stands still while others have its processor. */
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
