#include "engine/statistics/statistics.h"

#include <math.h>

/* ---- shares ---- */

/* The normal distribution's 97.5 % quantile. */
static const double z_two_sided = 1.959963984540054;

/* (p + z^2/2n -+ z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n) */
struct interval wilson_interval_at(size_t hits, size_t count, double z)
{
    if (count == 0)
        return (struct interval){.low = 0.0, .high = 1.0};
    double n = (double)count, p = (double)hits / n;
    double centre = p + z * z / (2 * n);
    double spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return (struct interval){.low = fmax(0.0, (centre - spread) / (1 + z * z / n)),
                             .high = fmin(1.0, (centre + spread) / (1 + z * z / n))};
}

struct interval wilson_interval(size_t hits, size_t count)
{
    return wilson_interval_at(hits, count, z_two_sided);
}

/* ---- shares of strata ---- */

bool stratified_share(const struct stratum *strata, unsigned count, double *share,
                      struct interval *interval)
{
    double whole = 0, below = 0, above = 0;
    *share = 0;
    for (unsigned i = 0; i < count; i++)
        whole += strata[i].weight;
    if (!(whole > 0))
        return false;
    for (unsigned i = 0; i < count; i++) {
        const double weight = strata[i].weight / whole;
        if (weight > 0 && strata[i].count == 0)
            return false;
        if (!(weight > 0))
            continue;
        const struct interval own = wilson_interval(strata[i].hits, strata[i].count);
        const double part = (double)strata[i].hits / (double)strata[i].count;
        *share += weight * part;
        below += pow(weight * (part - own.low), 2);
        above += pow(weight * (own.high - part), 2);
    }
    interval->low = fmax(0, *share - sqrt(below));
    interval->high = fmin(1, *share + sqrt(above));
    return true;
}

/* ---- population stability index ---- */

static unsigned sum_of(const uint32_t *counts, unsigned bin_count)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < bin_count; i++)
        sum += counts[i];
    return sum;
}

double psi(const uint32_t *counts, const struct psi_reference *reference)
{
    const double prior = 0.5 * reference->bin_count, inputs = reference->input_count;
    const double count = sum_of(counts, reference->bin_count);
    double sum = 0;
    for (unsigned i = 0; i < reference->bin_count; i++) {
        double q = ((double)reference->shares[i] * inputs + 0.5) / (inputs + prior);
        double p = (counts[i] + q * prior) / (count + prior);
        sum += (p - q) * log(p / q);
    }
    return sum;
}

double psi_expected(unsigned count, const struct psi_reference *reference)
{
    return (reference->bin_count - 1) * (1.0 / count + 1.0 / reference->input_count);
}

double psi_excess(const uint32_t *counts, const struct psi_reference *reference)
{
    unsigned count = sum_of(counts, reference->bin_count);
    return count > 0 ? fmax(0, psi(counts, reference) - psi_expected(count, reference)) : 0;
}

/* ---- two models on the same inputs ---- */

/* 2 sum_{k <= min} C(n, k) / 2^n, at most 1. From the largest term down: the ratio of the k-th to
 * the one before it is k / (n - k + 1), and what is below the last digit is left out. */
double mcnemar_p(uint64_t first_only, uint64_t second_only)
{
    const uint64_t least = first_only < second_only ? first_only : second_only;
    const double n = (double)first_only + (double)second_only, k = (double)least;
    double term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    double sum = 0;
    for (double at = k; at >= 0 && term > sum * 1e-17; at--) {
        sum += term;
        term *= at / (n - at + 1);
    }
    return fmin(1.0, 2 * sum);
}
