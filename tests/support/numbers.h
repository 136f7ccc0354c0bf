/* numbers.h - seeded random numbers and comparisons for the kernels' tests. */
#ifndef ATTND_TESTS_SUPPORT_NUMBERS_H
#define ATTND_TESTS_SUPPORT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Fills x[n] with numbers in [-range, range] from a seed. */
void numbers_fill(float *x, size_t n, float range, uint32_t seed);
/* The same in fresh 64-byte aligned memory; yours to free. */
float *numbers_new(size_t n, float range, uint32_t seed);
/* max |a - b|, and that over max |b|. NaN anywhere gives infinity. */
double numbers_difference(const float *a, const float *b, size_t n);
double numbers_relative_difference(const float *a, const float *b, size_t n);

#endif
