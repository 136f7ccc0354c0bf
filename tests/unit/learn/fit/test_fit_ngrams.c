/* fit_ngrams.c, on a BERT that has learnt two words, with a table of n-grams beside it: a new label
 * gets a column of its own, the others keep theirs, and what is written answers so. */
#include "learn/fit/fit_heads.h"

#include "engine/base/openblas.h"
#include "engine/model/head_parts.h"
#include "learn/eval/fit/example_bank.h"
#include "learn/fit/fit_write.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_OLD = 20, OF_NEW = 8, LIST_BYTES = 8192 };

static struct train_fixture fixture;
static char list[128], out[128], again[128];
static struct err err;

static void write_list(const char *text, const char *label, unsigned count, bool is_more)
{
    static char lines[LIST_BYTES];
    static size_t len;
    len = is_more ? len : 0;
    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s %u\", \"label\": \"%s\"}\n", text,
                                i % 2 > 0 ? "grey" : "green", i, label);
    tempdir_write(&fixture.data, "labelled.jsonl", lines, len);
}

static void open_fixture(void)
{
    err = (struct err){0};
    train_fixture_texts(&fixture);
    fixture.options.ngrams = 200;
    fixture.options.ngram_weight = 2;
    train_fixture_learn(&fixture);
    write_list("red grey red green", "hot", OF_OLD, false);
    write_list("blue green blue grey", "cold", OF_OLD, true);
    write_list("grey green grey green", "pale", OF_NEW, true);
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

static void run_on(unsigned threads, struct fit *fit, const char *model, const char *to)
{
    const struct fit_progress silent = {NULL, NULL};
    const struct fit_options how = {.model = model,
                                    .data = list,
                                    .out = to,
                                    .threads = threads,
                                    .loss_max = 2,
                                    .prior = "natural",
                                    .target_precision = 0.95};
    openblas_set_environment();
    ck_assert_msg(!fit_open(fit, &how, &err), "%s", err.text);
    ck_assert_msg(!fit_features(fit, &silent, &err), "%s", err.text);
    ck_assert_msg(!fit_head(fit, &silent, &err), "%s", err.text);
}

/* Number `at` of the table's weights, however they are held. */
static float weight_at(const struct ngram_table *table, size_t at)
{
    float weight;
    ngram_table_read(table, at, 1, &weight);
    return weight;
}

static void run(struct fit *fit, const char *model, const char *to)
{
    run_on(2, fit, model, to);
}

START_TEST(a_new_label_gets_a_column_and_the_others_keep_theirs)
{
    struct fit fit;
    float evidence[3];
    const char *text = "grey green grey green grey 3";
    open_fixture();
    run(&fit, fixture.first.path, out);
    const struct ngram_table *old = &fit.table, *new = &fit.new_table;
    ck_assert_uint_eq(old->labels, 2);
    ck_assert_uint_eq(new->labels, 3);
    ck_assert_double_eq(old->scale, 2);
    const double by = new->scale / old->scale;
    for (size_t r = 0; r < old->reading.rows; r++)
        for (unsigned c = 0; c < 2; c++) {
            const double was = (double)weight_at(old, r * 2 + c);
            ck_assert_double_eq_tol((double)new->weight[r * 3 + c], by * was,
                                    1e-6 * fabs(was) + 1e-12);
        }
    ck_assert(!ngram_table_evidence(new, text, strlen(text), &fit.arena, evidence, &err));
    ck_assert(evidence[2] > evidence[0] && evidence[2] > evidence[1]);
    ck_assert_double_eq(fit.after.confusion.accuracy, 1);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* The logits are those of head and table. fit.rows.after leaves a row's own part out of both, and
 * is less sure of the new label. */
START_TEST(fit_write_gives_a_model_with_the_new_column_of_the_table)
{
    struct fit fit;
    struct engine_model *model;
    struct evaluation evaluation;
    const struct evaluation_options how = {.threads = 1, .features = true};
    double surer = 0;
    open_fixture();
    run(&fit, fixture.first.path, out);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    ck_assert_msg(!engine_open(&model, out, &(struct engine_options){0}, &err), "%s", err.text);
    ck_assert_uint_eq(engine_describe(model)->ngram_rows, fit.new_table.reading.rows);
    ck_assert(!evaluation_run(&evaluation, model, &fit.dataset, &how, &err));
    const float *head = fit.full != NULL ? fit.full : fit.plain;
    const size_t width = fit.full != NULL ? fit.rows.width : spec_features(&fit.old);
    for (size_t i = 0; i < fit.dataset.count; i++) {
        const float *features = evaluation_features(&fit.evaluation, i);
        float evidence[3];
        ngram_table_add_up(&fit.new_table, &fit.rows.ngrams[i], evidence);
        for (unsigned c = 0; c < 3; c++) {
            const float *row = head + c * (width + 1);
            double logit = (double)row[width] + (double)evidence[c];
            for (size_t j = 0; j < width; j++)
                logit += (double)row[j] * (double)features[j];
            ck_assert_double_eq_tol((double)evaluation_logits(&evaluation, i)[c], logit,
                                    2e-3 * (1 + fabs(logit))); /* the table is in 16 bits */
        }
        if (fit.rows.classes[i] == 2)
            surer +=
                (double)evaluation_logits(&evaluation, i)[2] - (double)fit.rows.after[i * 3 + 2];
    }
    ck_assert_double_gt(surer / OF_NEW, 0.01);
    evaluation_close(&evaluation);
    engine_close(model);
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(the_next_label_is_learnt_beside_the_ngrams_of_examples)
{
    struct fit fit;
    open_fixture();
    run(&fit, fixture.first.path, out);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    fit_close(&fit);
    write_list("red blue grey green", "odd", 10, false);
    run(&fit, out, again);
    ck_assert_uint_eq(fit.rows.of_data, 10);
    ck_assert_ptr_nonnull(fit.bank.ngrams);
    for (size_t i = 0; i < fit.rows.count; i++)
        ck_assert_uint_gt(fit.rows.ngrams[i].count, 5);
    ck_assert_uint_eq(fit.new_table.labels, 4);
    ck_assert_double_eq(fit.after.confusion.accuracy, 1);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(without_a_new_label_the_table_stays_but_for_its_weight)
{
    struct fit fit;
    open_fixture();
    write_list("red grey red green", "hot", OF_OLD, false);
    write_list("blue green blue grey", "cold", OF_OLD, true);
    run(&fit, fixture.first.path, out);
    const float by = (float)(fit.new_table.scale / fit.table.scale);
    ck_assert_uint_eq(fit.new_table.labels, 2);
    for (size_t i = 0; i < 2 * (size_t)fit.table.reading.rows; i++)
        ck_assert_float_eq(fit.new_table.weight[i], by * weight_at(&fit.table, i));
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* The fit depends neither on the threads that make its parts nor on the order in which they end. */
START_TEST(threads_do_not_change_a_fit)
{
    static const unsigned threads[] = {2, 5, 40};
    struct fit one, many;
    open_fixture();
    run_on(1, &one, fixture.first.path, out);
    const size_t weights = one.new_table.reading.rows * (size_t)one.labels.count;
    const size_t answers = one.rows.count * one.labels.count;
    const size_t plain = one.labels.count * (spec_features(&one.old) + 1);
    ck_assert_uint_eq(one.new_table.labels, 3);
    for (unsigned i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        run_on(threads[i], &many, fixture.first.path, out);
        ck_assert_double_eq(one.new_table.scale, many.new_table.scale);
        ck_assert_mem_eq(one.new_table.weight, many.new_table.weight, weights * sizeof(float));
        ck_assert_mem_eq(one.new_table.bias, many.new_table.bias, 3 * sizeof(float));
        ck_assert_mem_eq(one.rows.after, many.rows.after, answers * sizeof(float));
        ck_assert_mem_eq(one.plain, many.plain, plain * sizeof(float));
        fit_close(&many);
    }
    fit_close(&one);
    close_fixture();
}
END_TEST

START_TEST(examples_without_ngrams_are_refused)
{
    struct fit fit;
    struct head_content content;
    open_fixture();
    run(&fit, fixture.first.path, out);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    struct head_bank bank;
    ck_assert(!fit_rows_bank(&fit.rows, &bank, &fit.arena, &err));
    bank.ngrams = NULL;
    content = (struct head_content){.bank = &bank, .ngrams = &fit.new_table};
    ck_assert(!head_file_write(out, &content, &err));
    fit_close(&fit);
    const struct fit_options how = {.model = out, .data = list, .out = again, .threads = 1};
    ck_assert_int_eq(fit_open(&fit, &how, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "its examples have none: choose them anew"));
    fit_close(&fit);
    close_fixture();
}
END_TEST

SUITE("fit_ngrams", a_new_label_gets_a_column_and_the_others_keep_theirs,
      fit_write_gives_a_model_with_the_new_column_of_the_table,
      the_next_label_is_learnt_beside_the_ngrams_of_examples,
      without_a_new_label_the_table_stays_but_for_its_weight, threads_do_not_change_a_fit,
      examples_without_ngrams_are_refused)
