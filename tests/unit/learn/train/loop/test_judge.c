/* judge.h: loss, accuracy and macro-F1 of a model as it is, against the same from its logits. */
#include "learn/train/loop/judge.h"
#include "learn/train/loop/run.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, COUNT = 12 };

static struct train_fixture f;
static struct run run;
static struct err err;
static size_t told[8];
static unsigned calls;

static void note(void *context, size_t done)
{
    ck_assert_ptr_eq(context, &told);
    told[calls++ % 8] = done;
}

static void open_run(float average)
{
    static const struct corpus_progress nobody;
    err = (struct err){0};
    f.options.batch = BATCH;
    f.options.average = average;
    ck_assert_msg(!run_open(&run, &f.options, &nobody, &err), "%s", err.text);
    /* numbers far enough from each other that the two labels have clear scores */
    const struct parameters *parameters = &run.learner.parameters;
    for (size_t i = 0; i < parameters->numbers; i++)
        parameters->values[i] *= 20;
    network_repack(run.learner.network, parameters->values);
}

/* Twelve texts, unlike those to learn. */
static void judge_by(const char *const labels[COUNT])
{
    static const char *const words[4] = {"red", "blue", "green", "grey"};
    static char list[128];
    char text[2048] = "text,label\n";
    for (unsigned i = 0; i < COUNT; i++)
        snprintf(text + strlen(text), 64, "%s %s %s,%s\n", words[i % 4], words[i / 4],
                 words[i * i % 3], labels[i]);
    tempdir_write(&f.data, "judge.csv", text, strlen(text));
    snprintf(list, sizeof list, "%s/judge.csv", f.data.path);
    f.options.validation = list;
}

static struct judge_result judge(void)
{
    struct judge judge = {.items = &run.corpus.validation,
                          .loss = &run.loss,
                          .view = run.plan.judging,
                          .seed = 3,
                          .progress = note,
                          .context = &told};
    struct judge_result result;
    calls = 0;
    ck_assert_msg(!judge_run(&judge, &run.learner, &run.loader, &result, &err), "%s", err.text);
    return result;
}

/* Logits of each input to judge by, one at a time. */
static void logits_of_all(float logits[COUNT][2])
{
    struct data_loader_order order = {.view = &run.plan.judging};
    struct thread_pool *pool = network_pool(run.learner.network);
    const struct samples *samples = run.loader.samples;
    run.loader.samples = run.corpus.parts[1].samples;
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert(!data_loader_prepare(&run.loader, pool, &run.corpus.validation.item[i], 1, &order,
                                       &err));
        learner_logits(&run.learner, &run.loader, logits[i]);
    }
    run.loader.samples = samples;
}

static void expect_progress(void)
{
    ck_assert_uint_eq(calls, 3);
    ck_assert(told[0] == 5 && told[1] == 10 && told[2] == COUNT);
}

/* The loss has smoothing and weights, but no part of a teacher. */
START_TEST(one_label_an_input_is_judged_by_winners)
{
    static const char *const labels[COUNT] = {"hot",  "cold", "cold", "hot", "cold", "cold",
                                              "cold", "hot",  "cold", "hot", "cold", "cold"};
    float logits[COUNT][2], unused[2];
    double loss = 0, f1 = 0;
    size_t hits = 0, both[2] = {0}, given[2] = {0}, real[2] = {0};
    train_fixture_texts(&f);
    judge_by(labels);
    f.options.label_smoothing = 0.1f;
    f.options.class_weight = 0.5f;
    open_run(0);
    run.loss.weights = (const float[]){3, run.loss.weights[1]};
    logits_of_all(logits);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned label = labels[i][0] == 'h', winner = logits[i][1] > logits[i][0];
        loss += loss_run(&run.loss, logits[i], (float[2]){!label, label}, NULL, 1, unused);
        hits += label == winner;
        real[label]++;
        given[winner]++;
        both[label] += label == winner;
    }
    for (unsigned k = 0; k < 2; k++)
        f1 += 2.0 * (double)both[k] / (double)(real[k] + given[k]) / 2;
    ck_assert(hits > 0 && hits < COUNT && given[0] > 0 && given[1] > 0);
    for (unsigned i = 0; i < 2; i++) {
        struct judge_result result = judge();
        ck_assert_double_eq_tol(result.loss, loss / COUNT, 1e-5);
        ck_assert_double_eq_tol(result.accuracy, (double)hits / COUNT, 1e-12);
        ck_assert_double_eq_tol(result.macro_f1, f1, 1e-12);
        run.loss.teacher_share = 1;
        run.loss.teacher_temperature = 2;
    }
    expect_progress();
    ck_assert_ptr_eq(run.loader.samples, run.corpus.parts[0].samples);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(judge_evaluates_each_label_of_multi_label_inputs)
{
    static const char *const labels[COUNT] = {"a", "a|b", "b", "a", "b",   "b",
                                              "a", "b",   "a", "b", "a|b", "a"};
    float logits[COUNT][2], unused[2];
    double loss = 0, f1 = 0;
    size_t hits = 0, both[2] = {0}, sum[2] = {0};
    train_fixture_texts(&f);
    judge_by(labels);
    f.options.data = f.options.validation;
    f.options.multi_label = true;
    open_run(0);
    run.learner.parameters.values[run.learner.parameters.map.classifier_bias] = 0.5f;
    network_repack(run.learner.network, run.learner.parameters.values);
    logits_of_all(logits);
    for (unsigned i = 0; i < COUNT; i++) {
        float target[2] = {strchr(labels[i], 'a') != NULL, strchr(labels[i], 'b') != NULL};
        loss += loss_run(&run.loss, logits[i], target, NULL, 1, unused);
        for (unsigned k = 0; k < 2; k++) {
            bool given = logits[i][k] > 0, real = target[k] > 0;
            hits += given == real;
            both[k] += given && real;
            sum[k] += (size_t)given + real;
        }
    }
    for (unsigned k = 0; k < 2; k++)
        f1 += (double)both[k] / (double)sum[k];
    ck_assert(hits > 0 && hits < 2 * COUNT && both[0] > 0 && both[1] > 0);
    struct judge_result result = judge();
    ck_assert_double_eq_tol(result.loss, loss / COUNT, 1e-5);
    ck_assert_double_eq_tol(result.accuracy, (double)hits / (2 * COUNT), 1e-12);
    ck_assert_double_eq_tol(result.macro_f1, f1, 1e-12);
    expect_progress();
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* A label that nobody has and that is never given has an F1 of 0. */
START_TEST(a_label_that_never_occurs_counts_as_nothing)
{
    static const char *const labels[COUNT] = {"a", "a", "a", "a", "a", "a",
                                              "a", "a", "a", "a", "a", "a"};
    static const char list[] = "text,label\nred,a\nblue,b\n";
    char data[128];
    train_fixture_texts(&f);
    judge_by(labels);
    tempdir_write(&f.data, "learn.csv", list, strlen(list));
    snprintf(data, sizeof data, "%s/learn.csv", f.data.path);
    f.options.data = data;
    f.options.multi_label = true;
    open_run(0);
    float *values = run.learner.parameters.values;
    const struct parameters_map *map = &run.learner.parameters.map;
    memset(values + map->classifier_weight, 0, 2 * 16 * sizeof *values);
    values[map->classifier_bias] = 1;
    values[map->classifier_bias + 1] = -1;
    network_repack(run.learner.network, values);
    struct judge_result result = judge();
    ck_assert_double_eq(result.accuracy, 1);
    ck_assert_double_eq(result.macro_f1, 0.5);
    ck_assert_double_eq_tol(result.loss, log1p(exp(-1)), 1e-6);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* The average is judged if there is one, and the run goes on with its own weights. */
START_TEST(the_average_is_what_is_judged)
{
    static const char *const labels[COUNT] = {"hot", "cold", "hot", "cold", "hot", "cold",
                                              "hot", "cold", "hot", "cold", "hot", "cold"};
    float before[COUNT][2], after[COUNT][2];
    train_fixture_texts(&f);
    judge_by(labels);
    open_run(0.5f);
    logits_of_all(before);
    const struct parameters_map *map = &run.learner.parameters.map;
    float *average = run.learner.optimizer.average;
    memset(average, 0, run.learner.parameters.numbers * sizeof *average);
    average[map->classifier_bias] = 2; /* "cold" for everything: half of it is right */
    struct judge_result result = judge();
    ck_assert_double_eq(result.accuracy, 0.5);
    ck_assert_double_eq_tol(result.loss, log1p(exp(-2)) + 1, 1e-6);
    logits_of_all(after);
    ck_assert_mem_eq(before, after, sizeof before);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* Weights of 0 find every word as likely as any: the loss is log of the vocabulary, and each word
 * is among the best. */
START_TEST(masked_words_are_judged_by_the_words_found)
{
    static const char *const labels[COUNT] = {"x", "x", "x", "x", "x", "x",
                                              "x", "x", "x", "x", "x", "x"};
    train_fixture_texts(&f);
    judge_by(labels);
    f.options.task = "mlm";
    open_run(0);
    float *values = run.learner.parameters.values;
    memset(values, 0, run.learner.parameters.numbers * sizeof *values);
    struct judge_result result = judge();
    ck_assert_double_eq_tol(result.loss, log(9), 1e-6);
    ck_assert_double_eq(result.accuracy, 1);
    ck_assert_double_eq(result.macro_f1, 0);
    expect_progress();
    values[run.learner.parameters.map.mlm_bias] = 5; /* [PAD], which is never masked */
    result = judge();
    ck_assert_double_eq(result.accuracy, 0);
    ck_assert_double_eq_tol(result.loss, log(8 + exp(5)), 1e-5);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

SUITE("judge", one_label_an_input_is_judged_by_winners,
      judge_evaluates_each_label_of_multi_label_inputs, a_label_that_never_occurs_counts_as_nothing,
      the_average_is_what_is_judged, masked_words_are_judged_by_the_words_found)
