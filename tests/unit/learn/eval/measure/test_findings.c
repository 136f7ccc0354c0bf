/* Inputs whose labels are drawn from softmax(z / 3) while the model says softmax(z). The right
 * findings are known, and can be checked on inputs that were not fitted on. */
#include "engine/base/rng.h"
#include "learn/eval/measure/findings.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { COUNT = 2000, LABELS = 3 };

/* Inputs whose scores are too sure by a factor of three: labels are drawn from softmax(z / 3). */
struct made {
    float logits[COUNT * LABELS];
    unsigned classes[COUNT];
    const char *problems[COUNT];
    struct evaluation evaluation;
    struct confusion confusion;
};

static void make(struct made *made, size_t count)
{
    struct rng rng = rng_for(11, 0, 0);
    struct err err = {0};
    memset(made, 0, sizeof *made);
    for (size_t i = 0; i < count; i++) {
        double mass[LABELS], sum = 0;
        for (unsigned k = 0; k < LABELS; k++) {
            made->logits[i * LABELS + k] = 9 * rng_normal(&rng);
            sum += mass[k] = exp((double)made->logits[i * LABELS + k] / 3);
        }
        double at = (double)rng_uniform(&rng) * sum;
        while (made->classes[i] < LABELS - 1 && (at -= mass[made->classes[i]]) > 0)
            made->classes[i]++;
    }
    made->evaluation = (struct evaluation){
        .count = count, .label_count = LABELS, .logits = made->logits, .problems = made->problems};
    ck_assert_int_eq(evaluation_measure(&made->evaluation, made->classes, &made->confusion, &err),
                     ERR_OK);
}

static void find(struct findings *out, const struct made *made, bool sigmoid)
{
    struct findings_options options = {
        .target_precision = 0.95, .temperature = 1, .sigmoid = sigmoid, .seed = 5};
    struct err err = {0};
    ck_assert_msg(findings_open(out, &made->evaluation, made->classes, &made->confusion, &options,
                                &err) == ERR_OK,
                  "%s", err.text);
}

static struct made made; /* too large for a stack; each test is a process of its own */

START_TEST(findings_calibrate_scores_that_are_too_sure)
{
    struct findings findings;
    make(&made, COUNT);
    find(&findings, &made, false);
    ck_assert(findings.served.ece > 0.1);
    ck_assert(findings.fitted.ece < 0.03 && findings.crossed.ece < 0.04);
    ck_assert(fabs(findings.fitted.temperature - 3) < 0.3);
    ck_assert(fabs(findings.crossed.temperature - findings.fitted.temperature) < 0.05);
    ck_assert(findings.fitted.nll < findings.served.nll);
    ck_assert(findings.crossed.nll >= findings.fitted.nll);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

START_TEST(findings_promise_a_purity_that_other_inputs_keep)
{
    struct findings findings;
    make(&made, COUNT);
    find(&findings, &made, false);
    const struct selective_decisions *crossed = &findings.crossed.by_class;
    ck_assert_uint_eq(crossed->count, COUNT);
    ck_assert_uint_eq(crossed->automatic + crossed->review, COUNT);
    ck_assert_uint_gt(crossed->automatic, COUNT / 3);
    ck_assert((double)crossed->right >= 0.94 * (double)crossed->automatic);
    ck_assert((double)findings.served.by_score.right >=
              0.95 * (double)findings.served.by_score.automatic);
    ck_assert(fabs(findings.curve.coverage - (double)findings.served.by_score.automatic / COUNT) <
              1e-12);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

START_TEST(findings_leave_out_inputs_that_failed)
{
    struct findings findings;
    struct err err = {0};
    make(&made, 100);
    confusion_close(&made.confusion);
    for (unsigned i = 0; i < 30; i++)
        made.problems[3 * i] = "not an image";
    made.evaluation.failed = 30;
    ck_assert_int_eq(evaluation_measure(&made.evaluation, made.classes, &made.confusion, &err),
                     ERR_OK);
    find(&findings, &made, false);
    ck_assert_uint_eq(findings.curve.count, 70);
    ck_assert_uint_eq(findings.crossed.by_score.count, 70);
    for (unsigned i = 0; i < findings.mistake_count; i++)
        ck_assert_ptr_null(made.problems[findings.mistakes[i].item]);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

START_TEST(findings_list_the_surest_mistakes_first)
{
    struct findings findings;
    make(&made, COUNT);
    find(&findings, &made, false);
    ck_assert_uint_eq(findings.mistake_count, FINDINGS_MISTAKES_MAX);
    for (unsigned i = 0; i < findings.mistake_count; i++) {
        const struct verdict *mistake = &findings.mistakes[i];
        ck_assert(mistake->label == evaluation_argmax(&made.evaluation, mistake->item));
        ck_assert_uint_ne(mistake->label, made.classes[mistake->item]);
        ck_assert(i == 0 || mistake->score <= findings.mistakes[i - 1].score);
    }
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

START_TEST(findings_of_few_inputs_have_no_folds)
{
    struct findings findings;
    for (size_t count = 1; count < 20; count += 6) {
        make(&made, count);
        find(&findings, &made, false);
        ck_assert(!findings.has_crossed);
        findings_close(&findings);
        confusion_close(&made.confusion);
    }
}
END_TEST

/* One input of class 2, right; ten of class 0, all taken for class 1. */
START_TEST(findings_do_not_claim_certainty_of_a_class_without_a_mistake)
{
    struct findings findings;
    struct err err = {0};
    make(&made, 1);
    confusion_close(&made.confusion);
    made.evaluation.count = 11;
    for (unsigned i = 0; i < 11; i++) {
        memset(made.logits + i * LABELS, 0, LABELS * sizeof *made.logits);
        made.logits[i * LABELS + (i == 0 ? 2 : 1)] = 5;
        made.classes[i] = i == 0 ? 2 : 0;
    }
    ck_assert_int_eq(evaluation_measure(&made.evaluation, made.classes, &made.confusion, &err),
                     ERR_OK);
    find(&findings, &made, false);
    ck_assert(findings.classes[2].f1.low < 0.3 && findings.classes[2].f1.high == 1);
    ck_assert(findings.classes[0].f1.low == 0 && findings.classes[0].f1.high > 0.2);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

START_TEST(findings_judge_every_label_of_a_sigmoid_model)
{
    struct findings findings;
    make(&made, 200);
    find(&findings, &made, true);
    size_t judged = 0;
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        judged += findings.crossed.bins[i].count;
    ck_assert_uint_eq(judged, 200 * LABELS);
    ck_assert_uint_eq(findings.crossed.by_class.count, 200);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

/* Logits of 9, 5 and 1 ahead: the surest answer is wrong, as is the least sure. */
START_TEST(findings_of_three_are_what_was_computed_by_hand)
{
    static const float ahead[] = {5, 9, 1, 7};
    static const bool wrong[] = {false, true, true, true};
    struct findings findings;
    struct err err = {0};
    make(&made, 4);
    confusion_close(&made.confusion);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < LABELS; k++)
            made.logits[i * LABELS + k] = k == 1 ? ahead[i] : 0;
        made.classes[i] = wrong[i] ? 0 : 1;
    }
    made.problems[3] = "lost";
    made.evaluation.failed = 1;
    ck_assert(!evaluation_measure(&made.evaluation, made.classes, &made.confusion, &err));
    find(&findings, &made, false);
    ck_assert(findings.mistake_count == 2 && findings.mistakes[0].item == 1 &&
              findings.mistakes[1].item == 2 && findings.mistakes[0].label == 1);
    struct interval accuracy = wilson_interval(1, 3), precision = wilson_interval(1, 3);
    ck_assert(findings.accuracy.low == accuracy.low && findings.accuracy.high == accuracy.high);
    ck_assert(findings.classes[1].precision.low == precision.low &&
              findings.classes[1].recall.low == wilson_interval(1, 1).low &&
              findings.classes[0].recall.high == wilson_interval(0, 2).high &&
              findings.classes[0].precision.high == 1);
    ck_assert(findings.target_precision == 0.95 && findings.curve.count == 3 &&
              !findings.has_crossed);
    ck_assert(findings.served.temperature == 1 && findings.served.by_score.count == 3);
    findings_close(&findings);
    ck_assert_ptr_null(findings.classes);
    confusion_close(&made.confusion);
}
END_TEST

/* Twenty are enough to be cut in five. */
START_TEST(findings_of_twenty_have_folds)
{
    for (size_t count = 19; count <= 20; count++) {
        struct findings findings;
        make(&made, count);
        find(&findings, &made, false);
        ck_assert_int_eq(findings.has_crossed, count == 20);
        ck_assert_uint_eq(findings.crossed.by_score.count, count == 20 ? 20 : 0);
        findings_close(&findings);
        confusion_close(&made.confusion);
    }
}
END_TEST

/* All are right by far, or all wrong: a fit of the temperature has no end but a bound. */
START_TEST(findings_use_no_temperature_that_ended_at_its_bound)
{
    static const double bounds[] = {CALIBRATION_TEMPERATURE_MIN, CALIBRATION_TEMPERATURE_MAX};
    for (unsigned is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct findings findings;
        struct err err = {0};
        make(&made, 30);
        confusion_close(&made.confusion);
        for (unsigned i = 0; i < 30; i++)
            made.classes[i] = (evaluation_argmax(&made.evaluation, i) + is_wrong) % LABELS;
        ck_assert(!evaluation_measure(&made.evaluation, made.classes, &made.confusion, &err));
        find(&findings, &made, false);
        ck_assert_double_eq(findings.temperature_bound, bounds[is_wrong]);
        ck_assert_double_eq(findings.fitted.temperature, 1);
        ck_assert_double_eq(findings.crossed.temperature, 1);
        ck_assert_double_eq(findings.fitted.ece, findings.served.ece);
        findings_close(&findings);
        confusion_close(&made.confusion);
    }
    struct findings findings;
    make(&made, 200);
    find(&findings, &made, false);
    ck_assert(findings.temperature_bound == 0 && findings.fitted.temperature > 1);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

/* No score is high enough if no answer is right: all go to a person. */
START_TEST(findings_without_a_right_answer_decide_nothing)
{
    struct findings findings;
    struct err err = {0};
    make(&made, 30);
    confusion_close(&made.confusion);
    for (unsigned i = 0; i < 30; i++)
        made.classes[i] = (evaluation_argmax(&made.evaluation, i) + 1) % LABELS;
    ck_assert(!evaluation_measure(&made.evaluation, made.classes, &made.confusion, &err));
    find(&findings, &made, false);
    const struct selective_decisions *all[] = {
        &findings.served.by_score, &findings.served.by_class, &findings.fitted.by_score,
        &findings.crossed.by_score, &findings.crossed.by_class};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert(all[i]->automatic == 0 && all[i]->review == 30 && all[i]->count == 30);
    ck_assert(findings.curve.coverage == 0 && findings.mistake_count == FINDINGS_MISTAKES_MAX);
    findings_close(&findings);
    confusion_close(&made.confusion);
}
END_TEST

SUITE("findings", findings_calibrate_scores_that_are_too_sure,
      findings_promise_a_purity_that_other_inputs_keep, findings_leave_out_inputs_that_failed,
      findings_list_the_surest_mistakes_first, findings_of_few_inputs_have_no_folds,
      findings_do_not_claim_certainty_of_a_class_without_a_mistake,
      findings_judge_every_label_of_a_sigmoid_model,
      findings_of_three_are_what_was_computed_by_hand, findings_of_twenty_have_folds,
      findings_use_no_temperature_that_ended_at_its_bound,
      findings_without_a_right_answer_decide_nothing)
