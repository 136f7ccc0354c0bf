/* calibrate.h: attnd.json after calibration of made-up evaluations, read back. */
#include "engine/base/rng.h"
#include "engine/model/spec.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/fit/outlier.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HIDDEN = 16, LABELS = 3, COUNT = 260, LOST = 7 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}%s}";

/* Inputs with logits and features; LOST of them have none, and numbers that would show. */
struct inputs {
    float logits[COUNT * LABELS], features[COUNT * HIDDEN];
    const char *problems[COUNT];
    unsigned classes[COUNT];
    struct evaluation evaluation;
};

static struct checkpoint_writer writer;
static struct inputs validation, learnt;
static struct findings_class classes[LABELS];
static struct assessment assessment;
static struct spec spec;
static struct arena arena;

static void fill(struct inputs *out, size_t count, unsigned seed)
{
    *out = (struct inputs){0};
    for (size_t i = 0; i < count; i++) {
        struct rng rng = rng_for(seed, 0, i);
        bool lost = i % 40 == 5;
        out->classes[i] = (unsigned)(i % LABELS);
        for (unsigned k = 0; k < LABELS; k++)
            out->logits[i * LABELS + k] = lost ? -500 : 2 * rng_normal(&rng);
        for (unsigned d = 0; d < HIDDEN; d++)
            out->features[i * HIDDEN + d] =
                lost ? 1e6f : rng_normal(&rng) + 3 * (d == out->classes[i]);
        out->problems[i] = lost ? "lost" : NULL;
        out->evaluation.failed += lost;
    }
    out->evaluation.count = count;
    out->evaluation.label_count = LABELS;
    out->evaluation.feature_size = HIDDEN;
    out->evaluation.logits = out->logits;
    out->evaluation.features = out->features;
    out->evaluation.problems = out->problems;
}

static void open_all(const char *more)
{
    char text[sizeof config + 64];
    snprintf(text, sizeof text, config, more);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", text);
    fill(&validation, COUNT, 1);
    fill(&learnt, COUNT, 2);
    classes[0].threshold = (struct selective_threshold){.reachable = true, .score = 0.625f};
    classes[1].threshold = (struct selective_threshold){.reachable = false, .score = 0.5f};
    classes[2].threshold = (struct selective_threshold){.reachable = true, .score = 0.875f};
    assessment = (struct assessment){
        .options = {.dir = writer.dir},
        .classes = validation.classes,
        .evaluation = validation.evaluation,
        .findings = {.target_precision = 0.9, .classes = classes, .fitted = {.temperature = 1.75}}};
    arena_init(&arena);
}

/* Calibrates, and reads the file. */
static void calibrate(struct calibrate how)
{
    struct err err = {0};
    how.assessment = &assessment;
    ck_assert_msg(!calibrate_write(&how, &err), "%s", err.text);
    ck_assert_msg(!spec_read(&spec, writer.dir, &arena, &err), "%s", err.text);
}

static void close_all(void)
{
    arena_deinit(&arena);
    checkpoint_writer_close(&writer);
}

/* At least 98 % of the usable validation inputs do not exceed the threshold; a lower threshold
 * would be too low. */
static void expect_threshold(void)
{
    const struct ood *ood = &spec.policy.ood;
    size_t above = 0, below = 0, usable = 0;
    float rounding = 1e-5f * fabsf(ood->threshold);
    ck_assert(ood->has_threshold);
    for (size_t i = 0; i < COUNT; i++) {
        if (validation.problems[i] != NULL)
            continue;
        float score =
            ood_score(ood, validation.logits + i * LABELS, validation.features + i * HIDDEN);
        usable++;
        above += score > ood->threshold + rounding;
        below += score < ood->threshold - rounding;
    }
    ck_assert_uint_eq(usable, COUNT - LOST);
    ck_assert_uint_le(above, usable / 50);
    ck_assert_uint_lt(below, (size_t)ceil(0.98 * (double)usable));
    ck_assert_uint_ge(below + 1, (size_t)ceil(0.98 * (double)usable));
}

/* Twenty answers give label c, all with higher energies than any other: the five above the threshold
 * for all are a quarter of them, and four may be. */
START_TEST(calibration_spares_a_label_that_would_lose_more_than_its_share)
{
    size_t given = 0, above = 0;
    open_all("");
    for (size_t i = 0; i < COUNT; i++) {
        float *logits = validation.logits + i * LABELS;
        if (validation.problems[i] != NULL)
            continue;
        logits[2] = -20;
        for (unsigned k = 0; k < LABELS && given < 20; k++)
            logits[k] = (k == 2 ? -30.0f : -40.0f) - (float)given;
        given++;
    }
    calibrate((struct calibrate){.method = OOD_ENERGY});
    const struct ood *ood = &spec.policy.ood;
    ck_assert(isnan(ood->label_thresholds[0]) && isnan(ood->label_thresholds[1]));
    ck_assert_float_gt(ood->label_thresholds[2], ood->threshold);
    for (size_t i = 0; i < COUNT; i++)
        above += validation.problems[i] == NULL &&
                 ood_score(ood, validation.logits + i * LABELS, NULL) > ood_threshold(ood, 2);
    ck_assert_uint_eq(above, (size_t)(CALIBRATE_UNKNOWN_LABEL * 20));
    close_all();
}
END_TEST

START_TEST(calibration_writes_temperature_thresholds_and_purity)
{
    open_all("");
    calibrate((struct calibrate){.method = OOD_NONE});
    ck_assert_double_eq(spec.temperature, 1.75);
    ck_assert_double_eq_tol(spec.policy.target_precision, 0.9, 1e-7);
    ck_assert(spec.policy.thresholds[0] == 0.625f && spec.policy.thresholds[2] == 0.875f);
    ck_assert(isnan(spec.policy.thresholds[1]));
    ck_assert_str_eq(spec.version, "1");
    ck_assert(!spec.policy.ood.has_threshold);
    calibrate((struct calibrate){.method = OOD_NONE, .version = "2.5"});
    ck_assert_str_eq(spec.version, "2.5");
    calibrate((struct calibrate){.method = OOD_NONE});
    ck_assert_str_eq(spec.version, "2.5");
    close_all();
}
END_TEST

/* The distance's statistics are those of the inputs that were learnt, as outlier.h fits them. */
START_TEST(calibration_fits_a_distance_to_what_was_learnt)
{
    size_t items[COUNT];
    struct outlier_data data = {.features = learnt.features,
                                .classes = learnt.classes,
                                .items = items,
                                .width = HIDDEN,
                                .hidden = HIDDEN,
                                .label_count = LABELS};
    struct ood expected;
    struct err err = {0};
    open_all("");
    for (size_t i = 0; i < COUNT; i++)
        if (learnt.problems[i] == NULL)
            items[data.count++] = i;
    calibrate((struct calibrate){
        .method = OOD_MAHALANOBIS, .known = &learnt.evaluation, .known_classes = learnt.classes});
    ck_assert_int_eq(spec.policy.ood.method, OOD_MAHALANOBIS);
    ck_assert_int_eq(outlier_fit(&expected, OOD_MAHALANOBIS, &data, 0, &arena, &err), ERR_OK);
    for (unsigned d = 0; d < HIDDEN; d++)
        ck_assert(fabsf(spec.policy.ood.mean[d] - expected.mean[d]) < 1e-5f);
    ck_assert_uint_eq(spec.policy.ood.components, expected.components);
    expect_threshold();
    close_all();
}
END_TEST

START_TEST(calibration_without_other_inputs_fits_a_distance_to_its_own)
{
    double sum = 0;
    open_all("");
    calibrate((struct calibrate){.method = OOD_RELATIVE});
    ck_assert_int_eq(spec.policy.ood.method, OOD_RELATIVE);
    for (size_t i = 0; i < COUNT; i++)
        sum += validation.problems[i] == NULL ? (double)validation.features[i * HIDDEN + 9] : 0;
    ck_assert_double_eq_tol((double)spec.policy.ood.mean[9], sum / (COUNT - LOST), 0.02);
    expect_threshold();
    close_all();
}
END_TEST

/* 199 usable inputs are one too few, 200 are enough; energy is as it was asked for. */
START_TEST(calibration_of_few_inputs_takes_the_energy)
{
    open_all("");
    fill(&learnt, 204, 3);
    ck_assert_uint_eq(learnt.evaluation.failed, 5);
    struct calibrate how = {
        .method = OOD_MAHALANOBIS, .known = &learnt.evaluation, .known_classes = learnt.classes};
    calibrate(how);
    ck_assert_int_eq(spec.policy.ood.method, OOD_ENERGY);
    expect_threshold();
    fill(&learnt, 206, 3);
    learnt.evaluation.failed = 6;
    learnt.problems[0] = "lost";
    calibrate(how);
    ck_assert_int_eq(spec.policy.ood.method, OOD_MAHALANOBIS);
    expect_threshold();
    calibrate((struct calibrate){.method = OOD_ENERGY});
    ck_assert_int_eq(spec.policy.ood.method, OOD_ENERGY);
    expect_threshold();
    close_all();
}
END_TEST

/* -sum log(1 + exp(logit)) of independent labels, not -log sum exp. */
START_TEST(calibration_of_independent_labels_takes_their_energy)
{
    open_all(", \"problem_type\": \"multi_label_classification\"");
    calibrate((struct calibrate){.method = OOD_ENERGY});
    ck_assert_int_eq(spec.scores, SCORES_SIGMOID);
    ck_assert(spec.policy.ood.independent);
    expect_threshold();
    close_all();
}
END_TEST

START_TEST(calibration_says_what_cannot_be_fitted)
{
    struct err err = {0};
    struct calibrate how = {.assessment = &assessment, .method = OOD_RELATIVE};
    open_all("");
    for (size_t i = 0; i < COUNT; i++)
        validation.classes[i] = 0; /* relative needs two classes */
    ck_assert_int_eq(calibrate_write(&how, &err), ERR_UNUSABLE);
    err = (struct err){0};
    assessment.options.dir = "/no/where";
    ck_assert_int_ne(calibrate_write(&how, &err), ERR_OK);
    close_all();
}
END_TEST

/* Statistics of what was learnt, and no input to choose a threshold from: nothing is written. */
START_TEST(calibration_without_a_threshold_writes_nothing)
{
    char path[96];
    struct err err = {0};
    struct calibrate how = {.assessment = &assessment,
                            .method = OOD_MAHALANOBIS,
                            .known = &learnt.evaluation,
                            .known_classes = learnt.classes};
    open_all("");
    for (size_t i = 0; i < COUNT; i++)
        validation.problems[i] = "lost";
    ck_assert_int_eq(calibrate_write(&how, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no inputs to choose a threshold from");
    snprintf(path, sizeof path, "%s/attnd.json", writer.dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    close_all();
}
END_TEST

/* Winners by logits, scores by the new temperature; the inputs without an answer are not counted. */
static void expect_reference(const struct drift_reference *reference)
{
    float shares[LABELS] = {0}, below = 0, edge = reference->edges[DRIFT_SCORE][0];
    for (size_t i = 0; i < COUNT; i++) {
        const float *logits = validation.logits + i * LABELS;
        double sum = 0, most = (double)fmaxf(logits[0], fmaxf(logits[1], logits[2]));
        if (validation.problems[i] != NULL)
            continue;
        for (unsigned k = 0; k < LABELS; k++) {
            sum += exp(((double)logits[k] - most) / spec.temperature);
            shares[k] += (double)logits[k] >= most ? 1.0f / (COUNT - LOST) : 0;
        }
        below += 1 / sum < (double)edge ? 1.0f / (COUNT - LOST) : 0;
    }
    ck_assert_uint_eq(reference->count, COUNT - LOST);
    for (unsigned k = 0; k < LABELS; k++)
        ck_assert_float_eq_tol(reference->label_shares[k], shares[k], 1e-5f);
    ck_assert_float_eq_tol(reference->psi[DRIFT_SCORE].shares[0], below, 1e-5f);
    ck_assert_uint_eq(reference->psi[DRIFT_OOD].bin_count, 10);
}

START_TEST(calibration_writes_what_live_answers_are_compared_with)
{
    open_all("");
    calibrate((struct calibrate){.method = OOD_MAHALANOBIS});
    expect_reference(spec.reference);
    /* The median of the OOD scores is the fifth edge. */
    ck_assert_float_eq_tol(spec.reference->edges[DRIFT_OOD][4], spec.policy.ood.quantiles[50],
                           0.02f * spec.policy.ood.quantiles[50]);
    close_all();
}
END_TEST

START_TEST(a_reference_alone_leaves_the_rest_as_it_is)
{
    struct err err = {0};
    open_all("");
    calibrate((struct calibrate){.method = OOD_MAHALANOBIS, .version = "7"});
    const struct spec before = spec;
    assessment.findings.fitted.temperature = 3;
    validation.problems[0] = "lost too";
    ck_assert_msg(!calibrate_write_reference(&assessment, &err), "%s", err.text);
    ck_assert_msg(!spec_read(&spec, writer.dir, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(spec.reference->count, COUNT - LOST - 1);
    ck_assert_double_eq(spec.temperature, before.temperature);
    ck_assert_str_eq(spec.version, "7");
    ck_assert(spec.policy.thresholds[0] == before.policy.thresholds[0]);
    ck_assert(spec.policy.ood.threshold == before.policy.ood.threshold);
    close_all();
}
END_TEST

START_TEST(calibration_counts_the_labels_and_keeps_what_is_expected)
{
    static const double given[LABELS] = {7, 2, 1};
    open_all("");
    calibrate((struct calibrate){.method = OOD_NONE});
    ck_assert_int_eq(spec.class_prior.kind, CLASS_PRIOR_NATURAL);
    double sum = 0;
    for (unsigned c = 0; c < LABELS; c++)
        sum += spec.class_prior.fitted[c];
    ck_assert_double_eq(sum, COUNT - LOST);
    checkpoint_writer_file(&writer, "attnd.json",
                           "{\"fitted_prior\": {\"a\": 1, \"b\": 1, \"c\": 1}, "
                           "\"class_prior\": {\"a\": 2, \"b\": 1, \"c\": 1}}");
    calibrate((struct calibrate){.method = OOD_NONE, .fitted_prior = given});
    ck_assert_double_eq(spec.class_prior.fitted[0], 7);
    ck_assert_double_eq(spec.class_prior.expected[0], 0.5);
    ck_assert_double_eq_tol((double)spec.class_prior.shifts[0], log(5.5 / 7.5), 1e-6);
    close_all();
}
END_TEST

/* The reference has answers by the class prior, because live answers are compared with it. */
START_TEST(a_reference_is_of_the_answers_that_are_expected)
{
    open_all("");
    checkpoint_writer_file(&writer, "attnd.json",
                           "{\"fitted_prior\": {\"a\": 1e6, \"b\": 1e6, \"c\": 1e6}, "
                           "\"class_prior\": {\"a\": 1, \"b\": 0, \"c\": 0}}");
    struct err err = {0};
    ck_assert_msg(!calibrate_write_reference(&assessment, &err), "%s", err.text);
    ck_assert(!spec_read(&spec, writer.dir, &arena, &err));
    ck_assert_float_gt(spec.reference->label_shares[0], 0.99f);
    close_all();
}
END_TEST

SUITE("calibrate", calibration_spares_a_label_that_would_lose_more_than_its_share,
      calibration_counts_the_labels_and_keeps_what_is_expected,
      a_reference_is_of_the_answers_that_are_expected,
      calibration_writes_temperature_thresholds_and_purity,
      calibration_fits_a_distance_to_what_was_learnt,
      calibration_without_other_inputs_fits_a_distance_to_its_own,
      calibration_of_few_inputs_takes_the_energy,
      calibration_of_independent_labels_takes_their_energy, calibration_says_what_cannot_be_fitted,
      calibration_without_a_threshold_writes_nothing,
      calibration_writes_what_live_answers_are_compared_with,
      a_reference_alone_leaves_the_rest_as_it_is)
