#include "tests/support/numbers.h"

#include <math.h>
#include <stdlib.h>

void numbers_fill(float *x, size_t n, float range, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = ((float)(state >> 8) / 8388608.0f - 1.0f) * range;
    }
}

float *numbers_new(size_t n, float range, uint32_t seed)
{
    size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
    float *x = aligned_alloc(64, bytes > 0 ? bytes : 64);
    if (x == NULL)
        abort();
    numbers_fill(x, n, range, seed);
    return x;
}

double numbers_difference(const float *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (isnan(difference))
            return INFINITY;
        worst = difference > worst ? difference : worst;
    }
    return worst;
}

double numbers_relative_difference(const float *a, const float *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fabs((double)b[i]) > largest ? fabs((double)b[i]) : largest;
    return numbers_difference(a, b, n) / (largest > 0 ? largest : 1);
}
