/* Deletion, insertion and occlusion of functions whose relevance is known: weighted sums. */
#include "learn/eval/explain/explanations.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { PARTS_MAX = 60 };

/* The score of the kept parts is the sum of their weights. The toy answers at flush, as a probe
 * does. */
struct toy {
    unsigned parts, asked;
    double weights[PARTS_MAX];
    struct score answers[2 * FAITHFULNESS_POINTS + PARTS_MAX];
    struct score *out[2 * FAITHFULNESS_POINTS + PARTS_MAX];
};

static void ask(void *context, const bool *kept, struct score *out)
{
    struct toy *toy = context;
    double sum = 0;
    for (unsigned i = 0; i < toy->parts; i++)
        sum += kept[i] ? toy->weights[i] : 0;
    toy->answers[toy->asked] = (struct score){{sum, 10 * sum}};
    toy->out[toy->asked++] = out;
}

static void flush(void *context)
{
    struct toy *toy = context;
    for (unsigned i = 0; i < toy->asked; i++)
        *toy->out[i] = toy->answers[i];
    toy->asked = 0;
}

static struct faithfulness_curves curves_of(struct toy *toy, const unsigned *order)
{
    struct scorer scorer = {.ask = ask, .flush = flush, .context = toy};
    struct faithfulness_curves curves;
    struct score whole = {{0}};
    bool kept[PARTS_MAX];
    for (unsigned i = 0; i < toy->parts; i++)
        whole.on[SCORE_PROBABILITY] += toy->weights[i];
    whole.on[SCORE_LOG_ODDS] = 10 * whole.on[SCORE_PROBABILITY];
    faithfulness_ask(&scorer, order, toy->parts, kept, &curves);
    flush(toy);
    faithfulness_end(&curves, whole, (struct score){{0}});
    return curves;
}

static double deletion(const struct faithfulness_curves *curves)
{
    return faithfulness_area(curves->deletion, SCORE_PROBABILITY);
}

static double insertion(const struct faithfulness_curves *curves)
{
    return faithfulness_area(curves->insertion, SCORE_PROBABILITY);
}

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-9, "%.9g instead of %.9g", found, expected);
}

/* One of twenty parts is everything. Found first, the score is 1, then 0 all the way: the area is
 * one half of one of twenty trapezoids. */
START_TEST(areas_are_those_of_the_curve_drawn_by_hand)
{
    struct toy toy = {.parts = 20, .weights = {[7] = 1}};
    unsigned order[20];
    faithfulness_order((const float[20]){[7] = 1}, 20, 1, order);
    ck_assert_uint_eq(order[0], 7);
    struct faithfulness_curves best = curves_of(&toy, order);
    expect(deletion(&best), 0.025);
    expect(insertion(&best), 0.975);
    expect(faithfulness_area(best.insertion, SCORE_LOG_ODDS), 9.75);
    order[0] = order[19];
    order[19] = 7;
    struct faithfulness_curves worst = curves_of(&toy, order);
    expect(deletion(&worst), 0.975);
    expect(insertion(&worst), 0.025);
}
END_TEST

/* All weights are alike: the score falls in a line for any order. */
START_TEST(areas_are_one_half_where_no_part_matters_more)
{
    struct toy toy = {.parts = 40};
    unsigned order[40];
    for (unsigned i = 0; i < 40; i++)
        toy.weights[i] = 1.0 / 40;
    faithfulness_random_order(40, 5, order);
    struct faithfulness_curves curves = curves_of(&toy, order);
    expect(deletion(&curves), 0.5);
    expect(insertion(&curves), 0.5);
}
END_TEST

START_TEST(the_true_ranking_beats_every_random_one)
{
    struct toy toy = {.parts = 37};
    float relevance[37];
    unsigned order[37];
    for (unsigned i = 0; i < 37; i++)
        toy.weights[i] = relevance[i] = (float)((i * 11) % 37);
    faithfulness_order(relevance, 37, 1, order);
    struct faithfulness_curves best = curves_of(&toy, order);
    for (uint64_t seed = 0; seed < 50; seed++) {
        faithfulness_random_order(37, seed, order);
        struct faithfulness_curves curves = curves_of(&toy, order);
        ck_assert(deletion(&curves) > deletion(&best));
        ck_assert(insertion(&curves) < insertion(&best));
    }
}
END_TEST

START_TEST(occlusion_finds_the_weights)
{
    struct toy toy = {.parts = 4, .weights = {0.1, 0.5, -0.2, 0.3}};
    struct scorer scorer = {.ask = ask, .flush = flush, .context = &toy};
    struct score without[4];
    float relevance[4];
    bool kept[4];
    faithfulness_ask_occlusion(&scorer, 4, kept, without);
    flush(&toy);
    faithfulness_occlusion((struct score){{0.7, 7}}, without, 4, relevance);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_float_eq_tol(relevance[i], (float)(10 * toy.weights[i]), 1e-5f);
}
END_TEST

/* Fewer parts than steps: a point is that of the nearest whole number of parts. */
START_TEST(inputs_of_one_part_have_curves)
{
    struct toy toy = {.parts = 1, .weights = {1}};
    struct faithfulness_curves curves = curves_of(&toy, (const unsigned[]){0});
    ck_assert(curves.deletion[9].on[SCORE_PROBABILITY] == 1);
    ck_assert(curves.deletion[10].on[SCORE_PROBABILITY] == 0);
    expect(deletion(&curves) + insertion(&curves), 1);
}
END_TEST

static void expect_permutation(const unsigned *order, unsigned parts)
{
    bool seen[PARTS_MAX] = {false};
    for (unsigned i = 0; i < parts; i++) {
        ck_assert_uint_lt(order[i], parts);
        ck_assert(!seen[order[i]]);
        seen[order[i]] = true;
    }
}

START_TEST(equal_parts_are_ranked_by_the_seed_and_not_by_place)
{
    static const float relevance[PARTS_MAX] = {[13] = 1, [40] = -1};
    unsigned a[PARTS_MAX], b[PARTS_MAX], same[PARTS_MAX];
    double places = 0;
    faithfulness_order(relevance, PARTS_MAX, 1, a);
    faithfulness_order(relevance, PARTS_MAX, 2, b);
    faithfulness_order(relevance, PARTS_MAX, 1, same);
    expect_permutation(a, PARTS_MAX);
    ck_assert_uint_eq(a[0], 13);
    ck_assert_uint_eq(a[PARTS_MAX - 1], 40);
    ck_assert_mem_eq(a, same, sizeof a);
    ck_assert(memcmp(a, b, sizeof a) != 0);
    for (unsigned i = 1; i < PARTS_MAX / 2; i++)
        places += a[i];
    ck_assert(places / (PARTS_MAX / 2.0 - 1) > 20); /* in their own order: 15 */
}
END_TEST

START_TEST(random_orders_hold_every_part)
{
    unsigned order[PARTS_MAX];
    for (unsigned parts = 1; parts <= PARTS_MAX; parts++) {
        faithfulness_random_order(parts, parts, order);
        expect_permutation(order, parts);
    }
}
END_TEST

/* Nothing is written behind the end of an order, and every place of it is set. */
START_TEST(orders_and_relevances_end_with_the_parts)
{
    struct toy toy = {.parts = 3, .weights = {1, 2, 4, 100}};
    struct scorer scorer = {.ask = ask, .flush = flush, .context = &toy};
    struct score without[4] = {[3] = {{77, 77}}};
    unsigned order[4] = {[3] = 77};
    float relevance[4] = {[3] = 77};
    bool kept[4] = {[3] = true};
    faithfulness_random_order(3, 1, order);
    ck_assert_uint_eq(order[3], 77);
    faithfulness_order((const float[]){1, 3, 2, 9}, 3, 1, order);
    ck_assert_mem_eq(order, ((const unsigned[]){1, 2, 0, 77}), sizeof order);
    faithfulness_ask_occlusion(&scorer, 3, kept, without);
    ck_assert_uint_eq(toy.asked, 3);
    flush(&toy);
    ck_assert(kept[0] && kept[1] && kept[2] && without[3].on[0] == 77);
    faithfulness_occlusion((struct score){{7, 70}}, without, 3, relevance);
    ck_assert(relevance[0] == 10 && relevance[1] == 20 && relevance[2] == 40);
    ck_assert(relevance[3] == 77);
    kept[3] = true;
    curves_of(&toy, order);
    faithfulness_ask(&scorer, order, 3, kept, &(struct faithfulness_curves){0});
    ck_assert_uint_eq(toy.asked, 2 * (FAITHFULNESS_STEPS - 1));
    ck_assert(kept[3]);
}
END_TEST

/* Each step removes 5 % x step of seven parts, rounded to the nearest: one from 10 % on, two from
 * 25 %, and so on. The weights are powers of two, so that a score tells which parts are kept. */
START_TEST(steps_take_the_nearest_number_of_parts)
{
    static const unsigned at[] = {0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7};
    struct toy toy = {.parts = 7};
    const unsigned order[] = {3, 0, 6, 1, 5, 2, 4};
    for (unsigned i = 0; i < 7; i++)
        toy.weights[i] = 1 << i;
    struct faithfulness_curves curves = curves_of(&toy, order);
    for (unsigned step = 0; step < FAITHFULNESS_STEPS; step++) {
        unsigned removed = 0;
        for (unsigned i = 0; i < at[step]; i++)
            removed += 1u << order[i];
        expect(curves.insertion[step].on[SCORE_PROBABILITY], removed);
        expect(curves.deletion[step].on[SCORE_PROBABILITY], 127 - removed);
        expect(curves.deletion[step].on[SCORE_LOG_ODDS], 10 * (127.0 - removed));
    }
    expect(curves.insertion[FAITHFULNESS_STEPS].on[SCORE_PROBABILITY], 127);
    expect(curves.deletion[FAITHFULNESS_STEPS].on[SCORE_PROBABILITY], 0);
}
END_TEST

/* The random orders of a report are the same from release to release. */
START_TEST(random_orders_are_those_of_their_seed)
{
    static const unsigned expected[2][8] = {{2, 7, 5, 0, 6, 4, 1, 3}, {4, 0, 3, 2, 6, 7, 5, 1}};
    unsigned order[8];
    for (unsigned i = 0; i < 2; i++) {
        faithfulness_random_order(8, 1 + i, order);
        ck_assert_mem_eq(order, expected[i], sizeof order);
    }
}
END_TEST

SUITE("faithfulness", areas_are_those_of_the_curve_drawn_by_hand,
      areas_are_one_half_where_no_part_matters_more, the_true_ranking_beats_every_random_one,
      occlusion_finds_the_weights, inputs_of_one_part_have_curves,
      equal_parts_are_ranked_by_the_seed_and_not_by_place, random_orders_hold_every_part,
      orders_and_relevances_end_with_the_parts, steps_take_the_nearest_number_of_parts,
      random_orders_are_those_of_their_seed)
