#include "engine/statistics/mcnemar.h"

#include <math.h>

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
