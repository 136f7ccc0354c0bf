#include "engine/model/attention_stats.h"
#include "tests/support/suite.h"

#include <math.h>

/* [CLS], three words, [SEP] */
static const struct attention_layout text = {.tokens = 5, .first = 1, .end = 4};

static struct attention_stats stats_of(const struct attention_layout *layout, const float *rows,
                                       size_t query, size_t count)
{
    struct attention_stats stats = {0};
    attention_stats_add(&stats, layout, rows, query, count);
    attention_stats_finish(&stats, layout);
    return stats;
}

START_TEST(attention_on_oneself_has_no_entropy_and_no_distance)
{
    float rows[5][5] = {{0}};
    for (int i = 0; i < 5; i++)
        rows[i][i] = 1;
    struct attention_stats stats = stats_of(&text, rows[0], 0, 5);
    ck_assert_float_eq(stats.entropy, 0);
    ck_assert_float_eq(stats.distance, 0);
    ck_assert_float_eq(stats.diagonal, 1);
    ck_assert_float_eq(stats.neighbour, 0);
    ck_assert_float_eq_tol(stats.sparsity, 0.8f, 1e-6f);
}
END_TEST

/* The three words have nine distances: two are 2 and four are 1. */
START_TEST(attention_on_all_alike_has_the_largest_entropy)
{
    float rows[25];
    for (int i = 0; i < 25; i++)
        rows[i] = 0.2f;
    struct attention_stats stats = stats_of(&text, rows, 0, 5);
    ck_assert_float_eq_tol(stats.entropy, logf(5), 1e-6f);
    ck_assert_float_eq_tol(stats.distance, 8.0f / 9, 1e-6f);
    ck_assert_float_eq_tol(stats.diagonal, 0.2f, 1e-6f);
    ck_assert_float_eq_tol(stats.neighbour, 0.8f / 3, 1e-6f);
    ck_assert_float_eq(stats.sparsity, 0);
}
END_TEST

/* The grid is 2 x 3 behind [CLS]. The corner looks at the patch across the diagonal of one square
 * and at the far corner, half and half. Its attention to [CLS] has no distance. */
START_TEST(distances_on_an_image_are_those_of_its_grid)
{
    const struct attention_layout image = {.tokens = 7, .first = 1, .end = 7, .columns = 3};
    float rows[7][7] = {{0}};
    rows[1][0] = 0.5f;
    rows[1][5] = 0.25f;
    rows[1][6] = 0.25f;
    struct attention_stats stats = {0};
    attention_stats_add(&stats, &image, rows[1], 1, 1);
    ck_assert_float_eq_tol(stats.distance, (sqrtf(2) + sqrtf(5)) / 2, 1e-6f);
    ck_assert_float_eq_tol(stats.neighbour, 0.25f, 1e-6f);
    ck_assert_float_eq_tol(stats.entropy, 0.5f * logf(2) + 0.5f * logf(4), 1e-6f);
}
END_TEST

START_TEST(blocks_of_queries_add_up)
{
    float rows[25];
    for (int i = 0; i < 25; i++)
        rows[i] = (float)(i % 7) / 15;
    struct attention_stats whole = stats_of(&text, rows, 0, 5), parts = {0};
    attention_stats_add(&parts, &text, rows, 0, 2);
    attention_stats_add(&parts, &text, rows + 10, 2, 3);
    attention_stats_finish(&parts, &text);
    ck_assert_float_eq_tol(parts.entropy, whole.entropy, 1e-6f);
    ck_assert_float_eq_tol(parts.distance, whole.distance, 1e-6f);
    ck_assert_float_eq_tol(parts.sparsity, whole.sparsity, 1e-6f);
}
END_TEST

/* An even share of five tokens is a fifth. Attention below half of it, a tenth, is sparse. */
START_TEST(sparse_is_below_half_of_an_even_share)
{
    float rows[5] = {0.099f, 0.101f, 0.07f, 0, 0.73f};
    struct attention_stats stats = {0};
    attention_stats_add(&stats, &text, rows, 2, 1);
    ck_assert_float_eq_tol(stats.sparsity, 0.6f, 1e-6f);
}
END_TEST

START_TEST(a_word_that_looks_at_special_tokens_alone_has_no_distance)
{
    const float rows[5] = {0.5f, 0, 0, 0, 0.5f};
    struct attention_stats stats = {0};
    attention_stats_add(&stats, &text, rows, 2, 1);
    ck_assert_float_eq(stats.distance, 0);
    ck_assert_float_eq(stats.neighbour, 0);
    ck_assert_float_eq(stats.diagonal, 0);
}
END_TEST

SUITE("attention_stats", a_word_that_looks_at_special_tokens_alone_has_no_distance,
      sparse_is_below_half_of_an_even_share, attention_on_oneself_has_no_entropy_and_no_distance,
      attention_on_all_alike_has_the_largest_entropy, distances_on_an_image_are_those_of_its_grid,
      blocks_of_queries_add_up)
