/* stratified.h - a share of a whole that was looked at unevenly: part by part, each with the weight
 * that it has in the whole.
 *
 *     const struct stratum strata[] = {{.weight = 0.95, .hits = 48, .count = 50},
 *                                      {.weight = 0.05, .hits = 60, .count = 100}};
 *     double share;
 *     struct interval interval;
 *     if (stratified_share(strata, 2, &share, &interval)) ...         0.942, from 0.85 to 0.97
 *
 * The share is sum w_h p_h (W. G. Cochran, "Sampling Techniques", 3rd edition, 1977, equation 5.1).
 * Its interval is the MOVER of G. Y. Zou, W. Huang and X. Zhang, "A note on confidence interval
 * estimation for a linear function of binomial proportions", Computational Statistics & Data
 * Analysis 53 (2009) 1080-1085, over the Wilson intervals (l_h, u_h) of the strata:
 *
 *     share - sqrt(sum w_h^2 (p_h - l_h)^2)    to    share + sqrt(sum w_h^2 (u_h - p_h)^2)
 *
 * Unlike the normal interval it says something where all of a stratum are hits, and it stays in
 * 0..1; of a single stratum it is Wilson's.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_STATISTICS_STRATIFIED_H
#define ATTND_ENGINE_STATISTICS_STRATIFIED_H

#include "engine/statistics/wilson.h"

#include <stdbool.h>
#include <stddef.h>

struct stratum {
    double weight;      /* not negative, in any unit: its part of the sum of all */
    size_t hits, count; /* of those that were looked at */
};

/* At 95 %, two-sided. False, and nothing is said: a stratum with weight was not looked at, or none
 * has weight. */
bool stratified_share(const struct stratum *strata, unsigned count, double *share,
                      struct interval *interval);

#endif
