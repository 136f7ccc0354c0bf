/* Likeness of inputs: directions of vectors, in bytes. */
#include "server/serve/likeness.h"

#include "tests/support/suite.h"

#include <math.h>

enum { SIZE = 192 };

/* Twelve uniform numbers make one that is nearly normal. */
static float normal(unsigned *seed)
{
    float sum = -6;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 1664525 + 1013904223;
        sum += (float)(*seed >> 8) / (float)(1 << 24);
    }
    return sum;
}

static float exact(const float *a, const float *b)
{
    double product = 0, square = 0, other = 0;
    for (unsigned i = 0; i < SIZE; i++) {
        product += (double)a[i] * (double)b[i];
        square += (double)a[i] * (double)a[i];
        other += (double)b[i] * (double)b[i];
    }
    return (float)(product / sqrt(square * other));
}

START_TEST(the_cosine_of_bytes_is_that_of_the_numbers)
{
    unsigned seed = 1;
    for (int round = 0; round < 100; round++) {
        float a[SIZE], b[SIZE];
        int8_t like_a[SIZE], like_b[SIZE];
        for (unsigned i = 0; i < SIZE; i++) {
            a[i] = 1e-3F * normal(&seed);
            b[i] = 1e4F * a[i] * (float)(round % 3) + normal(&seed);
        }
        likeness_take(like_a, a, SIZE);
        likeness_take(like_b, b, SIZE);
        ck_assert_float_eq_tol(likeness_cosine(like_a, like_b, SIZE), exact(a, b), 4e-3F);
        ck_assert_float_eq_tol(likeness_cosine(like_a, like_a, SIZE), 1, 1e-6F);
    }
}
END_TEST

START_TEST(the_largest_number_is_127_or_its_negative)
{
    const float numbers[] = {0.5F, -2, 1, 0};
    int8_t like[4];
    likeness_take(like, numbers, 4);
    ck_assert(like[0] == 32 && like[1] == -127 && like[2] == 64 && like[3] == 0);
}
END_TEST

START_TEST(likeness_of_a_vector_without_direction_is_zero)
{
    const float none[] = {0, 0, 0}, endless[] = {1, INFINITY, 2}, lost[] = {NAN, NAN, NAN};
    const float one[] = {1, 2, 3};
    int8_t like[3], other[3];
    likeness_take(other, one, 3);
    likeness_take(like, none, 3);
    ck_assert_float_eq(likeness_cosine(like, other, 3), 0);
    likeness_take(like, endless, 3);
    ck_assert_float_eq(likeness_cosine(like, other, 3), 0);
    likeness_take(like, lost, 3);
    ck_assert_float_eq(likeness_cosine(like, other, 3), 0);
    ck_assert_float_eq(likeness_cosine(like, like, 3), 0);
}
END_TEST

SUITE("serve/likeness", the_cosine_of_bytes_is_that_of_the_numbers,
      the_largest_number_is_127_or_its_negative, likeness_of_a_vector_without_direction_is_zero)
