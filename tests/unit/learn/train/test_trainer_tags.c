/* trainer.h with --task tag: whole runs of a tiny BERT to a directory that the engine opens. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "learn/eval/measure/span_assessment.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "red" or "green" and the word behind it are a pair, "blue" alone is a thing. */
static void write_spans(const struct train_fixture *f, unsigned pairs_each)
{
    static const char *const colours[] = {"red", "green"}, *const others[] = {"blue", "grey"};
    static char text[TRAIN_FIXTURE_TEXTS * 2048];
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++) {
        char words[512] = "", spans[1024] = "";
        size_t at = 0, used = 0;
        for (unsigned k = 0; k < pairs_each; k++) {
            const unsigned draw = i / 2 + 3 * k;
            const char *colour = colours[draw % 2], *other = others[draw / 2 % 2];
            const bool pairs = (i + k) % 3 != 0;
            if (pairs || strcmp(other, "blue") == 0)
                used += (size_t)snprintf(spans + used, sizeof spans - used,
                                         "%s{\"label\":\"%s\",\"start\":%zu,\"end\":%zu}",
                                         used > 0 ? "," : "", pairs ? "pair" : "thing", at,
                                         at + (pairs ? strlen(colour) + 1 : 0) + strlen(other));
            at += (size_t)snprintf(words + at, sizeof words - at, "%s%s%s ", pairs ? colour : "",
                                   pairs ? " " : "", other);
        }
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"%s%u\",\"spans\":[%s]}\n", words, i, spans);
    }
    tempdir_write(&f->data, "list.jsonl", text, len);
}

static void open_fixture(struct train_fixture *f)
{
    train_fixture_texts(f);
    f->options.task = "tag";
    f->options.epochs = 10;
    f->options.average = 0;
    write_spans(f, 2);
}

/* The micro-F1 of the finished directory on a list. */
static double measure(const char *model_dir, const char *list)
{
    struct err err = {0};
    struct dataset dataset;
    struct span_assessment spans;
    struct engine_model *model;
    const struct dataset_options options = {.kind = ENGINE_TEXT, .reads_spans = true};
    ck_assert_msg(!engine_open(&model, model_dir, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert(engine_describe(model)->task == ENGINE_TAG);
    ck_assert_msg(!dataset_open(&dataset, list, &options, &err), "%s", err.text);
    ck_assert_msg(!span_assessment_take(&spans, model, &dataset, list, &err), "%s", err.text);
    ck_assert(!span_assessment_run(&spans, &(struct evaluation_options){.threads = 1}, &err));
    const double f1 = spans.counts.micro.rates.f1;
    span_assessment_close(&spans);
    dataset_close(&dataset);
    engine_close(model);
    return f1;
}

/* Both tags of a label have its threshold; a label of few spans may have none. */
static void expect_thresholds(const char *dir)
{
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, dir, &arena, &err), "%s", err.text);
    const float *thresholds = spec.policy.thresholds;
    ck_assert_ptr_nonnull(thresholds);
    ck_assert_str_eq(spec.labels[0], "O");
    ck_assert(isnan(thresholds[0]) && spec.policy.target_precision == 0.8);
    for (unsigned t = 1; t < spec.label_count; t += 2)
        ck_assert(isnan(thresholds[t]) == isnan(thresholds[t + 1]) &&
                  (isnan(thresholds[t]) || thresholds[t] == thresholds[t + 1]));
    ck_assert(thresholds[1] > 0 || thresholds[3] > 0);
    ck_assert(spec.long_text.in_windows && spec.long_text.stride == 0);
    arena_deinit(&arena);
}

START_TEST(spans_are_learnt_and_served)
{
    struct train_fixture f;
    open_fixture(&f);
    f.options.target_precision = 0.8;
    struct trainer_result result = train_fixture_run(&f);
    const struct history_epoch *epochs = result.history.epochs;
    ck_assert(result.task == TRAIN_TAG && result.conclusion.judged);
    ck_assert_uint_eq(f.plan.labels, 2);
    ck_assert_double_lt(epochs[9].train_loss, epochs[0].train_loss);
    ck_assert_double_ge(result.conclusion.span_f1, 0.99);
    ck_assert_double_gt(result.conclusion.automatic, 0.5);
    ck_assert_double_ge(measure(f.first.path, f.list), 0.99);
    ck_assert(train_fixture_has(&f.first, "report.json"));
    ck_assert(train_fixture_has(&f.first, "report.html"));
    expect_thresholds(f.first.path);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* The epoch's figure is that of the weights that are written, if each text has one window. */
START_TEST(what_was_judged_is_what_is_served)
{
    struct train_fixture f;
    char split[256];
    open_fixture(&f);
    f.options.epochs = 1;
    f.options.rate = 8e-3f;
    f.options.validation_share = 0.5f;
    struct trainer_result result = train_fixture_run(&f);
    snprintf(split, sizeof split, "%s/split.jsonl", f.first.path);
    const double served = measure(f.first.path, split);
    ck_assert(served > 0 && served < 1);
    ck_assert_double_eq_tol(result.history.epochs[0].span_f1, served, 1e-9);
    ck_assert_double_eq_tol(result.conclusion.span_f1, served, 1e-9);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* All texts are learnt whole, with more pairs of tokens than a window of them has. */
static void expect_transitions(const struct spec *spec)
{
    double pairs = 0, inside = 0;
    ck_assert_ptr_nonnull(spec->pairs.counts);
    for (unsigned i = 0; i < TAG_GAPS * spec->label_count * spec->label_count; i++) {
        const unsigned before = i / spec->label_count % spec->label_count;
        const unsigned behind = i % spec->label_count;
        pairs += spec->pairs.counts[i];
        if (spec->insides[behind] == behind && spec->insides[before] != behind)
            inside += spec->pairs.counts[i];
    }
    ck_assert_double_gt(pairs, 17);
    ck_assert_double_eq(inside, 0);
}

/* The model reads 16 tokens; of 18 pairs it reads the first ones only if it is told so. */
START_TEST(long_texts_are_learnt_and_served_in_windows_unless_they_are_cut)
{
    struct train_fixture f;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture(&f);
    write_spans(&f, 18);
    struct trainer_result result = train_fixture_run(&f);
    const double whole = measure(f.first.path, f.list);
    ck_assert_double_ge(whole, 0.95);
    arena_init(&arena);
    ck_assert(!spec_read(&spec, f.first.path, &arena, &err));
    ck_assert(spec.long_text.in_windows && spec.aggregation == AGGREGATION_PATH);
    expect_transitions(&spec);
    arena_deinit(&arena);
    ck_assert_double_ge(result.history.epochs[9].span_f1, 0.9);
    trainer_result_free(&result);
    f.options.out = f.second.path;
    f.options.long_text = "truncate";
    train_fixture_learn(&f);
    arena_init(&arena);
    ck_assert(!spec_read(&spec, f.second.path, &arena, &err));
    ck_assert(!spec.long_text.in_windows);
    ck_assert_int_eq(spec.aggregation, AGGREGATION_PATH);
    ck_assert_double_lt(measure(f.second.path, f.list), 0.7);
    arena_deinit(&arena);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_stopped_run_goes_on_to_the_same_weights)
{
    struct train_fixture f;
    open_fixture(&f);
    write_spans(&f, 12);
    f.options.epochs = 3;
    f.options.average = 0.9f;
    f.options.word_dropout = 0.1f;
    train_fixture_learn(&f);
    f.options.out = f.second.path;
    f.stop_after = f.learning_calls + 1;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.interrupted);
    trainer_result_free(&result);
    atomic_store(&f.stop, false);
    train_fixture_learn(&f);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* The head is kept: one epoch at a rate of next to nothing changes nothing that is told. */
START_TEST(a_model_of_tags_is_trained_further)
{
    struct train_fixture f;
    open_fixture(&f);
    train_fixture_learn(&f);
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.epochs = 1;
    f.options.rate = 1e-8f;
    train_fixture_learn(&f);
    ck_assert_uint_eq(f.plan.tensors_missing, 0);
    ck_assert_double_ge(measure(f.second.path, f.list), 0.99);
    train_fixture_close(&f);
}
END_TEST

static void expect_refusal(struct train_fixture *f, const char *list, const char *text)
{
    struct trainer_result result;
    struct err err = {0};
    tempdir_write(&f->data, "list.jsonl", list, strlen(list));
    ck_assert(trainer_run(&f->options, &(struct trainer_hooks){0}, &result, &err) != ERR_OK);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    trainer_result_free(&result);
}

START_TEST(data_that_teach_nothing_are_refused)
{
    struct train_fixture f;
    char other[160];
    open_fixture(&f);
    expect_refusal(&f, "{\"text\":\"red\",\"spans\":[]}\n{\"text\":\"blue\",\"spans\":[]}\n",
                   "list.jsonl: no text has a span: nothing to learn");
    expect_refusal(&f, "{\"text\":\"red\",\"label\":\"hot\"}\n",
                   "list.jsonl: line 1: member 'spans' is missing");
    snprintf(other, sizeof other, "%s/other.jsonl", f.data.path);
    f.options.validation = other;
    const char *unknown =
        "{\"text\":\"red\",\"spans\":[{\"label\":\"y\",\"start\":0,\"end\":3}]}\n";
    tempdir_write(&f.data, "other.jsonl", unknown, strlen(unknown));
    expect_refusal(&f, "{\"text\":\"red\",\"spans\":[{\"label\":\"x\",\"start\":0,\"end\":3}]}\n",
                   "other.jsonl: line 1: spans[0]: the label 'y' is not known (known are: x)");
    train_fixture_close(&f);
}
END_TEST

/* A span with a space at its end is told of: no token ends there. */
START_TEST(spans_that_no_token_fits_are_told_of)
{
    struct train_fixture f;
    open_fixture(&f);
    const char *list =
        "{\"text\":\"red blue\",\"spans\":[{\"label\":\"x\",\"start\":0,\"end\":4}]}\n"
        "{\"text\":\"blue red\",\"spans\":[{\"label\":\"x\",\"start\":5,\"end\":8}]}\n";
    tempdir_write(&f.data, "list.jsonl", list, strlen(list));
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_msg(strstr(f.remarks, "note: 1 spans of --data do not begin and end where the "
                                    "model's tokens do (the first: line 1)") != NULL,
                  "%s", f.remarks);
    train_fixture_close(&f);
}
END_TEST

START_TEST(an_image_model_has_no_tags)
{
    struct train_fixture f;
    struct trainer_result result;
    struct err err = {0};
    train_fixture_images(&f, "right");
    f.options.task = "tag";
    ck_assert_int_eq(trainer_run(&f.options, &(struct trainer_hooks){0}, &result, &err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "--task tag learns texts; this is 'vit'"));
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer_tags", spans_are_learnt_and_served, what_was_judged_is_what_is_served,
      long_texts_are_learnt_and_served_in_windows_unless_they_are_cut,
      a_stopped_run_goes_on_to_the_same_weights, a_model_of_tags_is_trained_further,
      data_that_teach_nothing_are_refused, spans_that_no_token_fits_are_told_of,
      an_image_model_has_no_tags)
