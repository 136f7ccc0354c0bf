/* histogram.h - quantiles of durations, without keeping the durations.
 *
 * Log-linear buckets as in HdrHistogram: each power of two is split into 128 equal parts, so a
 * quantile is at most 1/128 (0.8 %) above the value that was recorded, from nanoseconds to hours.
 *
 *     struct histogram latency = {0};
 *     histogram_record(&latency, clock_now_ns() - start_ns);
 *     double p99_ms = (double)histogram_quantile(&latency, 0.99) / CLOCK_NS_PER_MS;
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LOADTEST_HISTOGRAM_H
#define ATTND_LOADTEST_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_PART_BITS = 7,   /* 128 parts a power of two */
    HISTOGRAM_VALUE_BITS = 44, /* values are clamped below 2^44 ns: 4.9 hours */
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_PART_BITS + 1) << HISTOGRAM_PART_BITS,
};

struct histogram {
    uint64_t count;
    uint64_t sum;      /* sum of the recorded values, for the mean */
    uint64_t min, max; /* exact; 0 while empty */
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_record(struct histogram *histogram, uint64_t value);

/* The smallest bucket's upper end such that at least `fraction` of the values are not above it,
 * never above max; 0 if nothing was recorded. */
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);

double histogram_mean(const struct histogram *histogram);

#endif
