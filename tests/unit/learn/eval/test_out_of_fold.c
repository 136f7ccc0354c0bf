/* out_of_fold.c: a model that has learnt its inputs is judged, and calibrated, by the answers of
 * models that had not. */
#include "learn/eval/assessment.h"

#include "engine/model/spec.h"
#include "learn/data/logit_list.h"
#include "learn/eval/calibrate.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture fixture;
static struct dataset dataset;
static struct assessment assessment;
static struct err err;

static void assess(void)
{
    const struct assessment_options how = {
        .dir = fixture.first.path, .target_precision = 0.95, .evaluation = {.threads = 1}};
    err = (struct err){0};
    assessment_close(&assessment);
    ck_assert_msg(!assessment_open(&assessment, &how, &err), "%s", err.text);
    ck_assert_msg(!assessment_take(&assessment, &dataset, "the data", &err), "%s", err.text);
    ck_assert_msg(!assessment_run(&assessment, &err), "%s", err.text);
}

/* Eighty texts that are all different. */
static void open_all(const char *ood_method)
{
    const struct dataset_options fields = {.text_field = "text", .label_field = "label"};
    char text[80 * 80] = "";
    train_fixture_texts(&fixture);
    for (unsigned i = 0; i < 80; i++)
        snprintf(text + strlen(text), 80, "{\"text\":\"%s %u\",\"label\":\"%s\"}\n",
                 i % 2 == 0 ? "red" : "blue", i, i % 2 == 0 ? "hot" : "cold");
    tempdir_write(&fixture.data, "list.jsonl", text, strlen(text));
    fixture.options.ood_method = ood_method;
    fixture.options.epochs = 2;
    train_fixture_learn(&fixture);
    ck_assert(!dataset_open(&dataset, fixture.list, &fields, &err));
    assess();
}

static void close_all(void)
{
    assessment_close(&assessment);
    dataset_close(&dataset);
    train_fixture_close(&fixture);
}

/* Writes the answers of a fold for inputs first, first + step, ...: sure of the right label, except
 * for every fifth input; the OOD score is the number of the input. */
static const char *write_fold(const char *name, size_t first, size_t step, const char *method)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    const struct engine_info *info = engine_describe(assessment.model);
    snprintf(path, sizeof paths[0], "%s/%s", fixture.data.path, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (size_t i = first; i < dataset.count; i += step) {
        const bool wrong = i % 5 == 0;
        const float sure = wrong == (assessment.classes[i] == 0) ? -2 : 2;
        const struct logit_list_line line = {.name = "elsewhere",
                                             .digest = assessment.evaluation.digests[i],
                                             .logits = (const float[]){sure, -sure},
                                             .ood_method = method,
                                             .ood = (float)i};
        ck_assert(logit_list_write(file, &line, info->labels, info->label_count));
    }
    fclose(file);
    return path;
}

static enum err_code take(const char *first, const char *second)
{
    const char *const paths[] = {first, second};
    err = (struct err){0};
    return out_of_fold_take(&assessment, paths, second != NULL ? 2 : 1, &err);
}

START_TEST(the_report_is_of_the_folds_answers)
{
    open_all("none");
    const size_t wrong = (dataset.count + 4) / 5;
    ck_assert_msg(!take(write_fold("even", 0, 2, NULL), write_fold("odd", 1, 2, NULL)), "%s",
                  err.text);
    ck_assert_double_eq_tol(assessment.confusion.accuracy,
                            1 - (double)wrong / (double)dataset.count, 1e-12);
    ck_assert_float_eq(fabsf(evaluation_logits(&assessment.evaluation, 1)[0]), 2);
    ck_assert_uint_eq(assessment.report.folds, 2);
    ck_assert_ptr_null(assessment.evaluation.ood); /* the model has none */
    close_all();
}
END_TEST

START_TEST(decisions_are_calibrated_by_them)
{
    struct spec spec;
    struct arena arena;
    open_all("neighbours");
    arena_init(&arena);
    ck_assert(!take(write_fold("even", 0, 2, "neighbours"), write_fold("odd", 1, 2, "neighbours")));
    ck_assert_float_eq(assessment.evaluation.ood[7], 7);
    const struct calibrate how = {.assessment = &assessment, .method = OOD_NEIGHBOURS};
    ck_assert_msg(!calibrate_write(&how, &err), "%s", err.text);
    ck_assert(!spec_read(&spec, fixture.first.path, &arena, &err));
    const size_t at = (size_t)ceil((1 - CALIBRATE_UNKNOWN) * (double)dataset.count - 1e-9) - 1;
    ck_assert_float_eq(spec.policy.ood.threshold, (float)at); /* of 0, 1, .. */
    /* sigmoid(4 / T) = 0.8, as often as they are right */
    const double right = 1 - (double)((dataset.count + 4) / 5) / (double)dataset.count;
    ck_assert_double_eq_tol(spec.temperature, 4 / log(right / (1 - right)), 0.02);
    arena_deinit(&arena);
    close_all();
}
END_TEST

START_TEST(out_of_fold_decisions_use_the_ood_scores_of_the_folds)
{
    open_all("neighbours");
    const float threshold = *engine_describe(assessment.model)->ood_threshold;
    ck_assert(threshold < 1); /* of cosines */
    ck_assert(!take(write_fold("even", 0, 2, "neighbours"), write_fold("odd", 1, 2, "neighbours")));
    ck_assert_uint_ge(assessment.decisions.unknown, dataset.count - 3); /* all above it */
    close_all();
}
END_TEST

static void expect_refused(const char *first, const char *second, const char *why)
{
    ck_assert_int_eq(take(first, second), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    assess();
}

START_TEST(answers_that_are_missing_or_given_twice_or_of_another_kind_are_refused)
{
    open_all("neighbours");
    const char *even = write_fold("even", 0, 2, "neighbours");
    expect_refused(even, NULL, "'line 2' has no answer there, by its digest");
    expect_refused(even, write_fold("all", 0, 1, "neighbours"),
                   "all: line 1: the input has an answer in ");
    expect_refused(even, write_fold("odd", 1, 2, "energy"),
                   "inputs have an OOD score by 'neighbours', as this model's is");
    tempdir_write(&fixture.data, "bad", "{\"input\":\"line 1\"}", 18);
    char bad[160];
    snprintf(bad, sizeof bad, "%s/bad", fixture.data.path);
    expect_refused(even, bad, "bad: line 1: member 'logits' is missing");
    close_all();
}
END_TEST

SUITE("out_of_fold", the_report_is_of_the_folds_answers, decisions_are_calibrated_by_them,
      out_of_fold_decisions_use_the_ood_scores_of_the_folds,
      answers_that_are_missing_or_given_twice_or_of_another_kind_are_refused)
