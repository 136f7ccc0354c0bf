/* trainer.h with --task seq2seq: whole runs of committed checkpoints to a directory that writes the
 * texts that it has learnt. */
#include "engine/base/file.h"
#include "learn/train/loop/judge.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"
#include "tests/support/writing_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, ROWS = 8 };

struct fixture {
    struct train_fixture f;
    struct tempdir pair; /* the model */
};

/* Six words a line at most, in the other order; or pictures with a word each. */
static void write_list(const struct train_fixture *f, bool is_image)
{
    static const char *const words[] = {"scan", "fail", "pin", "bin", "leak", "volt", "reset"};
    static const char *const images[] = {"0_center", "1_scratch", "2_edge-ring", "3_donut",
                                         "4_loc",    "5_random",  "6_texture"};
    char here[PATH_BYTES / 2], text[8192];
    size_t len = 0;
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    for (unsigned i = 0; i < (is_image ? 7 : ROWS); i++) {
        const char *a = words[i % 7], *b = words[(i * 3 + 2) % 7];
        if (is_image)
            len += (size_t)snprintf(text + len, sizeof text - len,
                                    "{\"image\":\"%s/tests/data/golden/images/%s.png\","
                                    "\"target\":\"%s\"}\n",
                                    here, images[i], words[i]);
        else
            len +=
                (size_t)snprintf(text + len, sizeof text - len,
                                 "{\"text\":\"%s %s %u\",\"target\":\"%s %s\"}\n", a, b, i, b, a);
    }
    tempdir_write(&f->data, "list.jsonl", text, len);
}

static void open_fixture(struct fixture *x, const char *name, bool with_weights)
{
    struct train_fixture *f = &x->f;
    char weights[PATH_BYTES];
    train_fixture_texts(f);
    writing_model_open(&x->pair, name);
    snprintf(weights, sizeof weights, "%s/model.safetensors", x->pair.path);
    ck_assert(with_weights || unlink(weights) == 0);
    write_list(f, strncmp(name, "trocr", 5) == 0);
    f->options.model = x->pair.path;
    f->options.task = "seq2seq";
    f->options.validation = f->list;
    f->options.keep = "best";
    f->options.dropout = f->options.attention_dropout = f->options.average = 0;
}

static void close_fixture(struct fixture *x)
{
    train_fixture_close(&x->f);
    tempdir_close(&x->pair);
}

START_TEST(texts_are_learnt_and_written)
{
    struct fixture x;
    open_fixture(&x, "t5-0", true);
    x.f.options.epochs = 60;
    x.f.options.rate = 1e-2f;
    struct trainer_result result = train_fixture_run(&x.f);
    const struct history_epoch *epochs = result.history.epochs,
                               *best = &epochs[result.best_epoch - 1];
    ck_assert(result.task == TRAIN_WRITE && result.conclusion.judged);
    ck_assert_double_lt(epochs[59].train_loss, epochs[0].train_loss / 10);
    ck_assert_double_ge(result.conclusion.exact, 0.75);
    /* the best epoch's texts are those of the directory, though it holds other digits */
    ck_assert_double_eq_tol(best->exact, result.conclusion.exact, 1.0 / ROWS);
    for (unsigned i = 0; i < result.history.count; i++)
        ck_assert_double_le(epochs[i].exact, best->exact);
    ck_assert(train_fixture_has(&x.f.first, "report.json"));
    ck_assert(train_fixture_has(&x.f.first, "generation_config.json"));
    ck_assert(train_fixture_has(&x.f.first, "tokenizer.json"));
    ck_assert(!train_fixture_has(&x.f.first, "judged"));
    trainer_result_free(&result);
    close_fixture(&x);
}
END_TEST

/* Marian's two tokenizers, and its start, which is its pad. */
START_TEST(a_stopped_run_goes_on_to_the_same_weights)
{
    struct fixture x;
    open_fixture(&x, "marian-0", true);
    struct train_fixture *f = &x.f;
    f->options.epochs = 4;
    f->options.batch = 3;
    f->options.dropout = 0.1f;
    f->options.average = 0.9f;
    train_fixture_learn(f);
    f->options.out = f->second.path;
    f->learning_calls = 0;
    f->stop_after = 2; /* in the second epoch at the latest */
    struct trainer_result result = train_fixture_run(f);
    ck_assert(result.interrupted);
    trainer_result_free(&result);
    f->stop_after = 0;
    atomic_store(&f->stop, false);
    train_fixture_learn(f);
    ck_assert(f->plan.resumed);
    train_fixture_expect_same(&f->first, &f->second);
    close_fixture(&x);
}
END_TEST

START_TEST(pictures_are_read_by_a_model_that_begins_with_its_configuration)
{
    struct fixture x;
    open_fixture(&x, "trocr-0", false);
    x.f.options.epochs = 80;
    struct trainer_result result = train_fixture_run(&x.f);
    const struct history_epoch *epochs = result.history.epochs;
    ck_assert_uint_eq(x.f.plan.tensors_missing, 0);
    ck_assert_double_lt(epochs[79].validation_loss, epochs[0].validation_loss / 4);
    ck_assert_double_gt(result.conclusion.exact, 0.5);
    ck_assert(train_fixture_has(&x.f.first, "preprocessor_config.json"));
    ck_assert(train_fixture_has(&x.f.first, "tokenizer.json"));
    trainer_result_free(&result);
    close_fixture(&x);
}
END_TEST

/* Lengths differ on both sides, so that the bound cuts by the targets, too. */
START_TEST(micro_batches_learn_as_the_whole_batch_does)
{
    struct fixture x;
    double losses[2];
    for (int i = 0; i < 2; i++) {
        open_fixture(&x, "t5-0", true);
        x.f.options.epochs = 3;
        x.f.options.label_smoothing = 0.1f;
        x.f.options.micro_tokens = i == 0 ? 64 : 4096;
        struct trainer_result result = train_fixture_run(&x.f);
        losses[i] = result.history.epochs[2].train_loss;
        trainer_result_free(&result);
        close_fixture(&x);
    }
    ck_assert_double_eq_tol(losses[0], losses[1], 1e-4);
}
END_TEST

/* The engine takes no PDF for a text: it is learnt, and counts as written otherwise. */
START_TEST(a_text_that_serving_refuses_does_not_end_the_run)
{
    static const char list[] = "{\"text\":\"%PDF-1.4 x\",\"target\":\"a\"}\n"
                               "{\"text\":\"b\",\"target\":\"b\"}\n";
    struct fixture x;
    open_fixture(&x, "t5-0", true);
    tempdir_write(&x.f.data, "list.jsonl", list, sizeof list - 1);
    x.f.options.epochs = 1;
    struct trainer_result result = train_fixture_run(&x.f);
    ck_assert_uint_eq(x.f.plan.train, 2);
    ck_assert_double_le(result.conclusion.exact, 0.5);
    trainer_result_free(&result);
    close_fixture(&x);
}
END_TEST

/* A cut target would teach to end too early. */
START_TEST(a_target_beyond_the_decoder_is_counted_and_named)
{
    struct fixture x;
    char list[4096], word[600];
    open_fixture(&x, "marian-0", true);
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    int len = snprintf(list, sizeof list,
                       "{\"text\":\"a\",\"target\":\"b\"}\n{\"text\":\"a\",\"target\":\"%s\"}\n"
                       "{\"text\":\"%s\",\"target\":\"\"}\n",
                       word, word);
    tempdir_write(&x.f.data, "list.jsonl", list, (size_t)len);
    x.f.options.epochs = 1;
    x.f.options.usable_min = 0; /* one of three is lost */
    train_fixture_learn(&x.f);
    ck_assert_uint_eq(x.f.plan.train, 2);
    ck_assert_uint_eq(x.f.plan.unusable, 1);
    ck_assert_msg(strstr(x.f.unusable, "line 2: the target has more than ") != NULL, "%s",
                  x.f.unusable);
    close_fixture(&x);
}
END_TEST

static void expect_refused(struct train_fixture *f, const char *why)
{
    struct trainer_result result;
    struct err err = {0};
    ck_assert_int_ne(trainer_run(&f->options, &(struct trainer_hooks){0}, &result, &err), ERR_OK);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    trainer_result_free(&result);
}

START_TEST(models_and_languages_that_do_not_fit_are_refused)
{
    struct fixture x;
    open_fixture(&x, "t5-0", true);
    x.f.options.target_language = "de_DE";
    expect_refused(&x.f, "--target-language: the model has no languages");
    x.f.options.target_language = NULL;
    x.f.options.task = "classify";
    expect_refused(&x.f, "writes texts: --task seq2seq trains it");
    x.f.options.task = "seq2seq";
    x.f.options.model = x.f.model.path; /* a BERT */
    expect_refused(&x.f, "--task seq2seq learns an encoder with a decoder");
    close_fixture(&x);
    open_fixture(&x, "mbart-0", true);
    x.f.options.source_language = "xx";
    expect_refused(&x.f, "--source-language: the model does not have this one; GET /models");
    x.f.options.source_language = "DE";
    expect_refused(&x.f, "--source-language: the model does not have this one; did you mean "
                         "\"de_DE\"? GET /models and attnd-inspect list its 52");
    close_fixture(&x);
}
END_TEST

SUITE("trainer_texts", a_text_that_serving_refuses_does_not_end_the_run,
      texts_are_learnt_and_written, a_stopped_run_goes_on_to_the_same_weights,
      pictures_are_read_by_a_model_that_begins_with_its_configuration,
      micro_batches_learn_as_the_whole_batch_does, a_target_beyond_the_decoder_is_counted_and_named,
      models_and_languages_that_do_not_fit_are_refused)
