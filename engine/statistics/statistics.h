/* statistics.h - figures of counts, in reports and while the server runs. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_STATISTICS_STATISTICS_H
#define ATTND_ENGINE_STATISTICS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    double low, high;
};

/* How sure a share is: the interval of a count of hits (E. B. Wilson, "Probable inference, the law
 * of succession, and statistical inference", JASA 22 (1927) 209-212).
 *
 *     struct interval accuracy = wilson_interval(hits, count);      0.53..0.89 of 15 among 20
 */

/* At 95 %, two-sided; 0 and 1 of none. */
struct interval wilson_interval(size_t hits, size_t count);

/* For any quantile z of the normal distribution: its lower end alone is one-sided, at 90 % for
 * 1.2816, at 95 % for 1.6449. 0: the share itself. */
struct interval wilson_interval_at(size_t hits, size_t count, double z);

/* A share of a whole that was looked at unevenly: part by part, each with the weight
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
 */

struct stratum {
    double weight;      /* not negative, in any unit: its part of the sum of all */
    size_t hits, count; /* of those that were looked at */
};

/* At 95 %, two-sided. False, and nothing is said: a stratum with weight was not looked at, or none
 * has weight. */
bool stratified_share(const struct stratum *strata, unsigned count, double *share,
                      struct interval *interval);

/* Population stability index: how far counts over some bins have moved from the shares that
 * a reference had in them (Siddiqi, "Credit Risk Scorecards", 2006; it is Jeffreys' divergence of
 * 1946).
 *
 *     PSI = sum_i (p_i - q_i) ln(p_i / q_i)        p: the counts' shares, q: the reference's
 *
 *     uint32_t counts[10] = {...};                 of 200 predictions
 *     double moved = psi_excess(counts, &(struct psi_reference){10, shares, 1000});
 *     if (moved > 0.25) ...                        0.1: some, 0.25: a lot (Siddiqi)
 *
 * Empty bins. An empty bin would make the sum infinite. q gets half an input a bin (Jeffreys'
 * prior): q_i = (m q_i + 1/2) / (m + k/2), of m inputs and k bins. p gets as many, spread as q is:
 * p_i = (c_i + q_i k/2) / (n + k/2). So a window without predictions has a PSI of 0, and a bin that
 * is rare in the reference does not look emptied or filled for being rare.
 *
 * Small windows. Where nothing has moved, PSI is about (1/n + 1/m) times a chi-squared variable of
 * k - 1 degrees of freedom (Yurdakul, "Statistical properties of population stability index",
 * Western Michigan University, 2018), so its mean is (k - 1) (1/n + 1/m): 0.054 for 10 bins, 200
 * predictions and 1000 inputs. The excess is what is left of PSI above that mean, at least 0.
 *
 * Cost: a logarithm for each bin.
 */

struct psi_reference {
    unsigned bin_count;
    const float *shares;  /* [bin_count], their sum is 1 */
    unsigned input_count; /* of which they are the shares, at least 1 */
};

/* counts [bin_count]. 0 if all of them are 0. */
double psi(const uint32_t *counts, const struct psi_reference *reference);

/* The mean of psi() of `count` predictions like the reference's inputs, count >= 1. */
double psi_expected(unsigned count, const struct psi_reference *reference);

/* psi less psi_expected, at least 0. */
double psi_excess(const uint32_t *counts, const struct psi_reference *reference);

/* McNemar's test: one of two models that judged the same inputs is right more often.
 *
 *     double p = mcnemar_p(3, 15);       0.0075: 3 inputs only the first had right, 15 the second
 *
 * Q. McNemar, "Note on the sampling error of the difference between correlated proportions",
 * Psychometrika 12 (1947) 153-157; the exact form, which needs no minimum count. Inputs that both
 * or neither had right say nothing about it.
 */

/* How likely two equally good models differ at least so much, in either direction: two-sided, of
 * the binomial distribution with a half. 1 of none. */
double mcnemar_p(uint64_t first_only, uint64_t second_only);

#endif
