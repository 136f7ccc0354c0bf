/* Refusals of checkpoints that are no classifiers, or that nobody can read. They name the
 * checkpoint and say what to do with it. */
#include "engine/engine.h"
#include "learn/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static struct train_fixture f;

/* An encoder with a head for masked words, as an earlier training left it. */
static void open_masked(void)
{
    train_fixture_texts(&f);
    f.options.task = "mlm";
    f.options.epochs = 1;
    train_fixture_learn(&f);
}

/* The refusal has the same words before anything is loaded: in measuring memory, and in
 * --check-config. */
static void expect_refused(const char *dir, const char *why)
{
    const struct engine_options options = {0};
    struct engine_model *model;
    struct engine_cost cost;
    struct err err = {0}, checked = {0}, measured = {0};
    ck_assert_int_eq(engine_open(&model, dir, &options, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_int_eq(engine_check(dir, &options, &checked), err.code);
    ck_assert_str_eq(checked.text, err.text);
    ck_assert_int_eq(engine_measure(&cost, dir, &options, 1, 1, &measured), err.code);
    ck_assert_str_eq(measured.text, err.text);
}

static void say_architecture(const char *name)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"model_type\":\"bert\",%s%s%s\"hidden_size\":16,\"num_hidden_layers\":2,"
             "\"num_attention_heads\":2,\"intermediate_size\":32,\"vocab_size\":9,"
             "\"max_position_embeddings\":16,\"type_vocab_size\":2}",
             name != NULL ? "\"architectures\":[\"" : "", name != NULL ? name : "",
             name != NULL ? "\"]," : "");
    tempdir_write(&f.first, "config.json", text, strlen(text));
}

START_TEST(an_encoder_without_a_classifier_is_to_be_fine_tuned)
{
    open_masked();
    struct engine_model *masked; /* the class that was learnt fills in words */
    struct err err = {0};
    ck_assert_msg(!engine_open(&masked, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_int_eq(engine_describe(masked)->task, ENGINE_FILL);
    engine_close(masked);
    say_architecture("BertForPreTraining");
    expect_refused(f.first.path, ": BertForPreTraining has no classifier head: fine-tune it");
    say_architecture("BertModel"); /* also what sentence-transformers writes */
    expect_refused(f.first.path, ": BertModel has no classifier head: fine-tune it");
    f.options.model = f.first.path; /* and it can be */
    f.options.task = "classify";
    f.options.out = f.second.path;
    train_fixture_learn(&f);
    train_fixture_close(&f);
}
END_TEST

START_TEST(checkpoint_of_another_task_is_named_with_the_supported_ones)
{
    open_masked();
    say_architecture("BertForMultipleChoice");
    expect_refused(f.first.path, "config.json says BertForMultipleChoice, which is not served "
                                 "(served: BertForSequenceClassification)");
    say_architecture("BertForSequenceClassification"); /* which it only says */
    expect_refused(f.first.path, "is missing");
    say_architecture(NULL);
    expect_refused(f.first.path, "is missing");
    train_fixture_close(&f);
}
END_TEST

START_TEST(checkpoint_in_a_pickle_is_refused_with_its_conversion)
{
    struct trainer_result result;
    struct err err = {0};
    static const struct trainer_hooks nobody;
    train_fixture_texts(&f);
    tempdir_write(&f.model, "pytorch_model.bin", "", 0);
    expect_refused(f.model.path,
                   "the directory has only pytorch_model.bin, which is not read; to "
                   "make model.safetensors, run in the directory: python3 -c \"import "
                   "torch, safetensors.torch as s; s.save_file(");
    ck_assert_int_eq(trainer_run(&f.options, &nobody, &result, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "'model.safetensors')\"") != NULL, "%s", err.text);
    trainer_result_free(&result);
    f.options.from_scratch = true; /* then nobody asks for its weights */
    train_fixture_learn(&f);
    train_fixture_close(&f);
}
END_TEST

SUITE("refused_checkpoints", an_encoder_without_a_classifier_is_to_be_fine_tuned,
      checkpoint_of_another_task_is_named_with_the_supported_ones,
      checkpoint_in_a_pickle_is_refused_with_its_conversion)
