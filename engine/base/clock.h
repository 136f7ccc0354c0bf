/* clock.h - monotonic time in nanoseconds. Never the wall clock: deadlines survive a clock step. */
#ifndef ATTND_ENGINE_BASE_CLOCK_H
#define ATTND_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { CLOCK_NS_PER_MS = 1000000, CLOCK_NS_PER_S = 1000000000 };

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline double clock_ms_between(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? (double)(end_ns - start_ns) / CLOCK_NS_PER_MS : 0.0;
}

#endif
