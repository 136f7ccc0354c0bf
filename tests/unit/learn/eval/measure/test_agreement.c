#include "learn/eval/measure/agreement.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 4, LABELS = 3 };

/* An evaluation of four items whose numbers the test sets. */
struct made {
    float logits[ITEMS][LABELS];
    const char *problems[ITEMS];
    struct evaluation evaluation;
};

static void make(struct made *made, const float (*logits)[LABELS])
{
    *made = (struct made){0};
    memcpy(made->logits, logits, sizeof made->logits);
    made->evaluation = (struct evaluation){.count = ITEMS,
                                           .label_count = LABELS,
                                           .logits = &made->logits[0][0],
                                           .problems = made->problems};
}

static const float base[ITEMS][LABELS] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 2, 0}};

START_TEST(evaluation_winner_is_the_first_of_equal_scores)
{
    struct made made;
    make(&made, base);
    ck_assert_uint_eq(evaluation_argmax(&made.evaluation, 2), 2);
    ck_assert_uint_eq(evaluation_argmax(&made.evaluation, 3), 0);
}
END_TEST

START_TEST(agreement_with_itself_is_whole)
{
    struct made made;
    struct agreement agreement;
    make(&made, base);
    agreement_measure(&agreement, &made.evaluation, &made.evaluation);
    ck_assert_uint_eq(agreement.compared, ITEMS);
    ck_assert_uint_eq(agreement.equal, ITEMS);
    ck_assert(agreement.share == 1.0);
    ck_assert(agreement.logit_difference_max == 0.0);
}
END_TEST

START_TEST(agreement_counts_other_winners_and_measures_logits)
{
    static const float other[ITEMS][LABELS] = {{1, 0, 0}, {0, 1, 1.5f}, {0, 0, 1}, {2, 2, 0.25f}};
    struct made a, b;
    struct agreement agreement;
    make(&a, base);
    make(&b, other);
    agreement_measure(&agreement, &a.evaluation, &b.evaluation);
    ck_assert_uint_eq(agreement.equal, 3);
    ck_assert(agreement.share == 0.75);
    ck_assert(agreement.logit_difference_max == 1.5);
    ck_assert(fabs(agreement.logit_difference_mean - 1.75 / (ITEMS * LABELS)) < 1e-12);
    ck_assert(agreement_differs(&a.evaluation, &b.evaluation, 1));
    ck_assert(!agreement_differs(&a.evaluation, &b.evaluation, 3));
}
END_TEST

START_TEST(agreement_takes_a_failure_on_one_side_for_a_difference)
{
    struct made a, b;
    struct agreement agreement;
    make(&a, base);
    make(&b, base);
    b.problems[0] = "the logits are not finite";
    agreement_measure(&agreement, &a.evaluation, &b.evaluation);
    ck_assert_uint_eq(agreement.compared, ITEMS);
    ck_assert_uint_eq(agreement.equal, ITEMS - 1);
    ck_assert(agreement_differs(&a.evaluation, &b.evaluation, 0));
}
END_TEST

START_TEST(agreement_leaves_out_what_failed_on_both_sides)
{
    struct made a, b;
    struct agreement agreement;
    make(&a, base);
    make(&b, base);
    a.problems[0] = b.problems[0] = "not an image";
    agreement_measure(&agreement, &a.evaluation, &b.evaluation);
    ck_assert_uint_eq(agreement.compared, ITEMS - 1);
    ck_assert_uint_eq(agreement.equal, ITEMS - 1);
    ck_assert(!agreement_differs(&a.evaluation, &b.evaluation, 0));
}
END_TEST

START_TEST(agreement_of_no_inputs_is_zero)
{
    struct made a;
    struct agreement agreement;
    make(&a, base);
    for (unsigned i = 0; i < ITEMS; i++)
        a.problems[i] = "not an image";
    agreement_measure(&agreement, &a.evaluation, &a.evaluation);
    ck_assert_uint_eq(agreement.compared, 0);
    ck_assert(agreement.share == 0.0);
}
END_TEST

START_TEST(agreement_reaches_exactly_its_share)
{
    struct agreement agreement = {.compared = 1000, .equal = 995};
    ck_assert(agreement_reaches(&agreement, 99.5));
    ck_assert(!agreement_reaches(&agreement, 99.6));
    agreement.equal = 994;
    ck_assert(!agreement_reaches(&agreement, 99.5));
    agreement.equal = 1000;
    ck_assert(agreement_reaches(&agreement, 100));
}
END_TEST

/* A fifth row that is not the evaluations': it would change every figure. */
START_TEST(agreement_reads_what_is_counted_and_no_more)
{
    static float rows[2][(ITEMS + 1) * LABELS] = {{[2] = 1, [14] = 100},
                                                  {[0] = 0.5f, [2] = 3, [12] = 100}};
    static const char *problems[2][ITEMS + 1];
    struct evaluation evaluations[2];
    struct agreement agreement;
    for (unsigned i = 0; i < 2; i++)
        evaluations[i] = (struct evaluation){
            .count = ITEMS, .label_count = LABELS, .logits = rows[i], .problems = problems[i]};
    agreement_measure(&agreement, &evaluations[0], &evaluations[1]);
    ck_assert(agreement.compared == ITEMS && agreement.equal == ITEMS);
    ck_assert(agreement.logit_difference_max == 2);
    ck_assert(agreement.logit_difference_mean == 2.5 / (ITEMS * LABELS));
    for (unsigned i = 0; i < ITEMS; i++)
        problems[1][i] = "lost";
    agreement_measure(&agreement, &evaluations[0], &evaluations[1]);
    ck_assert(agreement.compared == ITEMS && agreement.equal == 0 && agreement.share == 0);
    ck_assert(agreement.logit_difference_mean == 0 && agreement.logit_difference_max == 0);
}
END_TEST

SUITE("agreement", evaluation_winner_is_the_first_of_equal_scores, agreement_with_itself_is_whole,
      agreement_counts_other_winners_and_measures_logits,
      agreement_takes_a_failure_on_one_side_for_a_difference,
      agreement_leaves_out_what_failed_on_both_sides, agreement_of_no_inputs_is_zero,
      agreement_reaches_exactly_its_share, agreement_reads_what_is_counted_and_no_more)
