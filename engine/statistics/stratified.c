#include "engine/statistics/stratified.h"

#include <math.h>

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
