#include "engine/statistics/wilson.h"

#include <math.h>

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
