#include "tests/bench/stopwatch.h"

#include "engine/base/clock.h"

#include <stdlib.h>

enum { TIMINGS_MAX = 200 };

const struct stopwatch_plan STOPWATCH_KERNEL = {
    .budget_ms = 150, .timing_ms = 1, .timings_min = 7, .untimed = 2};
const struct stopwatch_plan STOPWATCH_MODEL = {
    .budget_ms = 4000, .timing_ms = 0, .timings_min = 5, .untimed = 2};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct stopwatch stopwatch_summary(double *times, unsigned count)
{
    qsort(times, count, sizeof *times, ascending);
    double upper = times[count / 2], lower = times[(count - 1) / 2];
    return (struct stopwatch){
        .median_ms = (lower + upper) / 2, .minimum_ms = times[0], .timings = count};
}

static double time_ms(void (*work)(void *context), void *context, unsigned repetitions)
{
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < repetitions; i++)
        work(context);
    return clock_ms_between(start, clock_now_ns());
}

/* Repetitions that make one timing last long enough for the clock. */
static unsigned calibrate(void (*work)(void *context), void *context, double timing_ms)
{
    unsigned repetitions = 1;
    while (repetitions < 1u << 24 && time_ms(work, context, repetitions) < timing_ms)
        repetitions *= 2;
    return repetitions;
}

struct stopwatch stopwatch_take(void (*work)(void *context), void *context,
                                struct stopwatch_plan plan)
{
    double times[TIMINGS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < plan.untimed; i++)
        work(context);
    unsigned repetitions = plan.timing_ms > 0 ? calibrate(work, context, plan.timing_ms) : 1;
    uint64_t start = clock_now_ns();
    while (count < TIMINGS_MAX &&
           (count < plan.timings_min || clock_ms_between(start, clock_now_ns()) < plan.budget_ms))
        times[count++] = time_ms(work, context, repetitions) / repetitions;
    return stopwatch_summary(times, count);
}
