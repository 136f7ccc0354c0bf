/* rng.h: streams that do not depend on each other, and numbers spread as they should be. */
#include "engine/base/rng.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 100000 };

START_TEST(the_same_place_gives_the_same_numbers)
{
    struct rng a = rng_for(1, 2, 3), b = rng_for(1, 2, 3);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(rng_next(&a), rng_next(&b));
}
END_TEST

START_TEST(seed_purpose_and_index_each_give_another_stream)
{
    struct rng streams[] = {rng_for(1, 2, 3), rng_for(2, 2, 3), rng_for(1, 3, 3), rng_for(1, 2, 4),
                            rng_for(3, 2, 1)};
    uint64_t first[5];
    for (int i = 0; i < 5; i++)
        first[i] = rng_next(&streams[i]);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(first[i], first[j]);
}
END_TEST

/* The published outputs of SplitMix64 from state 0; the others were computed apart from this
 * program, in Python. A large n throws one draw in four away: the bias would be as large. */
START_TEST(the_numbers_are_those_of_the_published_generators)
{
    static const uint64_t next[] = {0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F};
    static const uint32_t below[] = {2845343275, 1390048975, 3127429758, 342566671,
                                     1054390089, 560067598,  2485325420, 3066705513,
                                     2451463464, 1687762991, 1788319744, 1670148017};
    struct rng rng = {0};
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(rng_next(&rng), next[i]);
    rng = (struct rng){0};
    for (int i = 0; i < 12; i++)
        ck_assert_uint_eq(rng_below(&rng, 0xC0000001), below[i]);
    ck_assert_uint_eq(rng_for(1, 2, 3).state, 0x259513188019A981);
    ck_assert_uint_eq(rng_hash(0, 1), 0x6D523710);
    ck_assert_uint_eq(rng_hash(7, 0), 0x948BA1E6);
    ck_assert_uint_eq(rng_hash(0xDEADBEEF, 12345), 0x34FBC46D);
}
END_TEST

START_TEST(below_is_uniform)
{
    struct rng rng = rng_for(7, 0, 0);
    unsigned counts[6] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint32_t n = rng_below(&rng, 6);
        ck_assert_uint_lt(n, 6);
        counts[n]++;
    }
    for (int i = 0; i < 6; i++) /* 5 standard deviations */
        ck_assert_double_lt(fabs(counts[i] - DRAWS / 6.0), 5 * sqrt(DRAWS / 6.0));
    ck_assert_uint_eq(rng_below(&rng, 1), 0);
}
END_TEST

START_TEST(uniform_and_normal_have_their_moments)
{
    struct rng rng = rng_for(8, 0, 0);
    double uniform = 0, normal = 0, square = 0;
    for (int i = 0; i < DRAWS; i++) {
        float u = rng_uniform(&rng), z = rng_normal(&rng);
        ck_assert(u >= 0 && u < 1 && isfinite(z));
        uniform += u;
        normal += z;
        square += (double)z * z;
    }
    ck_assert_double_lt(fabs(uniform / DRAWS - 0.5), 0.005);
    ck_assert_double_lt(fabs(normal / DRAWS), 0.02);
    ck_assert_double_lt(fabs(square / DRAWS - 1), 0.03);
}
END_TEST

START_TEST(hash_sets_each_bit_half_of_the_time)
{
    for (uint32_t key = 0; key < 3; key++)
        for (int bit = 0; bit < 32; bit++) {
            int set = 0;
            for (uint32_t i = 0; i < 10000; i++)
                set += rng_hash(key, i) >> bit & 1;
            ck_assert_int_lt(abs(set - 5000), 300);
        }
}
END_TEST

/* A power of two as the bound rejects no draw: each number takes one draw, its upper bits. */
START_TEST(below_a_power_of_two_takes_one_draw)
{
    for (unsigned bits = 0; bits < 32; bits++) {
        struct rng rng = rng_for(1, 2, bits), again = rng;
        for (int i = 0; i < 20; i++) {
            uint64_t upper = rng_next(&again) >> 32;
            ck_assert_uint_eq(rng_below(&rng, 1u << bits), upper >> (32 - bits));
            ck_assert_uint_eq(rng.state, again.state);
        }
    }
}
END_TEST

SUITE("rng", the_numbers_are_those_of_the_published_generators,
      the_same_place_gives_the_same_numbers, seed_purpose_and_index_each_give_another_stream,
      below_is_uniform, uniform_and_normal_have_their_moments, hash_sets_each_bit_half_of_the_time,
      below_a_power_of_two_takes_one_draw)
