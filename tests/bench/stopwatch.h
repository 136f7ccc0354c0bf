/* stopwatch.h - how long a piece of work takes, on a machine where others work too: many short
 * timings, of which the minimum says what the code can do and the median what it did.
 *
 *     struct stopwatch time = stopwatch_take(multiply, &args, STOPWATCH_KERNEL);
 *     printf("%.3f ms (%.3f)\n", time.median_ms, time.minimum_ms);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TESTS_BENCH_STOPWATCH_H
#define ATTND_TESTS_BENCH_STOPWATCH_H

#include <stddef.h>

struct stopwatch_plan {
    double budget_ms;     /* no new timing starts after so much time */
    double timing_ms;     /* work shorter than this is repeated within one timing */
    unsigned timings_min; /* even if the budget is spent; at least 1 */
    unsigned untimed;     /* runs before the first timing */
};

extern const struct stopwatch_plan STOPWATCH_KERNEL; /* microseconds of work */
extern const struct stopwatch_plan STOPWATCH_MODEL;  /* milliseconds to seconds of work */

struct stopwatch {
    double median_ms, minimum_ms; /* of one piece of work */
    unsigned timings;
};

struct stopwatch stopwatch_take(void (*work)(void *context), void *context,
                                struct stopwatch_plan plan);

/* Median and minimum of times[0..count), count >= 1; sorts them. */
struct stopwatch stopwatch_summary(double *times, unsigned count);

#endif
