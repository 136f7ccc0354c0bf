/* trainer.h with --task pair: a tiny BERT learns whether two texts name the same colour, and is
 * measured by accuracy and by the order in which it puts texts. */
#include "engine/engine.h"
#include "learn/eval/measure/rerank.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static void write_pairs(const struct train_fixture *f, const char *extra)
{
    static const char *const words[] = {"red", "blue"}, *const filling[] = {"green", "grey"};
    char text[TRAIN_FIXTURE_TEXTS * 96] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"%s\",\"text_pair\":\"%s %s\",\"value\":%s}\n",
                                words[i % 2], filling[i / 4 % 2], words[i / 2 % 2],
                                i % 2 == i / 2 % 2 ? "0.95" : "0");
    snprintf(text + len, sizeof text - len, "%s", extra);
    tempdir_write(&f->data, "list.jsonl", text, strlen(text));
}

START_TEST(pairs_that_fit_come_first)
{
    struct train_fixture f;
    struct err err = {0};
    struct dataset dataset;
    struct rerank rerank;
    struct engine_model *model;
    train_fixture_texts(&f);
    write_pairs(&f, "");
    f.options.task = "pair";
    f.options.epochs = 40;
    f.options.dropout = f.options.attention_dropout = f.options.average = 0;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.task == TRAIN_PAIR && result.conclusion.judged);
    ck_assert_double_lt(result.history.epochs[39].train_loss, result.history.epochs[0].train_loss);
    trainer_result_free(&result);
    ck_assert(train_fixture_has(&f.first, "report.json"));
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert(rerank_is_for(model));
    const struct dataset_options options = {.kind = ENGINE_TEXT, .label_other = "value"};
    ck_assert(!dataset_open(&dataset, f.list, &options, &err));
    ck_assert_msg(!rerank_take(&rerank, model, &dataset, f.list, &err), "%s", err.text);
    ck_assert(!rerank_run(&rerank, &(struct evaluation_options){.threads = 1}, &err));
    ck_assert_uint_eq(rerank.scores.queries, 2);
    ck_assert_double_ge(rerank.accuracy, 0.95);
    ck_assert_double_ge(rerank.scores.ndcg, 0.99);
    rerank_close(&rerank);
    dataset_close(&dataset);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

static void expect_refused(const char *extra, const char *text)
{
    struct train_fixture f;
    struct trainer_result result;
    struct err err = {0};
    train_fixture_texts(&f);
    write_pairs(&f, extra);
    f.options.task = "pair";
    trainer_run(&f.options, &(struct trainer_hooks){0}, &result, &err);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    train_fixture_close(&f);
}

START_TEST(what_is_no_pair_with_a_number_is_named)
{
    expect_refused("{\"text\":\"red\",\"value\":1}\n",
                   "line 121: it has no text_pair, and --task pair learns pairs");
    expect_refused("{\"text\":\"red\",\"text_pair\":\"red\",\"value\":1.5}\n",
                   "line 121: the number 1.5 is not from 0 to 1");
    expect_refused("{\"text\":\"red\",\"text_pair\":\"red\",\"label\":\"yes\"}\n",
                   "line 121: the label 'yes' is no number");
}
END_TEST

SUITE("trainer_scores", pairs_that_fit_come_first, what_is_no_pair_with_a_number_is_named)
