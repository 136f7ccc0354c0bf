/* Five verdicts whose curve can be computed by hand, ties, and a set of classes of which one is
 * pure above a score, one is pure but tiny, and one is wrong. */
#include "learn/eval/measure/selective.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-9, "%.15g instead of %.15g", found, expected);
}

/* Wrong at 0.8 and 0.5; precision from the top: 1, 1/2, 2/3, 3/4, 3/5. */
static const struct verdict five[] = {
    {.score = 0.5f, .right = false, .item = 0}, {.score = 0.9f, .right = true, .item = 1},
    {.score = 0.8f, .right = false, .item = 2}, {.score = 0.7f, .right = true, .item = 3},
    {.score = 0.6f, .right = true, .item = 4},
};

static struct selective_curve curve_of(const struct verdict *verdicts, size_t count,
                                       double target_precision)
{
    struct selective_curve curve;
    struct verdict *copy = calloc(count + 1, sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = verdicts[i];
    selective_curve(&curve, copy, count, target_precision);
    free(copy);
    return curve;
}

START_TEST(selective_curve_is_what_was_computed_by_hand)
{
    struct selective_curve curve = curve_of(five, 5, 0.95);
    ck_assert_uint_eq(curve.point_count, 5);
    expect(curve.points[1].coverage, 0.4);
    expect(curve.points[1].risk, 0.5);
    expect(curve.points[4].coverage, 1.0);
    expect(curve.points[4].risk, 0.4);
    expect(curve.aurc, (0 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 2.0 / 5) / 5);
}
END_TEST

START_TEST(selective_coverage_is_the_largest_that_is_pure_enough)
{
    struct selective_curve strict = curve_of(five, 5, 0.95), loose = curve_of(five, 5, 0.75);
    expect(strict.coverage, 0.2);
    ck_assert(strict.threshold == 0.9f);
    expect(loose.coverage, 0.8);
    ck_assert(loose.threshold == 0.6f);
    expect(curve_of(five, 1, 0.95).coverage, 0.0);
    expect(curve_of(five, 0, 0.95).coverage, 0.0);
}
END_TEST

/* A threshold takes all of equal scores or none: three of these four are right. */
START_TEST(selective_curve_never_parts_equal_scores)
{
    static const struct verdict same[] = {
        {.score = 1, .right = true},
        {.score = 1, .right = true},
        {.score = 1, .right = true},
        {.score = 1, .right = false},
    };
    struct selective_curve curve = curve_of(same, 4, 0.95);
    ck_assert_uint_eq(curve.point_count, 1);
    expect(curve.coverage, 0.0);
    expect(curve.aurc, 0.25);
}
END_TEST

START_TEST(selective_curve_has_room_for_any_number_of_inputs)
{
    enum { MANY = 10007 };
    static struct verdict verdicts[MANY];
    for (unsigned i = 0; i < MANY; i++)
        verdicts[i] = (struct verdict){.score = (float)i, .right = i % 10 != 0, .item = i};
    struct selective_curve curve = curve_of(verdicts, MANY, 0.9);
    ck_assert_uint_le(curve.point_count, SELECTIVE_POINTS_MAX);
    ck_assert_uint_ge(curve.point_count, SELECTIVE_POINTS_MAX - 8);
    expect(curve.points[curve.point_count - 1].coverage, 1.0);
    ck_assert(fabs(curve.points[curve.point_count - 1].risk - 0.1) < 1e-3);
}
END_TEST

/* ---- thresholds ---- */

/* Class 0: 100 right above 0.5, then 20 wrong below. Class 1: three right. Class 2: wrong. */
static size_t classes_of(struct verdict out[124])
{
    size_t at = 0;
    for (unsigned i = 0; i < 120; i++)
        out[at++] = (struct verdict){
            .score = i < 100 ? 0.5f + (float)i / 256 : 0.3f, .right = i < 100, .item = at};
    for (unsigned i = 0; i < 3; i++)
        out[at++] = (struct verdict){.score = 0.9f, .label = 1, .right = true, .item = at};
    out[at++] = (struct verdict){.score = 0.99f, .label = 2, .item = at};
    return at;
}

START_TEST(selective_threshold_is_the_lowest_score_that_is_pure_enough)
{
    struct verdict verdicts[124];
    struct selective_threshold thresholds[4];
    struct selective_goal goal = {.target_precision = 0.95};
    size_t count = classes_of(verdicts);
    selective_thresholds(thresholds, 4, verdicts, count, &goal);
    ck_assert(thresholds[0].reachable && thresholds[0].score == 0.5f);
    ck_assert_uint_eq(thresholds[0].count, 100);
    ck_assert(thresholds[1].reachable && thresholds[1].score == 0.9f);
    ck_assert(!thresholds[2].reachable && !thresholds[3].reachable);
    goal.target_precision = 0.8;
    selective_thresholds(thresholds, 4, verdicts, count, &goal);
    ck_assert(thresholds[0].score == 0.3f);
}
END_TEST

START_TEST(selective_threshold_asks_a_small_class_for_more_than_luck)
{
    struct verdict verdicts[124];
    struct selective_threshold thresholds[4];
    struct selective_goal goal = {.target_precision = 0.95, .z = SELECTIVE_Z};
    selective_thresholds(thresholds, 4, verdicts, classes_of(verdicts), &goal);
    ck_assert(thresholds[0].reachable);
    ck_assert(!thresholds[1].reachable);
}
END_TEST

/* n / (n + z^2) reaches 0.95 at n = 31.2. */
START_TEST(selective_threshold_takes_32_right_answers_for_95_percent)
{
    struct verdict verdicts[32];
    struct selective_threshold threshold;
    struct selective_goal goal = {.target_precision = 0.95, .z = SELECTIVE_Z};
    for (unsigned i = 0; i < 32; i++)
        verdicts[i] = (struct verdict){.score = 0.9f, .right = true, .item = i};
    selective_thresholds(&threshold, 1, verdicts, 31, &goal);
    ck_assert(!threshold.reachable);
    selective_thresholds(&threshold, 1, verdicts, 32, &goal);
    ck_assert(threshold.reachable);
}
END_TEST

/* Labels 0 and 2 have twenty answers each, right from 0.6 on; label 1 has a hundred, one in four
 * wrong; label 3 has none. */
static size_t small_classes_of(struct verdict out[140])
{
    size_t at = 0;
    for (; at < 40; at++)
        out[at] = (struct verdict){.score = 0.5f + (float)(at / 2) / 64,
                                   .label = at % 2 * 2,
                                   .right = at / 2 >= 3,
                                   .item = at};
    for (; at < 140; at++)
        out[at] = (struct verdict){.score = 0.9f, .label = 1, .right = at % 4 > 0, .item = at};
    return at;
}

START_TEST(selective_threshold_is_shared_by_small_classes)
{
    struct verdict verdicts[140];
    struct selective_threshold thresholds[4];
    struct selective_goal goal = {.target_precision = 0.95, .z = SELECTIVE_Z};
    size_t count = small_classes_of(verdicts), items = 0;
    selective_thresholds(thresholds, 4, verdicts, count, &goal);
    ck_assert(thresholds[0].reachable && thresholds[2].reachable);
    ck_assert(thresholds[0].score == 0.5f + 3.0f / 64 &&
              thresholds[2].score == thresholds[0].score);
    ck_assert_uint_eq(thresholds[0].count, 17);
    ck_assert_uint_eq(thresholds[2].right, 17);
    ck_assert(!thresholds[1].reachable && !thresholds[3].reachable);
    for (size_t i = 0; i < count; i++) /* none is lost */
        items += verdicts[i].item;
    ck_assert_uint_eq(items, 140 * 139 / 2);
}
END_TEST

START_TEST(selective_decisions_add_up)
{
    struct verdict verdicts[124];
    struct selective_threshold thresholds[4];
    struct selective_goal goal = {.target_precision = 0.95};
    struct selective_decisions sum = {0};
    size_t count = classes_of(verdicts);
    selective_thresholds(thresholds, 4, verdicts, count, &goal);
    selective_decide(&sum, thresholds, verdicts, count);
    selective_decide(&sum, thresholds, verdicts, count);
    ck_assert_uint_eq(sum.count, 248);
    ck_assert_uint_eq(sum.automatic, 206);
    ck_assert_uint_eq(sum.right, 206);
    ck_assert_uint_eq(sum.review, 42);
}
END_TEST

/* Equal scores by place in the data, whatever their order was; labels first for thresholds. */
START_TEST(selective_verdicts_are_left_in_one_order)
{
    static const struct verdict mixed[] = {
        {.score = 0.5f, .item = 9}, {.score = 0.7f, .label = 1, .item = 4},
        {.score = 0.7f, .item = 2}, {.score = 0.9f, .label = 1, .item = 8},
        {.score = 0.5f, .item = 1}, {.score = 0.7f, .label = 1, .item = 3},
        {.score = 1, .item = 77}};
    static const size_t by_score[] = {8, 2, 3, 4, 1, 9, 77}, by_label[] = {2, 1, 9, 8, 3, 4, 77};
    struct verdict verdicts[7];
    struct selective_curve curve;
    struct selective_threshold thresholds[3] = {[2] = {.count = 77}};
    const struct selective_goal goal = {.target_precision = 0.95};
    memcpy(verdicts, mixed, sizeof mixed);
    selective_curve(&curve, verdicts, 6, 0.95);
    for (unsigned i = 0; i < 7; i++)
        ck_assert_uint_eq(verdicts[i].item, by_score[i]);
    selective_thresholds(thresholds, 2, verdicts, 6, &goal);
    for (unsigned i = 0; i < 7; i++)
        ck_assert_uint_eq(verdicts[i].item, by_label[i]);
    ck_assert(!thresholds[0].reachable && !thresholds[1].reachable && thresholds[2].count == 77);
}
END_TEST

/* Every point is at least 1 / 254 behind the one before, the next one that could be is; the last
 * one is always there, and of it and 255 others there are no more than have room. */
START_TEST(selective_curve_takes_the_first_point_far_enough)
{
    static const size_t counts[] = {1, 2, 253, 254, 255, 256, 257, 300, 508, 1000, 2541};
    static struct verdict verdicts[2542];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t count = counts[c];
        unsigned points = 0;
        double last = 0;
        for (size_t i = 0; i <= count; i++)
            verdicts[i] = (struct verdict){.score = (float)(count - i), .right = i > 0, .item = i};
        struct selective_curve curve = curve_of(verdicts, count, 0.9);
        for (size_t taken = 1; taken <= count; taken++) {
            double coverage = (double)taken / (double)count;
            if (points > 0 && taken < count && coverage - last < 1.0 / 254)
                continue;
            last = coverage;
            expect(curve.points[points].coverage, coverage);
            expect(curve.points[points].risk, 1 / (double)taken);
            points++;
        }
        ck_assert_uint_eq(curve.point_count, points);
        ck_assert_uint_eq(curve.count, count);
        ck_assert_uint_le(points, SELECTIVE_POINTS_MAX);
    }
}
END_TEST

/* Verdicts of one label: right, two equal scores of which one is right, right, wrong. */
START_TEST(selective_threshold_counts_what_it_lets_through)
{
    static const struct verdict verdicts[] = {
        {.score = 0.9f, .right = true}, {.score = 0.8f, .right = true, .item = 1},
        {.score = 0.8f, .item = 2},     {.score = 0.7f, .right = true, .item = 3},
        {.score = 0.6f, .item = 4},     {.score = 0.5f, .right = true, .item = 5}};
    static const struct {
        double target_precision;
        float score;
        unsigned count, right;
    } cases[] = {{1, 0.9f, 1, 1},       {0.76, 0.9f, 1, 1}, {0.75, 0.7f, 4, 3},
                 {2.0 / 3, 0.7f, 4, 3}, {0.65, 0.7f, 4, 3}, {0.6, 0.6f, 5, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict copy[6];
        struct selective_threshold found;
        const struct selective_goal goal = {.target_precision = cases[i].target_precision};
        memcpy(copy, verdicts, sizeof copy);
        selective_thresholds(&found, 1, copy, 5, &goal);
        ck_assert(found.reachable && found.score == cases[i].score);
        ck_assert(found.count == cases[i].count && found.right == cases[i].right);
    }
}
END_TEST

/* A score at the threshold is automatic; a label out of reach never is. */
START_TEST(selective_decisions_are_made_at_the_threshold)
{
    static const struct selective_threshold thresholds[] = {{.reachable = true, .score = 0.5f},
                                                            {.score = 0.1f}};
    static const struct verdict verdicts[] = {{.score = 0.5f, .right = true},
                                              {.score = 0.49f, .right = true},
                                              {.score = 0.6f},
                                              {.score = 1, .label = 1, .right = true},
                                              {.score = 1, .right = true}};
    struct selective_decisions sum = {0};
    selective_decide(&sum, thresholds, verdicts, 4);
    ck_assert(sum.count == 4 && sum.automatic == 2 && sum.right == 1 && sum.review == 2);
    ck_assert_uint_eq(sum.unknown, 0);
}
END_TEST

/* Two right, one wrong, two right: the label in between has no answer but its own. */
START_TEST(selective_threshold_is_of_its_label_alone)
{
    struct verdict verdicts[] = {{.score = 0.9f, .right = true},
                                 {.score = 0.9f, .right = true, .item = 1},
                                 {.score = 0.8f, .label = 1, .item = 2},
                                 {.score = 0.7f, .label = 2, .right = true, .item = 3},
                                 {.score = 0.6f, .label = 2, .right = true, .item = 4}};
    struct selective_threshold found[3];
    const struct selective_goal goal = {.target_precision = 0.6};
    selective_thresholds(found, 3, verdicts, 5, &goal);
    ck_assert(found[0].reachable && !found[1].reachable && found[2].reachable);
    ck_assert(found[0].count == 2 && found[2].count == 2 && found[2].score == 0.6f);
}
END_TEST

/* 32 right answers, each of another label, vouch together for all. */
START_TEST(selective_threshold_is_shared_by_single_answers)
{
    enum { MANY = 32 };
    const struct selective_goal goal = {.target_precision = 0.95, .z = SELECTIVE_Z};
    for (unsigned count = MANY - 1; count <= MANY; count++) {
        struct verdict verdicts[MANY];
        struct selective_threshold found[MANY];
        for (unsigned i = 0; i < MANY; i++)
            verdicts[i] = (struct verdict){
                .score = 0.5f + (float)i / 64, .label = i, .right = true, .item = i};
        selective_thresholds(found, MANY, verdicts, count, &goal);
        for (unsigned i = 0; i < count; i++) {
            ck_assert_int_eq(found[i].reachable, count == MANY);
            ck_assert(count < MANY || (found[i].score == 0.5f && found[i].count == 1));
        }
    }
}
END_TEST

START_TEST(selective_right_answers_needed_are_the_fewest_that_vouch)
{
    static const struct {
        double target;
        size_t right;
    } rows[] = {{0.95, 32}, {0.99, 163}, {0.9, 15}, {0.5, 2}, {1e-9, 1}, {1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct selective_goal goal = {rows[i].target, SELECTIVE_Z};
        ck_assert_uint_eq(selective_right_min(&goal), rows[i].right);
    }
    ck_assert_uint_eq(selective_right_min(&(struct selective_goal){0.95, 0}), 1);
}
END_TEST

SUITE("selective", selective_right_answers_needed_are_the_fewest_that_vouch,
      selective_curve_is_what_was_computed_by_hand,
      selective_coverage_is_the_largest_that_is_pure_enough,
      selective_curve_never_parts_equal_scores, selective_curve_has_room_for_any_number_of_inputs,
      selective_threshold_is_the_lowest_score_that_is_pure_enough,
      selective_threshold_asks_a_small_class_for_more_than_luck,
      selective_threshold_takes_32_right_answers_for_95_percent,
      selective_threshold_is_shared_by_small_classes, selective_decisions_add_up,
      selective_verdicts_are_left_in_one_order, selective_curve_takes_the_first_point_far_enough,
      selective_threshold_counts_what_it_lets_through,
      selective_decisions_are_made_at_the_threshold, selective_threshold_is_of_its_label_alone,
      selective_threshold_is_shared_by_single_answers)
