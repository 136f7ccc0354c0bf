#include "learn/eval/measure/separation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

double separation_auroc(float *known, size_t known_count, float *strange, size_t strange_count)
{
    double won = 0;
    size_t below = 0, not_above = 0; /* known scores below the strange one; and equal to it */
    if (known_count == 0 || strange_count == 0)
        return 0.5;
    qsort(known, known_count, sizeof *known, compare);
    qsort(strange, strange_count, sizeof *strange, compare);
    for (size_t i = 0; i < strange_count; i++) {
        while (below < known_count && known[below] < strange[i])
            below++;
        while (not_above < known_count && known[not_above] <= strange[i])
            not_above++;
        won += ((double)below + (double)not_above) / 2;
    }
    return won / (double)known_count / (double)strange_count;
}

double separation_fpr(float *known, size_t known_count, float *strange, size_t strange_count,
                      double accepted)
{
    size_t passing = 0;
    if (known_count == 0 || strange_count == 0)
        return 0;
    qsort(known, known_count, sizeof *known, compare);
    double rank = ceil(accepted * (double)known_count - 1e-9) - 1;
    float threshold = known[(size_t)fmin(fmax(rank, 0), (double)(known_count - 1))];
    for (size_t i = 0; i < strange_count; i++)
        passing += strange[i] <= threshold;
    return (double)passing / (double)strange_count;
}

/* Variance of a measured AUROC if the true one is `auroc`: Hanley and McNeil (1982), with
 * (m + n) / 2 in place of both m and n. */
static double variance_of(double auroc, double known, double strange)
{
    const double more = (known + strange) / 2 - 1;
    return auroc * (1 - auroc) *
           (1 + more * (1 - auroc) / (2 - auroc) + more * auroc / (1 + auroc)) / (known * strange);
}

/* End of the interval towards `end`: the true AUROC furthest from `auroc` that is still compatible
 * with it. */
static double bound_of(double auroc, double end, double known, double strange)
{
    static const double z = 1.959963984540054;
    double inside = auroc, outside = end;
    for (unsigned step = 0; step < 60; step++) {
        const double middle = (inside + outside) / 2;
        const bool is_inside =
            fabs(auroc - middle) <= z * sqrt(variance_of(middle, known, strange));
        *(is_inside ? &inside : &outside) = middle;
    }
    return inside;
}

struct interval separation_interval(double auroc, size_t known_count, size_t strange_count)
{
    const double known = (double)known_count, strange = (double)strange_count;
    if (known_count == 0 || strange_count == 0)
        return (struct interval){.low = 0, .high = 1};
    return (struct interval){.low = bound_of(auroc, 0, known, strange),
                             .high = bound_of(auroc, 1, known, strange)};
}

void separation_measure(struct separation *out, float *known, size_t known_count, float *strange,
                        size_t strange_count)
{
    *out = (struct separation){.known = known_count, .strange = strange_count};
    out->auroc = separation_auroc(known, known_count, strange, strange_count);
    out->auroc_interval = separation_interval(out->auroc, known_count, strange_count);
    out->fpr95 = separation_fpr(known, known_count, strange, strange_count, 0.95);
    out->fpr95_interval =
        known_count > 0
            ? wilson_interval((size_t)(out->fpr95 * (double)strange_count + 0.5), strange_count)
            : (struct interval){.low = 0, .high = 1};
}
