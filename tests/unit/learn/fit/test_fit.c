/* fit.h and fit_write.h, on a BERT that has learnt two words in milliseconds: the written model
 * answers as the fit says and knows a third label. The model that the fit began with is
 * unchanged. */
#include "learn/fit/fit_write.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/openblas.h"
#include "tests/support/contract.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_OLD = 20, OF_NEW = 8, OF_RARE = 3, LIST_BYTES = 8192 };

static struct train_fixture fixture;
static char list[128], out[128], again[128];

/* A trained model in fixture.first, and a list with two labels more than it has. */
static void open_fixture(void)
{
    static const char *const texts[] = {"red grey red green", "blue green blue grey",
                                        "grey green grey green", "red blue grey green"};
    static const char *const labels[] = {"hot", "cold", "pale", "odd"};
    static const unsigned counts[] = {OF_OLD, OF_OLD, OF_NEW, OF_RARE};
    char lines[LIST_BYTES] = "";
    size_t len = 0;
    train_fixture_texts(&fixture);
    fixture.options.ood_method = "mahalanobis"; /* a model without examples */
    train_fixture_learn(&fixture);
    for (unsigned c = 0; c < 4; c++)
        for (unsigned i = 0; i < counts[c]; i++)
            len += (size_t)snprintf(lines + len, sizeof lines - len,
                                    "{\"text\": \"%s %s %u\", \"label\": \"%s\"}\n", texts[c],
                                    i % 2 > 0 ? "grey" : "green", i, labels[c]);
    tempdir_write(&fixture.data, "labelled.jsonl", lines, len);
    snprintf(list, sizeof list, "%s/labelled.jsonl", fixture.data.path);
    snprintf(out, sizeof out, "%s/new", fixture.second.path);
    snprintf(again, sizeof again, "%s/again", fixture.second.path);
}

static void close_fixture(void)
{
    tempdir_remove(out);
    tempdir_remove(again);
    train_fixture_close(&fixture);
}

static struct fit_options options(void)
{
    return (struct fit_options){.model = fixture.first.path,
                                .data = list,
                                .out = out,
                                .threads = 2,
                                .loss_max = 2,
                                .prior = "natural",
                                .target_precision = 0.95};
}

/* Up to the figures. */
static void run(struct fit *fit, const struct fit_options *how)
{
    const struct fit_progress silent = {NULL, NULL};
    struct err err = {0};
    openblas_set_environment();
    ck_assert_msg(fit_open(fit, how, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(fit_features(fit, &silent, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(fit_head(fit, &silent, &err) == ERR_OK, "%s", err.text);
}

static unsigned label_of(const struct engine_model *model, const char *name)
{
    const struct engine_info *info = engine_describe(model);
    unsigned i = 0;
    while (i < info->label_count && strcmp(info->labels[i], name) != 0)
        i++;
    ck_assert_uint_lt(i, info->label_count);
    return i;
}

START_TEST(a_new_label_is_learnt_and_one_of_three_inputs_is_not)
{
    struct fit fit;
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_uint_eq(fit.labels.count, 3);
    ck_assert_str_eq(fit.labels.name[2], "pale");
    ck_assert_uint_eq(fit.labels.examples[2], OF_NEW);
    ck_assert_uint_eq(fit.labels.rare_count, 1);
    ck_assert_str_eq(fit.labels.rare[0].name, "odd");
    ck_assert_uint_eq(fit.labels.rare[0].count, OF_RARE);
    ck_assert_uint_eq(fit.dataset.count, 2 * OF_OLD + OF_NEW);
    ck_assert_double_eq(fit.before.confusion.classes[2].recall, 0);
    ck_assert_double_eq(fit.after.confusion.accuracy, 1);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* The written model's own pass of the encoder, beside the head on the features of before. */
static void expect_written_answers(struct fit *fit)
{
    struct engine_model *model;
    struct evaluation evaluation;
    struct err err = {0};
    const struct evaluation_options how = {.threads = 1, .features = true};
    ck_assert_int_eq(engine_open(&model, out, &(struct engine_options){0}, &err), ERR_OK);
    ck_assert_int_eq(evaluation_run(&evaluation, model, &fit->dataset, &how, &err), ERR_OK);
    size_t all = engine_describe(model)->feature_size;
    const float *head = fit->full != NULL ? fit->full : fit->plain;
    size_t width = fit->full != NULL ? all : engine_describe(model)->classifier_size;
    ck_assert_uint_eq(evaluation.label_count, fit->labels.count);
    for (size_t i = 0; i < fit->dataset.count; i++) {
        const float *features = evaluation_features(&fit->evaluation, i);
        ck_assert_mem_eq(evaluation_features(&evaluation, i), features, all * sizeof *features);
        for (unsigned c = 0; c < fit->labels.count; c++) {
            const float *row = head + c * (width + 1);
            double logit = (double)row[width], size = fabs(logit);
            for (size_t j = 0; j < width; j++) {
                logit += (double)row[j] * (double)features[j];
                size += fabs((double)row[j] * (double)features[j]);
            }
            ck_assert_double_eq_tol((double)evaluation_logits(&evaluation, i)[c], logit,
                                    1e-6 * size); /* rounded in single precision */
        }
    }
    evaluation_close(&evaluation);
    engine_close(model);
}

/* The new head holds for the examples that it was fitted on. */
static void expect_fitted(const struct fit *fit)
{
    struct arena arena;
    struct spec spec;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, out, &arena, &err), "%s", err.text);
    for (unsigned c = 0; c < fit->labels.count; c++)
        ck_assert_double_eq(spec.class_prior.fitted[c], (double)fit->labels.examples[c]);
    arena_deinit(&arena);
}

START_TEST(fit_write_gives_a_model_with_the_answers_of_the_fit)
{
    struct fit fit;
    struct err err = {0};
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_accept(&fit, &err), ERR_OK);
    ck_assert_msg(fit_write(&fit, NULL, &err) == ERR_OK, "%s", err.text);
    expect_written_answers(&fit);
    expect_fitted(&fit);
    fit_close(&fit);
    close_fixture();
}
END_TEST

static void expect_page_says(const char *text)
{
    char path[PATH_MAX], *page;
    size_t len;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/report.html", out);
    ck_assert_int_eq(file_read(&page, &len, path, 1 << 20, &err), ERR_OK);
    ck_assert_msg(strstr(page, text) != NULL, "%s", text);
    free(page);
}

START_TEST(the_report_tells_before_and_after)
{
    struct fit fit;
    struct err err = {0};
    struct json_t *report;
    char path[PATH_MAX];
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_write(&fit, NULL, &err), ERR_OK);
    snprintf(path, sizeof path, "%s/report.json", out);
    ck_assert_int_eq(doc_parse_file(&report, path, 1 << 20, &err), ERR_OK);
    ck_assert_str_eq(doc_as_string(contract_at(report, "before.model")), fixture.first.path);
    ck_assert_str_eq(doc_as_string(contract_at(report, "after.model")), out);
    double before, after;
    ck_assert(doc_as_number(contract_at(report, "before.f1.pale.f1"), &before));
    ck_assert(doc_as_number(contract_at(report, "after.f1.pale.f1"), &after));
    ck_assert_double_eq(before, 0);
    ck_assert_double_eq(after, 1);
    doc_free(report);
    expect_page_says("Before and after");
    expect_page_says("<th scope=\"row\">pale</th><td>0.000</td>");
    expect_page_says("<td>+100.0</td>");
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(decisions_are_fitted_on_what_was_not_learnt_or_kept)
{
    struct fit fit;
    struct err err = {0};
    struct engine_model *model;
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_uint_lt(fit.fresh_count, 50);
    ck_assert_int_eq(fit_write(&fit, NULL, &err), ERR_OK);
    ck_assert_int_eq(engine_open(&model, out, &(struct engine_options){0}, &err), ERR_OK);
    float logits[3] = {0}, scores[3] = {0};
    struct engine_result result = {.scores = scores,
                                   .features = evaluation_features(&fit.evaluation, 0)};
    unsigned pale = label_of(model, "pale");
    logits[pale] = 1000;
    engine_conclude(model, logits, NULL, DOUBT_NONE, &result);
    ck_assert_int_ne(result.judgement.decision, DECISION_AUTO); /* no threshold of its own yet */
    ck_assert_str_eq(engine_describe(model)->version, "2");
    engine_close(model);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* A list of `count` texts of one label, in the place of the first one. */
static void relabel(const char *text, const char *label, unsigned count)
{
    char lines[LIST_BYTES] = "";
    size_t len = 0;
    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s %u\", \"label\": \"%s\"}\n", text,
                                i % 2 > 0 ? "grey" : "green", i, label);
    tempdir_write(&fixture.data, "labelled.jsonl", lines, len);
}

START_TEST(the_next_fit_needs_examples_of_the_new_label_alone)
{
    struct fit fit;
    struct err err = {0};
    open_fixture();
    struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_write(&fit, NULL, &err), ERR_OK);
    fit_close(&fit);
    relabel("red blue grey green", "odd", 10);
    how.model = out;
    how.out = again;
    run(&fit, &how);
    ck_assert_uint_eq(fit.labels.count, 4);
    ck_assert_str_eq(fit.labels.name[3], "odd");
    ck_assert_uint_eq(fit.rows.of_data, 10);
    ck_assert_uint_eq(fit.rows.count, 10 + fit.bank.count);
    ck_assert_uint_eq(fit.before.confusion.classes[2].support,
                      OF_NEW); /* which nobody gave again */
    ck_assert_double_eq(fit.before.confusion.classes[2].recall, 1);
    ck_assert_double_eq(fit.after.confusion.accuracy, 1);
    ck_assert_int_eq(fit_accept(&fit, &err), ERR_OK);
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(training_from_a_fitted_model_leaves_its_examples_behind)
{
    struct fit fit;
    struct err err = {0};
    struct engine_model *model;
    static const char accepts[] = "{\"truncation\": \"accept\"}";
    open_fixture();
    tempdir_write(&fixture.first, "attnd.json", accepts, sizeof accepts - 1); /* is passed on */
    struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_write(&fit, NULL, &err), ERR_OK);
    fit_close(&fit);
    fixture.options.model = out;
    fixture.options.ood_method = "none";
    fixture.options.out = again;
    train_fixture_learn(&fixture);
    ck_assert_msg(engine_open(&model, again, &(struct engine_options){0}, &err) == ERR_OK, "%s",
                  err.text);
    engine_close(model);
    close_fixture();
}
END_TEST

START_TEST(the_digest_covers_what_the_model_carries)
{
    struct fit fit;
    struct err err = {0};
    struct engine_model *model;
    char before[72], after[72], path[PATH_MAX];
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_write(&fit, NULL, &err), ERR_OK);
    ck_assert_int_eq(engine_open(&model, out, &(struct engine_options){0}, &err), ERR_OK);
    ck_assert_int_eq(engine_digest(model, NULL, before, &err), ERR_OK);
    fit.bank.count = 0;
    fit.rows.after[0] += 1;
    struct head_bank other;
    ck_assert_int_eq(fit_rows_bank(&fit.rows, &other, &fit.arena, &err), ERR_OK);
    ck_assert_int_eq(head_file_write(out, &(struct head_content){.bank = &other}, &err), ERR_OK);
    ck_assert_int_eq(engine_digest(model, NULL, after, &err), ERR_OK);
    ck_assert_str_ne(before, after);
    engine_close(model);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, out);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(engine_open(&model, out, &(struct engine_options){0}, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, HEAD_FILE_NAME));
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(a_label_that_loses_too_much_is_refused_by_name)
{
    struct fit fit;
    struct err err = {0};
    open_fixture();
    const struct fit_options how = options();
    run(&fit, &how);
    ck_assert_int_eq(fit_accept(&fit, &err), ERR_OK);
    fit.before.confusion.classes[1].f1 = 1;
    fit.after.confusion.classes[1].f1 = 0.981;
    fit.after.confusion.classes[2].f1 = 0; /* a new label has nothing to lose */
    ck_assert_int_eq(fit_accept(&fit, &err), ERR_OK);
    fit.after.confusion.classes[1].f1 = 0.979;
    ck_assert_int_eq(fit_accept(&fit, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "label 'hot' would fall from F1 1.0000 to 0.9790, by more than 2 "
                               "points; give more inputs of it, or raise --loss-max");
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(a_directory_that_is_there_is_left_alone)
{
    struct fit fit;
    struct err err = {0};
    open_fixture();
    struct fit_options how = options();
    how.out = fixture.second.path;
    ck_assert_int_eq(fit_open(&fit, &how, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "is there already"));
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(an_expected_label_is_given_more_easily)
{
    struct fit natural, equal;
    open_fixture();
    struct fit_options how = options();
    run(&natural, &how);
    how.prior = "equal";
    run(&equal, &how);
    double ratio = log((OF_OLD + 0.5) / (OF_NEW + 0.5)); /* of how much rarer pale is */
    size_t width = spec_features(&natural.old), row = width + 1;
    for (size_t k = 0; k < 3 * row; k++) {
        double shift = k % row < width ? 0 : k / row == 2 ? 2 * ratio / 3 : -ratio / 3;
        ck_assert_double_eq_tol((double)(equal.plain[k] - natural.plain[k]), shift, 2e-3);
    }
    for (size_t i = 0; i < natural.dataset.count; i++)
        ck_assert_double_eq_tol(
            (double)(equal.rows.after[i * 3 + 2] - natural.rows.after[i * 3 + 2]), 2 * ratio / 3,
            1e-5);
    fit_close(&equal);
    fit_close(&natural);
    close_fixture();
}
END_TEST

START_TEST(versions_count_on)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_str_eq(fit_next_version("1", &arena), "2");
    ck_assert_str_eq(fit_next_version("2026.9", &arena), "2026.10");
    ck_assert_str_eq(fit_next_version("line-a", &arena), "line-a.1");
    ck_assert_str_eq(fit_next_version("", &arena), ".1");
    arena_deinit(&arena);
}
END_TEST

SUITE("fit", a_new_label_is_learnt_and_one_of_three_inputs_is_not,
      fit_write_gives_a_model_with_the_answers_of_the_fit, the_report_tells_before_and_after,
      decisions_are_fitted_on_what_was_not_learnt_or_kept,
      a_label_that_loses_too_much_is_refused_by_name, a_directory_that_is_there_is_left_alone,
      an_expected_label_is_given_more_easily, versions_count_on,
      the_next_fit_needs_examples_of_the_new_label_alone,
      training_from_a_fitted_model_leaves_its_examples_behind,
      the_digest_covers_what_the_model_carries)
