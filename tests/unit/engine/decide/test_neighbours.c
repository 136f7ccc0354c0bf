/* neighbours.c against sums in double over all examples, sorted. */
#include "engine/base/rng.h"
#include "engine/decide/ood.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 300, WIDTH = 37 };

static float rows[ROWS * WIDTH];

static void make_rows(void)
{
    struct rng rng = {.state = 1};
    for (unsigned i = 0; i < ROWS * WIDTH; i++)
        rows[i] = rng_normal(&rng) + 0.3f;
    for (unsigned r = 0; r < ROWS; r++)
        neighbours_scale(rows + r * WIDTH, WIDTH);
}

static int falling(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

static double expected(const float *x, unsigned nearest, size_t count, size_t left_out)
{
    double cosines[ROWS], sum = 0, squares = 0;
    size_t kept = 0;
    for (unsigned i = 0; i < WIDTH; i++)
        squares += (double)x[i] * (double)x[i];
    for (size_t r = 0; r < count; r++) {
        double product = 0;
        for (unsigned i = 0; i < WIDTH; i++)
            product += (double)rows[r * WIDTH + i] * (double)x[i];
        if (r != left_out)
            cosines[kept++] = product / sqrt(squares);
    }
    qsort(cosines, kept, sizeof *cosines, falling);
    if (nearest > kept)
        nearest = (unsigned)kept;
    for (unsigned i = 0; i < nearest; i++)
        sum += cosines[i];
    return 1 - sum / nearest;
}

START_TEST(the_score_is_one_less_the_mean_cosine_of_the_nearest)
{
    static const unsigned nearest[] = {1, 2, 10, NEIGHBOURS_MAX};
    static const size_t counts[] = {1, 5, ROWS};
    struct rng rng = {.state = 2};
    float x[WIDTH];
    make_rows();
    for (unsigned n = 0; n < 4; n++)
        for (unsigned c = 0; c < 3; c++) {
            const struct neighbours neighbours = {
                .count = counts[c], .width = WIDTH, .nearest = nearest[n], .rows = rows};
            for (unsigned i = 0; i < WIDTH; i++)
                x[i] = 10 * rng_normal(&rng);
            ck_assert_double_eq_tol(neighbours_score(&neighbours, x, SIZE_MAX),
                                    expected(x, nearest[n], counts[c], SIZE_MAX), 1e-5);
        }
}
END_TEST

START_TEST(an_example_is_no_neighbour_of_itself_if_it_is_left_out)
{
    make_rows();
    const struct neighbours neighbours = {
        .count = ROWS, .width = WIDTH, .nearest = 3, .rows = rows};
    const struct neighbours one = {.count = 1, .width = WIDTH, .nearest = 3, .rows = rows};
    const float *x = rows + 7 * WIDTH;
    ck_assert_double_eq_tol(neighbours_score(&neighbours, x, 7), expected(x, 3, ROWS, 7), 1e-5);
    ck_assert_double_gt(neighbours_score(&neighbours, x, 7),
                        neighbours_score(&neighbours, x, SIZE_MAX));
    ck_assert_double_eq(neighbours_score(&one, rows, 0), 1);
}
END_TEST

START_TEST(neighbours_score_of_a_zero_vector_is_that_of_a_right_angle)
{
    float zeros[WIDTH] = {0};
    make_rows();
    neighbours_scale(zeros, WIDTH);
    ck_assert_float_eq(zeros[0], 0);
    const struct neighbours some = {.count = ROWS, .width = WIDTH, .nearest = 3, .rows = rows};
    const struct neighbours none = {.width = WIDTH, .nearest = 3};
    ck_assert_double_eq(neighbours_score(&some, zeros, SIZE_MAX), 1);
    ck_assert_double_eq(neighbours_score(&none, rows, SIZE_MAX), 1);
}
END_TEST

SUITE("neighbours", the_score_is_one_less_the_mean_cosine_of_the_nearest,
      an_example_is_no_neighbour_of_itself_if_it_is_left_out,
      neighbours_score_of_a_zero_vector_is_that_of_a_right_angle)
