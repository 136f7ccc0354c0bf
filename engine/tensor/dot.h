/* dot.h - the two steps of small matrix-vector products, which read a weight once and need no
 * kernel. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_DOT_H
#define ATTND_ENGINE_TENSOR_DOT_H

#include <stddef.h>

/* sum_i a[i] b[i], in DOT_LANES sums, which the compiler keeps in vectors. */
static inline float dot(const float *a, const float *b, size_t n)
{
    enum { DOT_LANES = 16 };
    float sums[DOT_LANES] = {0}, total = 0;
    size_t i = 0;
    for (; i + DOT_LANES <= n; i += DOT_LANES)
        for (size_t l = 0; l < DOT_LANES; l++)
            sums[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        total += a[i] * b[i];
    for (size_t l = 0; l < DOT_LANES; l++)
        total += sums[l];
    return total;
}

/* y[i] += scale x[i] */
static inline void add_scaled(float *y, float scale, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

#endif
