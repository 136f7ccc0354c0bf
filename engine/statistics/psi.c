#include "engine/statistics/psi.h"

#include <math.h>

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
