/* ranking_loss.h against the definition, written out by hand, and against central differences. */
#include "learn/train/network/ranking_loss.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 5, WIDTH = 7, NUMBERS = 2 * PAIRS * WIDTH };

static float vectors[NUMBERS];
static const unsigned all_differ[PAIRS] = {0, 1, 2, 3, 4}, two_alike[PAIRS] = {0, 1, 0, 2, 1};

static double cosine(const float *a, const float *b)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < WIDTH; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return ab / sqrt(aa) / sqrt(bb);
}

/* The definition, term by term. */
static double loss_by_hand(const unsigned *groups, double scale)
{
    double loss = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        double sum = 0, own = 0;
        for (size_t j = 0; j < PAIRS; j++) {
            const double s = scale * cosine(vectors + 2 * i * WIDTH, vectors + (2 * j + 1) * WIDTH);
            if (j == i)
                own = exp(s);
            if (j == i || groups[j] != groups[i])
                sum += exp(s);
        }
        loss -= log(own / sum) / PAIRS;
    }
    return loss;
}

static double run(const unsigned *groups, double scale, float *dvectors, size_t *hits)
{
    const struct ranking_pairs pairs = {
        .vectors = vectors, .groups = groups, .count = PAIRS, .width = WIDTH, .scale = scale};
    double *scratch = calloc(ranking_loss_scratch(&pairs), sizeof *scratch);
    ck_assert_ptr_nonnull(scratch);
    const double loss = ranking_loss(&pairs, dvectors, scratch, hits);
    free(scratch);
    return loss;
}

START_TEST(the_loss_is_the_definition)
{
    numbers_fill(vectors, NUMBERS, 1, 11);
    for (double scale = 1; scale < 30; scale += 19) {
        ck_assert_double_eq_tol(run(all_differ, scale, NULL, NULL), loss_by_hand(all_differ, scale),
                                1e-12);
        ck_assert_double_eq_tol(run(two_alike, scale, NULL, NULL), loss_by_hand(two_alike, scale),
                                1e-12);
    }
}
END_TEST

START_TEST(the_gradient_is_that_of_central_differences)
{
    const unsigned *const groups[] = {all_differ, two_alike};
    for (unsigned g = 0; g < 2; g++) {
        float gradient[NUMBERS];
        numbers_fill(vectors, NUMBERS, 1, 12 + g);
        run(groups[g], 20, gradient, NULL);
        for (size_t i = 0; i < NUMBERS; i++) {
            const float kept = vectors[i];
            vectors[i] = kept + 1e-3f;
            double above = run(groups[g], 20, NULL, NULL), width = (double)vectors[i];
            vectors[i] = kept - 1e-3f;
            width -= (double)vectors[i];
            const double slope = (above - run(groups[g], 20, NULL, NULL)) / width;
            vectors[i] = kept;
            ck_assert_double_eq_tol((double)gradient[i], slope, 1e-4 * (1 + fabs(slope)));
        }
    }
}
END_TEST

START_TEST(a_pair_of_the_same_group_is_no_negative)
{
    float gradient[NUMBERS];
    const unsigned one_group[PAIRS] = {3, 3, 3, 3, 3};
    numbers_fill(vectors, NUMBERS, 1, 15);
    ck_assert_double_eq(run(one_group, 20, gradient, NULL), 0);
    for (size_t i = 0; i < NUMBERS; i++)
        ck_assert(gradient[i] == 0);
}
END_TEST

START_TEST(texts_that_are_closest_to_their_own_are_counted)
{
    size_t hits = 0;
    numbers_fill(vectors, NUMBERS, 1, 16);
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(vectors + (2 * i + 1) * WIDTH, vectors + 2 * i * WIDTH, WIDTH * sizeof *vectors);
    run(all_differ, 20, NULL, &hits);
    ck_assert_uint_eq(hits, PAIRS);
    memcpy(vectors + WIDTH, vectors + 2 * WIDTH, WIDTH * sizeof *vectors);
    memcpy(vectors + 3 * WIDTH, vectors, WIDTH * sizeof *vectors); /* the first two exchange */
    hits = 0;
    run(all_differ, 20, NULL, &hits);
    ck_assert_uint_eq(hits, PAIRS - 2);
}
END_TEST

START_TEST(a_vector_of_length_nought_has_no_gradient)
{
    float gradient[NUMBERS];
    numbers_fill(vectors, NUMBERS, 1, 17);
    memset(vectors, 0, WIDTH * sizeof *vectors);
    ck_assert(isfinite(run(all_differ, 20, gradient, NULL)));
    for (size_t i = 0; i < NUMBERS; i++)
        ck_assert(isfinite(gradient[i]) && (i >= WIDTH || gradient[i] == 0));
}
END_TEST

SUITE("ranking_loss", the_loss_is_the_definition, the_gradient_is_that_of_central_differences,
      a_pair_of_the_same_group_is_no_negative, texts_that_are_closest_to_their_own_are_counted,
      a_vector_of_length_nought_has_no_gradient)
