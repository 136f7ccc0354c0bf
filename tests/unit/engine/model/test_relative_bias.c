/* Relative positions: the buckets against MPNet's formula, the table's places, and the way back. */
#include "engine/model/bias/relative_bias.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

/* MPNetEncoder.relative_position_bucket, in fp32 as there. */
static unsigned by_formula(long distance)
{
    unsigned side = distance < 0 ? 16 : 0;
    long far = labs(distance);
    if (far < 8)
        return side + (unsigned)far;
    float log_share = logf((float)far / 8) / logf(128.0f / 8);
    unsigned bucket = 8 + (unsigned)(log_share * 8);
    return side + (bucket < 15 ? bucket : 15);
}

START_TEST(buckets_are_those_of_the_formula_at_any_distance)
{
    for (long distance = -70000; distance <= 70000; distance++)
        ck_assert_msg(relative_bias_bucket(&relative_mpnet, distance) == by_formula(distance),
                      "distance %ld: %u", distance,
                      relative_bias_bucket(&relative_mpnet, distance));
}
END_TEST

/* Buckets as torch.log gives them: 16, 32 and 64 are the first distances of theirs. */
START_TEST(powers_of_two_begin_their_buckets)
{
    static const struct {
        long distance;
        unsigned bucket;
    } cases[] = {{0, 0},   {7, 7},   {8, 8},    {11, 8},   {12, 9},   {15, 9},  {16, 10},
                 {31, 11}, {32, 12}, {63, 13},  {64, 14},  {90, 14},  {91, 15}, {5000, 15},
                 {-1, 17}, {-8, 24}, {-16, 26}, {-32, 28}, {-64, 30}, {-91, 31}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(relative_bias_bucket(&relative_mpnet, cases[i].distance),
                          cases[i].bucket);
}
END_TEST

/* T5Attention._relative_position_bucket with other numbers of buckets; a decoder looks back only. */
START_TEST(buckets_of_t5_have_their_own_count_distance_and_direction)
{
    static const struct {
        struct relative_buckets buckets;
        long distance;
        unsigned bucket;
    } cases[] = {
        {{16, 40, true}, 4, 4},     {{16, 40, true}, 8, 5},      {{16, 40, true}, 12, 5},
        {{16, 40, true}, 15, 6},    {{16, 40, true}, 24, 7},     {{16, 40, true}, -1, 9},
        {{16, 40, true}, -9, 13},   {{16, 40, true}, -5000, 15}, {{16, 40, false}, 7, 7},
        {{16, 40, false}, 9, 8},    {{16, 40, false}, 12, 10},   {{16, 40, false}, 24, 13},
        {{16, 40, false}, 40, 15},  {{16, 40, false}, -3, 0},    {{12, 30, true}, 3, 3},
        {{12, 30, true}, 7, 4},     {{12, 30, true}, 15, 5},     {{12, 30, true}, -4, 9},
        {{12, 30, false}, 8, 7},    {{12, 30, false}, 20, 10},   {{12, 30, false}, 100, 11},
        {{32, 128, false}, 24, 19}, {{32, 128, false}, 64, 26},  {{32, 128, false}, 100, 30},
        {{32, 128, false}, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(relative_bias_bucket(&cases[i].buckets, cases[i].distance) == cases[i].bucket,
                      "case %zu: %u", i,
                      relative_bias_bucket(&cases[i].buckets, cases[i].distance));
    ck_assert_uint_eq(relative_bias_exact(&(struct relative_buckets){16, 40, true}), 4);
    ck_assert_uint_eq(relative_bias_exact(&(struct relative_buckets){16, 40, false}), 8);
}
END_TEST

enum { HEADS = 3, TOKENS = 100, BUCKETS = 32 };

START_TEST(a_score_finds_the_number_of_its_head_and_distance)
{
    float *weights = numbers_new(BUCKETS * HEADS, 1, 3);
    float *table = numbers_new(relative_bias_floats(HEADS, TOKENS), 1, 4);
    struct attention_bias bias =
        relative_bias_expand(table, &relative_mpnet, weights, HEADS, TOKENS);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < TOKENS; i++)
            for (size_t j = 0; j < TOKENS; j++) {
                struct attention_bias one = attention_bias_at(&bias, h, i);
                unsigned bucket = relative_bias_bucket(&relative_mpnet, (long)i - (long)j);
                ck_assert_float_eq(*attention_bias_key(&one, j), weights[bucket * HEADS + h]);
            }
    free(weights), free(table);
}
END_TEST

/* Vectors of the last query may read that far behind it. */
START_TEST(relative_bias_table_holds_the_bytes_read_behind_the_last_query)
{
    float *weights = numbers_new(BUCKETS * HEADS, 1, 3);
    for (size_t tokens = 1; tokens <= 70; tokens++) {
        float *table = numbers_new(relative_bias_floats(HEADS, tokens), 1, 4);
        struct attention_bias bias =
            relative_bias_expand(table, &relative_mpnet, weights, HEADS, tokens);
        struct attention_bias last = attention_bias_at(&bias, HEADS - 1, tokens - 1);
        size_t end = (size_t)(attention_bias_key(&last, 0) - table) + SIMD_WIDTH;
        ck_assert_uint_le(end, relative_bias_floats(HEADS, tokens));
        ck_assert_ptr_eq(attention_bias_key(&bias, tokens - 1), table);
        free(table);
    }
    free(weights);
}
END_TEST

START_TEST(the_gradient_of_a_bucket_is_the_sum_over_its_distances)
{
    float weights[BUCKETS * HEADS] = {0}, sums[BUCKETS * HEADS] = {0};
    float *table = numbers_new(relative_bias_floats(HEADS, TOKENS), 1, 4);
    struct attention_bias bias =
        relative_bias_expand(table, &relative_mpnet, weights, HEADS, TOKENS);
    for (size_t i = 0; i < relative_bias_floats(HEADS, TOKENS); i++)
        table[i] = NAN; /* numbers of no distance must not be added */
    for (size_t h = 0; h < HEADS; h++)
        for (long distance = 1 - TOKENS; distance < TOKENS; distance++)
            table[(bias.at - table) + (ptrdiff_t)(h * bias.head_step) + distance] = (float)(h + 1);
    relative_bias_fold(sums, &relative_mpnet, table, HEADS, TOKENS);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (size_t h = 0; h < HEADS; h++) {
            size_t count = 0;
            for (long distance = 1 - TOKENS; distance < TOKENS; distance++)
                count += relative_bias_bucket(&relative_mpnet, distance) == b;
            ck_assert_float_eq(sums[b * HEADS + h], (float)(count * (h + 1)));
        }
    free(table);
}
END_TEST

SUITE("relative_bias", buckets_are_those_of_the_formula_at_any_distance,
      powers_of_two_begin_their_buckets, buckets_of_t5_have_their_own_count_distance_and_direction,
      a_score_finds_the_number_of_its_head_and_distance,
      relative_bias_table_holds_the_bytes_read_behind_the_last_query,
      the_gradient_of_a_bucket_is_the_sum_over_its_distances)
