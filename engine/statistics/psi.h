/* psi.h - population stability index: how far counts over some bins have moved from the shares that
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
 * Threads: pure functions. Cost: a logarithm for each bin.
 */
#ifndef ATTND_ENGINE_STATISTICS_PSI_H
#define ATTND_ENGINE_STATISTICS_PSI_H

#include <stdint.h>

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

#endif
