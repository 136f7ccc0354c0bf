#include "learn/eval/measure/separation.h"

#include <math.h>
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
