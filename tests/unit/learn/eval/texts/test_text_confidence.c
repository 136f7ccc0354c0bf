/* The worth of a text's confidence: Platt's scaling beside its closed forms, thresholds of
 * texts that are right by a known chance, and attnd.json as it is written. */
#include "engine/base/rng.h"
#include "engine/model/decoder/pair_spec.h"
#include "learn/eval/texts/writing_assessment.h"
#include "tests/support/suite.h"
#include "tests/support/writing_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 20000, ROOM = 400 };

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double logit(double p)
{
    return log(p / (1 - p));
}

/* answers[at..at + count) <- texts of one probability, the first `right` of which are right. */
static void put(struct text_answer *answers, size_t at, size_t count, double probability,
                size_t right)
{
    for (size_t i = 0; i < count; i++)
        answers[at + i] = (struct text_answer){.log_probability = (float)log(probability),
                                               .confidence = (float)probability,
                                               .is_right = i < right,
                                               .item = at + i};
}

/* Two probabilities have as many unknowns as equations: the mean target of each is met. */
START_TEST(confidence_fit_of_two_probabilities_is_the_closed_form)
{
    struct text_answer answers[100];
    double scale, shift;
    put(answers, 0, 60, 0.9, 51);
    put(answers, 60, 40, 0.2, 4);
    ck_assert(text_confidence_fit(&scale, &shift, answers, 100));
    const double yes = 56.0 / 57, no = 1.0 / 47; /* of 55 right texts and 45 wrong ones */
    const double high = logit((51 * yes + 9 * no) / 60), low = logit((4 * yes + 36 * no) / 40);
    const double x[2] = {logit(exp((double)answers[0].log_probability)),
                         logit(exp((double)answers[60].log_probability))};
    ck_assert_double_eq_tol(scale, (high - low) / (x[0] - x[1]), 1e-9);
    ck_assert_double_eq_tol(shift, high - scale * x[0], 1e-9);
}
END_TEST

/* answers[count] <- texts that are right with the probability sigmoid(scale x + shift). */
static void draw(struct text_answer *answers, size_t count, double scale, double shift)
{
    struct rng rng = rng_for(3, 0, 0);
    for (size_t i = 0; i < count; i++) {
        const float sum = (float)log(sigmoid(2 * (double)rng_normal(&rng)));
        const double x = logit(exp((double)sum));
        answers[i] =
            (struct text_answer){.log_probability = sum,
                                 .confidence = expf(sum),
                                 .is_right = (double)rng_uniform(&rng) < sigmoid(scale * x + shift),
                                 .item = i};
    }
}

/* Numerical oracles: the gradient at the optimum is zero; and so many draws tell the scaling. */
START_TEST(confidence_fit_leaves_no_gradient)
{
    struct text_answer *answers = calloc(MANY, sizeof *answers);
    double scale, shift, by_scale = 0, by_shift = 0, right = 0;
    draw(answers, MANY, 0.5, 1.5);
    ck_assert(text_confidence_fit(&scale, &shift, answers, MANY));
    ck_assert_double_eq_tol(scale, 0.5, 0.05);
    ck_assert_double_eq_tol(shift, 1.5, 0.1);
    for (size_t i = 0; i < MANY; i++)
        right += answers[i].is_right;
    for (size_t i = 0; i < MANY; i++) {
        const double x = logit(exp((double)answers[i].log_probability));
        const double error =
            sigmoid(scale * x + shift) -
            (answers[i].is_right ? (right + 1) / (right + 2) : 1 / (MANY - right + 2));
        by_scale += error * x;
        by_shift += error;
    }
    ck_assert_double_eq_tol(by_scale, 0, 1e-6);
    ck_assert_double_eq_tol(by_shift, 0, 1e-6);
    free(answers);
}
END_TEST

/* Texts that no scaling moves do not pull at it, nor do texts that a step could not separate. */
START_TEST(confidence_fit_bears_probabilities_of_0_and_1)
{
    struct text_answer answers[104];
    double scale, shift, plain_scale, plain_shift;
    put(answers, 0, 60, 0.9, 60);
    put(answers, 60, 40, 0.2, 0);
    ck_assert(text_confidence_fit(&plain_scale, &plain_shift, answers, 100));
    ck_assert_double_lt(plain_scale, 10); /* by the targets, which are not 0 and 1 */
    put(answers, 100, 4, 1, 2);
    answers[101].log_probability = answers[103].log_probability = -INFINITY;
    ck_assert(text_confidence_fit(&scale, &shift, answers, 104));
    ck_assert_double_eq(scale, plain_scale);
    ck_assert_double_eq(shift, plain_shift);
    for (size_t i = 0; i < 60; i++)
        answers[i].log_probability = -1e-7f * (float)(1 + i); /* next to 1, in floats */
    ck_assert(text_confidence_fit(&scale, &shift, answers, 104));
    ck_assert_double_gt(sigmoid(scale * 16 + shift), 0.95);
}
END_TEST

START_TEST(confidence_that_tells_nothing_is_not_scaled)
{
    struct text_answer answers[100];
    double scale, shift;
    put(answers, 0, 50, 0.9, 50);
    put(answers, 50, 50, 0.2, 50);
    ck_assert(!text_confidence_fit(&scale, &shift, answers, 100)); /* all right */
    put(answers, 0, 50, 0.9, 0);
    ck_assert(!text_confidence_fit(&scale, &shift, answers, 100)); /* the likelier ones wrong */
    put(answers, 50, 50, 0.2, 0);
    ck_assert(!text_confidence_fit(&scale, &shift, answers, 100)); /* all wrong */
    put(answers, 0, 100, 0.5, 50);
    ck_assert(!text_confidence_fit(&scale, &shift, answers, 100)); /* one probability */
    ck_assert(!text_confidence_fit(&scale, &shift, answers, 0));
    struct text_findings findings = {.target_precision = 0.9};
    struct err err = {0};
    put(answers, 0, 100, 0.2, 100);
    ck_assert(!text_findings_measure(&findings, answers, 100, 0, &err));
    ck_assert_float_eq(findings.fitted.by.scale, 0);
    ck_assert(findings.threshold.reachable); /* of the probability itself */
    ck_assert_float_eq_tol(findings.threshold.score, 0.2f, 1e-7f);
}
END_TEST

/* 200 texts are right nine times of ten, 200 one time of ten, and 100 inputs have none. */
START_TEST(text_findings_tell_a_known_chance)
{
    struct text_answer answers[ROOM];
    struct text_findings findings = {.target_precision = 0.85};
    struct err err = {0};
    put(answers, 0, 200, 0.6, 180);
    put(answers, 200, 200, 0.3, 20);
    ck_assert(!text_findings_measure(&findings, answers, ROOM, 100, &err));
    ck_assert_double_eq_tol(findings.served.ece, (0.3 + 0.2) / 2, 1e-6);
    ck_assert_double_lt(findings.fitted.ece, 0.01);
    ck_assert_double_lt(findings.crossed.ece, 0.05);
    ck_assert(findings.threshold.reachable);
    const double yes = 201.0 / 202, no = 1.0 / 202;
    ck_assert_double_eq_tol((double)findings.threshold.score, (180 * yes + 20 * no) / 200, 1e-6);
    ck_assert_uint_eq(findings.fitted.decisions.automatic, 200);
    ck_assert_uint_eq(findings.fitted.decisions.right, 180);
    ck_assert_uint_eq(findings.fitted.decisions.count, 500);
    ck_assert_uint_eq(findings.fitted.decisions.review, 300);
    ck_assert(findings.has_crossed);
    ck_assert_uint_eq(findings.crossed.decisions.automatic, 200);
    ck_assert_uint_eq(findings.crossed.decisions.count, 500);
    findings.target_precision = 0.95;
    ck_assert(!text_findings_measure(&findings, answers, ROOM, 100, &err));
    ck_assert(!findings.threshold.reachable);
    ck_assert_uint_eq(findings.fitted.decisions.automatic, 0);
    ck_assert(!text_findings_measure(&findings, answers, 10, 0, &err));
    ck_assert(!findings.has_crossed); /* too few for folds */
    ck_assert(!text_findings_measure(&findings, answers, 0, 3, &err));
    ck_assert_uint_eq(findings.fitted.decisions.count, 3);
}
END_TEST

/* With thousands of draws the share that is right at the threshold is the target, and figures of
 * other texts are those of these. */
START_TEST(text_findings_hold_for_other_texts)
{
    struct text_answer *answers = calloc(MANY, sizeof *answers);
    struct text_findings findings = {.target_precision = 0.95};
    struct err err = {0};
    draw(answers, MANY, 0.5, 1.5);
    ck_assert(!text_findings_measure(&findings, answers, MANY, 0, &err));
    ck_assert_double_gt(findings.served.ece, 0.1);
    ck_assert_double_lt(findings.fitted.ece, 0.02);
    ck_assert_double_lt(findings.crossed.ece, 0.02);
    const struct selective_decisions *crossed = &findings.crossed.decisions;
    ck_assert_double_eq_tol((double)crossed->right / (double)crossed->automatic, 0.95, 0.01);
    ck_assert_double_eq_tol((double)crossed->automatic / MANY,
                            (double)findings.fitted.decisions.automatic / MANY, 0.05);
    free(answers);
}
END_TEST

START_TEST(text_findings_are_written_beside_the_other_members)
{
    static const char settings[] =
        "{\"version\": \"lot-7\", \"checksum\": \"semi-m13\", \"thresholds\": {\"text\": 0.5}, "
        "\"truncation\": \"accept\", \"uncalibrated\": \"auto\", \"colours\": \"grey\", \"views\": "
        "4}";
    struct text_findings findings = {.target_precision = 0.99,
                                     .fitted.by = {0.7654321f, -1.25f},
                                     .threshold = {.reachable = true, .score = 0.87654321f}};
    struct spec source, target;
    struct tempdir dir;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    writing_model_open(&dir, "trocr-0");
    tempdir_write(&dir, "attnd.json", settings, sizeof settings - 1);
    ck_assert_msg(!text_findings_write(dir.path, &findings, NULL, &err), "%s", err.text);
    ck_assert(!pair_spec_read(&source, &target, dir.path, &err));
    ck_assert(!pair_spec_read_settings(&source, dir.path, &arena, &err));
    ck_assert_str_eq(source.version, "lot-7");
    ck_assert_str_eq(source.text_checksum, "semi-m13");
    ck_assert_uint_eq(source.image_reading.views, 4);
    ck_assert(source.policy.accepts_truncated && source.policy.takes_uncalibrated &&
              source.policy.learnt_grey);
    ck_assert_double_eq(source.policy.target_precision, 0.99);
    ck_assert_float_eq(source.policy.confidence.scale, 0.7654321f);
    ck_assert_float_eq(source.policy.confidence.shift, -1.25f);
    ck_assert_float_eq(source.policy.thresholds[0], 0.87654321f);

    findings.fitted.by = (struct confidence){0};
    findings.threshold.reachable = false;
    ck_assert_msg(!text_findings_write(dir.path, &findings, "none", &err), "%s", err.text);
    ck_assert(!pair_spec_read(&source, &target, dir.path, &err));
    ck_assert(!pair_spec_read_settings(&source, dir.path, &arena, &err));
    ck_assert_str_eq(source.text_checksum, "none");
    ck_assert_float_eq(source.policy.confidence.scale, 0);
    ck_assert(isnan(source.policy.thresholds[0]));
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

SUITE("text_confidence", confidence_fit_of_two_probabilities_is_the_closed_form,
      confidence_fit_leaves_no_gradient, confidence_fit_bears_probabilities_of_0_and_1,
      confidence_that_tells_nothing_is_not_scaled, text_findings_tell_a_known_chance,
      text_findings_hold_for_other_texts, text_findings_are_written_beside_the_other_members)
