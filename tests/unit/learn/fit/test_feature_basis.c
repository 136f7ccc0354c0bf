/* feature_basis.h: projected features are uncorrelated and of length 1, and weights fitted on them
 * give the same logits on the features themselves. */
#include "engine/base/rng.h"
#include "learn/fit/feature_basis.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 1200, WIDTH = 7, SOURCES = 4, LABELS = 3 };

/* Mixtures of four sources far from the origin: three directions carry noise of rounding, of which
 * the processor decides how much. */
static void fill(float *features)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct rng rng = rng_for(5, 0, i);
        float source[SOURCES];
        for (unsigned s = 0; s < SOURCES; s++)
            source[s] = rng_normal(&rng) * (float)(s + 1);
        for (unsigned j = 0; j < WIDTH; j++) {
            features[i * WIDTH + j] = 20 + (float)j;
            for (unsigned s = 0; s < SOURCES; s++)
                features[i * WIDTH + j] += source[s] * sinf(0.7f * (float)((j + 1) * (s + 1)));
        }
    }
}

static float features[COUNT * WIDTH], rows[COUNT * WIDTH];
static const struct feature_table table = {
    .features = features, .count = COUNT, .stride = WIDTH, .width = WIDTH};

static double mean_product(unsigned rank, unsigned a, unsigned b)
{
    double sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        sum += (double)rows[i * rank + a] * (double)rows[i * rank + b];
    return sum / COUNT;
}

START_TEST(projected_features_are_uncorrelated_and_of_length_one)
{
    struct arena arena;
    struct feature_basis basis;
    struct err err = {0};
    double total = 0;
    arena_init(&arena);
    fill(features);
    ck_assert_int_eq(feature_basis_fit(&basis, &table, &arena, &err), ERR_OK);
    ck_assert_uint_ge(basis.rank, SOURCES);
    for (unsigned a = 0; a < basis.rank; a++)
        ck_assert_msg((basis.variances[a] > 1e-3) == (a < SOURCES), "%u of %u: %g", a, basis.rank,
                      basis.variances[a]);
    ck_assert_int_eq(feature_basis_project(&basis, &table, rows, &err), ERR_OK);
    for (unsigned a = 0; a < basis.rank; a++) {
        for (unsigned b = 0; b <= a; b++)
            ck_assert_double_eq_tol(mean_product(basis.rank, a, b), a == b ? basis.variances[a] : 0,
                                    1e-4);
        total += basis.variances[a];
    }
    ck_assert_double_eq_tol(total, 1, 1e-6);
    arena_deinit(&arena);
}
END_TEST

START_TEST(restored_weights_give_the_same_logits)
{
    struct arena arena;
    struct feature_basis basis;
    struct err err = {0};
    double weights[LABELS * (WIDTH + 1)];
    float plain[LABELS * (WIDTH + 1)];
    arena_init(&arena);
    fill(features);
    ck_assert_int_eq(feature_basis_fit(&basis, &table, &arena, &err), ERR_OK);
    ck_assert_int_eq(feature_basis_project(&basis, &table, rows, &err), ERR_OK);
    const unsigned row = basis.rank + 1;
    for (unsigned i = 0; i < LABELS * row; i++)
        weights[i] = cos(1.0 + i);
    feature_basis_restore(&basis, weights, LABELS, plain);
    for (size_t i = 0; i < COUNT; i++)
        for (unsigned c = 0; c < LABELS; c++) {
            double expected = weights[c * row + basis.rank];
            double found = (double)plain[c * (WIDTH + 1) + WIDTH];
            for (unsigned d = 0; d < basis.rank; d++)
                expected += weights[c * row + d] * (double)rows[i * basis.rank + d];
            for (unsigned j = 0; j < WIDTH; j++)
                found += (double)plain[c * (WIDTH + 1) + j] * (double)features[i * WIDTH + j];
            ck_assert_double_eq_tol(found, expected, 1e-4);
        }
    arena_deinit(&arena);
}
END_TEST

START_TEST(features_that_do_not_vary_are_refused)
{
    static const float same[4 * WIDTH] = {0};
    struct arena arena;
    struct feature_basis basis;
    struct err err = {0};
    arena_init(&arena);
    const struct feature_table flat = {
        .features = same, .count = 4, .stride = WIDTH, .width = WIDTH};
    ck_assert_int_eq(feature_basis_fit(&basis, &flat, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "all inputs look alike to the encoder");
    arena_deinit(&arena);
}
END_TEST

SUITE("feature_basis", projected_features_are_uncorrelated_and_of_length_one,
      restored_weights_give_the_same_logits, features_that_do_not_vary_are_refused)
