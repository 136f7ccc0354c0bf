/* trainer.h with --task regression: whole runs of a tiny BERT that learns how hot a text is, a
 * number of mean 300 and deviation about 60, from its words. */
#include "engine/base/doc.h"
#include "engine/decide/drift_reference.h"
#include "engine/engine.h"
#include "learn/eval/measure/number_assessment.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture f;

/* Each red of four words adds 50, each blue takes 50. With `second` a second output counts the
 * greens. */
static void write_numbers(bool second)
{
    static const char *const words[] = {"red", "blue", "green", "grey"};
    static const int worth[] = {50, -50, 0, 0};
    char text[TRAIN_FIXTURE_TEXTS * 80] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++) {
        const unsigned a = i % 4, b = i / 4 % 4, c = i / 16 % 4, d = (i + i / 7) % 4;
        len += (size_t)snprintf(text + len, sizeof text - len, "{\"text\":\"%s %s %s %s\",",
                                words[a], words[b], words[c], words[d]);
        const int number = 300 + worth[a] + worth[b] + worth[c] + worth[d];
        const int greens = (a == 2) + (b == 2) + (c == 2) + (d == 2);
        if (second)
            len += (size_t)snprintf(text + len, sizeof text - len, "\"label\":[%d,%d]}\n", number,
                                    greens);
        else
            len += (size_t)snprintf(text + len, sizeof text - len, "\"label\":%d}\n", number);
    }
    tempdir_write(&f.data, "list.jsonl", text, len);
}

static void open_fixture(void)
{
    train_fixture_texts(&f);
    write_numbers(false);
    f.options.task = "regression";
    f.options.dropout = f.options.attention_dropout = 0;
    f.options.epochs = 12;
    f.options.keep = "best";
}

/* The errors of a finished output on the validation part, as it is served. */
static struct number_errors errors_of(const struct tempdir *dir, unsigned outputs, unsigned output)
{
    const struct dataset_options fields = {.kind = ENGINE_TEXT, .labels_many = true};
    const struct evaluation_options how = {.threads = 1};
    struct number_assessment assessment = {0};
    struct engine_model *model;
    struct dataset dataset;
    struct err err = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/split.jsonl", dir->path);
    ck_assert_msg(!engine_open(&model, dir->path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_msg(!dataset_open(&dataset, path, &fields, &err), "%s", err.text);
    ck_assert_msg(!number_assessment_take(&assessment, model, &dataset, path, &err) &&
                      !number_assessment_run(&assessment, &how, &err),
                  "%s", err.text);
    ck_assert_uint_eq(assessment.outputs, outputs);
    const struct number_errors errors = assessment.errors[output];
    number_assessment_close(&assessment);
    dataset_close(&dataset);
    engine_close(model);
    return errors;
}

START_TEST(a_regression_is_served_in_the_unit_of_its_data)
{
    open_fixture();
    struct trainer_result result = train_fixture_run(&f);
    const struct history_epoch *best = &result.history.epochs[result.best_epoch - 1];
    ck_assert(result.task == TRAIN_REGRESS && result.conclusion.judged);
    ck_assert_uint_eq(f.plan.labels, 1);
    ck_assert(f.plan.task == TRAIN_REGRESS);
    const struct number_errors errors = errors_of(&f.first, 1, 0);
    ck_assert_double_gt(errors.standard_deviation, 40);
    ck_assert_double_lt(errors.root_mean_square, errors.standard_deviation / 3);
    ck_assert_double_eq_tol(errors.root_mean_square, result.conclusion.errors.root_mean_square,
                            1e-6);
    /* The epoch's figure is that of the served model, though it was taken before the unit. */
    ck_assert_double_eq_tol(best->rmse, errors.root_mean_square, 1e-3);
    ck_assert_double_eq_tol(best->rmse_mean, errors.standard_deviation, 1e-3);
    for (unsigned i = 0; i < result.history.count; i++)
        ck_assert_double_ge(result.history.epochs[i].rmse, best->rmse);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_regression_leaves_its_report_and_configuration)
{
    struct json_t *root;
    struct err err = {0};
    char path[160];
    open_fixture();
    f.options.label_field = "label";
    f.options.epochs = 2;
    train_fixture_learn(&f);
    snprintf(path, sizeof path, "%s/report.json", f.first.path);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    ck_assert_double_gt(outcome_number(root, "root_mean_square_error"), 0);
    ck_assert_double_gt(outcome_number(root, "epochs.1.root_mean_square_error"), 0);
    doc_free(root);
    snprintf(path, sizeof path, "%s/config.json", f.first.path);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    ck_assert_str_eq(doc_as_string(doc_member(root, "problem_type")), "regression");
    ck_assert_str_eq(doc_as_string(doc_member(doc_member(root, "id2label"), "0")), "label");
    doc_free(root);
    train_fixture_close(&f);
}
END_TEST

/* The reference for live numbers has the answers to the validation part. */
START_TEST(a_regression_leaves_a_reference_and_its_version)
{
    struct err err = {0};
    struct engine_model *model;
    open_fixture();
    f.options.epochs = 2;
    f.options.version = "7";
    train_fixture_learn(&f);
    ck_assert(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err));
    const struct engine_info *info = engine_describe(model);
    ck_assert_str_eq(info->version, "7");
    ck_assert_ptr_nonnull(info->reference);
    ck_assert(drift_reference_has(info->reference, DRIFT_VALUE));
    ck_assert_uint_eq(info->reference->count, f.plan.validation);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_regression_does_not_depend_on_threads_or_stops)
{
    open_fixture();
    f.options.epochs = 3;
    train_fixture_learn(&f);
    f.options.out = f.second.path;
    f.options.threads = 3;
    f.learning_calls = 0;
    f.stop_after = 2;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.interrupted);
    trainer_result_free(&result);
    atomic_store(&f.stop, false);
    f.stop_after = 0;
    train_fixture_learn(&f);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* The second run's rate is so small that its first epoch is the first run's result. */
START_TEST(a_regression_goes_on_from_the_numbers_of_its_source)
{
    open_fixture();
    train_fixture_learn(&f);
    const struct number_errors before = errors_of(&f.first, 1, 0);
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.rate = 1e-8f;
    f.options.average = 0;
    f.options.epochs = 1;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_eq_tol(result.history.epochs[0].rmse, before.root_mean_square, 0.01);
    ck_assert_double_eq_tol(errors_of(&f.second, 1, 0).root_mean_square, before.root_mean_square,
                            0.01);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* A classifier of one label has a head of the right shape, whose scores are no numbers. */
START_TEST(a_regression_begins_with_the_mean_if_the_source_scores_a_label)
{
    open_fixture();
    f.options.epochs = 2;
    train_fixture_learn(&f);
    const struct number_errors errors = errors_of(&f.first, 1, 0);
    char path[160], text[2048];
    snprintf(path, sizeof path, "%s/config.json", f.first.path);
    FILE *file = fopen(path, "r");
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    char *type = strstr(text, "\"regression\"");
    ck_assert_ptr_nonnull(type);
    memcpy(type, "null        ", strlen("\"regression\""));
    tempdir_write(&f.first, "config.json", text, len);
    tempdir_write(&f.first, "attnd.json", "{}", 2); /* whose reference was of numbers */
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.rate = 1e-8f;
    f.options.average = 0;
    f.options.epochs = 1;
    struct trainer_result result = train_fixture_run(&f);
    /* the mean of the inputs to learn is not quite that of the others */
    ck_assert_double_ge(result.history.epochs[0].rmse, errors.standard_deviation - 1e-3);
    ck_assert_double_le(result.history.epochs[0].rmse, 1.2 * errors.standard_deviation);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_regression_learns_several_numbers)
{
    open_fixture();
    write_numbers(true);
    f.options.epochs = 40;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_uint_eq(f.plan.labels, 2);
    for (unsigned k = 0; k < 2; k++) {
        const struct number_errors errors = errors_of(&f.first, 2, k);
        ck_assert_double_lt(errors.root_mean_square, errors.standard_deviation / 2);
    }
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer_numbers", a_regression_is_served_in_the_unit_of_its_data,
      a_regression_leaves_its_report_and_configuration,
      a_regression_leaves_a_reference_and_its_version,
      a_regression_does_not_depend_on_threads_or_stops,
      a_regression_goes_on_from_the_numbers_of_its_source,
      a_regression_begins_with_the_mean_if_the_source_scores_a_label,
      a_regression_learns_several_numbers)
