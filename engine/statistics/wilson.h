/* wilson.h - how sure a share is: the interval of a count of hits, in reports and live figures.
 *
 *     struct interval accuracy = wilson_interval(hits, count);      0.53..0.89 of 15 among 20
 *
 * E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
 * (1927) 209-212. Threads: no state.
 */
#ifndef ATTND_ENGINE_STATISTICS_WILSON_H
#define ATTND_ENGINE_STATISTICS_WILSON_H

#include <stddef.h>

struct interval {
    double low, high;
};

/* At 95 %, two-sided; 0 and 1 of none. */
struct interval wilson_interval(size_t hits, size_t count);

/* For any quantile z of the normal distribution: its lower end alone is one-sided, at 90 % for
 * 1.2816, at 95 % for 1.6449. 0: the share itself. */
struct interval wilson_interval_at(size_t hits, size_t count, double z);

#endif
