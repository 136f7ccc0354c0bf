/* trainer.h with --task embed: whole runs of a tiny BERT, from labels and from pairs, to a directory
 * that the engine opens. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "learn/eval/measure/retrieval.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_fixture(struct train_fixture *f)
{
    train_fixture_texts(f);
    f->options.task = "embed";
    f->options.epochs = 12;
    f->options.average = 0;
}

/* Both texts of a pair have more reds, or more blues; which of them is told by nothing else. */
static void write_pairs(const struct train_fixture *f)
{
    static const char *const words[] = {"red", "blue"}, *const filling[] = {"green", "grey"};
    char text[TRAIN_FIXTURE_TEXTS * 96] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        len += (size_t)snprintf(
            text + len, sizeof text - len, "{\"text\":\"%s %s %u\",\"text_pair\":\"%s %s %u\"}\n",
            filling[i / 4 % 2], words[i % 2], i, words[i % 2], filling[i / 2 % 2], i);
    tempdir_write(&f->data, "list.jsonl", text, len);
}

/* nDCG@10 of the finished directory on a list. */
static double measure(const char *model_dir, const char *list)
{
    struct err err = {0};
    struct dataset dataset;
    struct retrieval retrieval;
    struct engine_model *model;
    const struct dataset_options options = {.kind = ENGINE_TEXT, .labels_optional = true};
    ck_assert_msg(!engine_open(&model, model_dir, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert(engine_describe(model)->task == ENGINE_EMBED);
    ck_assert(!dataset_open(&dataset, list, &options, &err));
    ck_assert_msg(!retrieval_take(&retrieval, model, &dataset, list, &err), "%s", err.text);
    ck_assert(!retrieval_run(&retrieval, &(struct evaluation_options){.threads = 1}, &err));
    const double ndcg = retrieval.vectors.ndcg;
    retrieval_close(&retrieval);
    dataset_close(&dataset);
    engine_close(model);
    return ndcg;
}

START_TEST(texts_of_a_label_come_to_lie_together)
{
    struct train_fixture f;
    open_fixture(&f);
    struct trainer_result result = train_fixture_run(&f);
    const struct history_epoch *epochs = result.history.epochs;
    ck_assert(result.task == TRAIN_EMBED && result.conclusion.judged);
    ck_assert_double_lt(epochs[11].train_loss, epochs[0].train_loss);
    ck_assert_double_ge(epochs[11].ndcg, 0.99);
    ck_assert_double_ge(measure(f.first.path, f.list), 0.99);
    ck_assert(train_fixture_has(&f.first, "modules.json"));
    ck_assert(train_fixture_has(&f.first, "1_Pooling/config.json"));
    ck_assert(train_fixture_has(&f.first, "report.json"));
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* The epoch's figure is of the weights that are written: serving finds the same. */
START_TEST(what_was_judged_is_what_is_served)
{
    struct train_fixture f;
    char split[256];
    open_fixture(&f);
    f.options.epochs = 2;
    f.options.validation_share = 0.5f;
    struct trainer_result result = train_fixture_run(&f);
    snprintf(split, sizeof split, "%s/split.jsonl", f.first.path);
    const double served = measure(f.first.path, split);
    ck_assert_double_eq_tol(result.history.epochs[1].ndcg, served, 1e-9);
    ck_assert_double_eq_tol(result.conclusion.ndcg, served, 1e-9);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(pairs_are_learnt_and_held_back_as_pairs)
{
    struct train_fixture f;
    struct err err = {0};
    char split[256], *bytes;
    size_t len, lines = 0;
    open_fixture(&f);
    write_pairs(&f);
    f.options.validation_share = 0.25f;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_uint_eq(f.plan.pairs * 4, TRAIN_FIXTURE_TEXTS * 3);
    ck_assert_double_lt(result.history.epochs[11].train_loss, result.history.epochs[0].train_loss);
    snprintf(split, sizeof split, "%s/split.jsonl", f.first.path);
    ck_assert(!file_read(&bytes, &len, split, 1 << 20, &err));
    for (const char *at = bytes; (at = strstr(at, "\"text_pair\"")) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, TRAIN_FIXTURE_TEXTS / 4);
    free(bytes);
    ck_assert_double_eq_tol(measure(f.first.path, split), result.conclusion.ndcg, 1e-9);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* Weights do not depend on micro-batches beyond rounding, and a stopped run ends as one that was
 * not. */
START_TEST(a_stopped_run_goes_on_to_the_same_weights)
{
    struct train_fixture f;
    open_fixture(&f);
    f.options.epochs = 3;
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

/* From a directory of sentence-transformers, whose modules stay. */
START_TEST(an_embedding_is_trained_further)
{
    struct train_fixture f;
    open_fixture(&f);
    f.options.epochs = 1;
    train_fixture_learn(&f);
    const double before = measure(f.first.path, f.list);
    f.options.model = f.first.path;
    f.options.out = f.second.path;
    f.options.epochs = 12;
    train_fixture_learn(&f);
    ck_assert(train_fixture_has(&f.second, "config_sentence_transformers.json"));
    ck_assert_double_ge(measure(f.second.path, f.list), before);
    train_fixture_close(&f);
}
END_TEST

/* Its modules.json would make the classifier an embedding. */
START_TEST(a_classifier_in_its_place_leaves_no_modules)
{
    struct train_fixture f;
    open_fixture(&f);
    f.options.epochs = 1;
    train_fixture_learn(&f);
    f.options.task = "classify";
    f.options.restart = true;
    train_fixture_learn(&f);
    ck_assert(!train_fixture_has(&f.first, "modules.json"));
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer_vectors", texts_of_a_label_come_to_lie_together, what_was_judged_is_what_is_served,
      pairs_are_learnt_and_held_back_as_pairs, a_stopped_run_goes_on_to_the_same_weights,
      an_embedding_is_trained_further, a_classifier_in_its_place_leaves_no_modules)
