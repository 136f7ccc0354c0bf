/* A share over strata: its value, the cases without one, and how often its interval holds the
 * truth. */
#include "engine/statistics/statistics.h"

#include "engine/base/rng.h"
#include "tests/support/suite.h"

START_TEST(stratified_share_of_one_stratum_has_wilsons_interval)
{
    const struct interval wilson = wilson_interval(15, 20);
    const struct stratum one = {.weight = 7, .hits = 15, .count = 20};
    struct interval found;
    double share;
    ck_assert(stratified_share(&one, 1, &share, &found));
    ck_assert_double_eq_tol(share, 0.75, 1e-12);
    ck_assert_double_eq_tol(found.low, wilson.low, 1e-12);
    ck_assert_double_eq_tol(found.high, wilson.high, 1e-12);
}
END_TEST

/* 48 of 50: Wilson 0.865397..0.988957; 60 of 100: 0.502003..0.690599. */
START_TEST(strata_count_by_their_weight)
{
    const struct stratum strata[] = {{.weight = 950, .hits = 48, .count = 50},
                                     {.weight = 50, .hits = 60, .count = 100}};
    struct interval found;
    double share;
    ck_assert(stratified_share(strata, 2, &share, &found));
    ck_assert_double_eq_tol(share, 0.95 * 0.96 + 0.05 * 0.6, 1e-12);
    ck_assert_double_eq_tol(found.low, 0.8520, 5e-4);
    ck_assert_double_eq_tol(found.high, 0.9699, 5e-4);
}
END_TEST

START_TEST(stratified_share_is_unknown_with_an_unseen_stratum)
{
    struct stratum strata[] = {{.weight = 0.9, .hits = 9, .count = 10}, {.weight = 0.1}};
    struct interval found;
    double share;
    ck_assert(!stratified_share(strata, 2, &share, &found));
    strata[1].weight = 0; /* nothing went there */
    ck_assert(stratified_share(strata, 2, &share, &found));
    strata[0].weight = 0;
    ck_assert(!stratified_share(strata, 2, &share, &found));
    ck_assert(!stratified_share(strata, 0, &share, &found));
}
END_TEST

START_TEST(all_hits_leave_some_doubt)
{
    const struct stratum strata[] = {{.weight = 0.8, .hits = 40, .count = 40},
                                     {.weight = 0.2, .hits = 10, .count = 10}};
    struct interval found;
    double share;
    ck_assert(stratified_share(strata, 2, &share, &found));
    ck_assert_double_eq_tol(share, 1, 1e-12);
    ck_assert_double_lt(found.low, 0.95);
    ck_assert_double_eq(found.high, 1);
}
END_TEST

static size_t draw(struct rng *rng, double p, size_t count)
{
    size_t hits = 0;
    for (size_t i = 0; i < count; i++)
        hits += rng_uniform(rng) < p;
    return hits;
}

/* 2000 draws: 0.95 within three standard errors is 0.935..0.965; a little more is not wrong. */
START_TEST(the_interval_holds_the_truth_19_times_of_20)
{
    static const struct {
        double weight, p[3];
        size_t count[3];
    } cases[] = {{0.9, {0.98, 0.7, 0.4}, {60, 80, 30}},
                 {0.5, {0.9, 0.8, 0.5}, {25, 25, 25}},
                 {0.98, {0.995, 0.6, 0.3}, {300, 40, 20}}};
    enum { DRAWS = 2000 };
    for (unsigned c = 0; c < 3; c++) {
        const double rest = (1 - cases[c].weight) / 2;
        const double weights[3] = {cases[c].weight, rest, rest};
        double truth = 0, share;
        unsigned held = 0;
        for (unsigned h = 0; h < 3; h++)
            truth += weights[h] * cases[c].p[h];
        for (unsigned i = 0; i < DRAWS; i++) {
            struct rng rng = rng_for(5, c, i);
            struct stratum strata[3];
            struct interval found;
            for (unsigned h = 0; h < 3; h++)
                strata[h] = (struct stratum){
                    weights[h], draw(&rng, cases[c].p[h], cases[c].count[h]), cases[c].count[h]};
            ck_assert(stratified_share(strata, 3, &share, &found));
            held += found.low <= truth && truth <= found.high;
        }
        ck_assert_msg(held >= 0.935 * DRAWS && held <= 0.985 * DRAWS, "%u of %d held %g", held,
                      DRAWS, truth);
    }
}
END_TEST

SUITE("engine/decide/stratified", stratified_share_of_one_stratum_has_wilsons_interval,
      strata_count_by_their_weight, stratified_share_is_unknown_with_an_unseen_stratum,
      all_hits_leave_some_doubt, the_interval_holds_the_truth_19_times_of_20)
