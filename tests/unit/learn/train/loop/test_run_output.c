/* run_output.h: a run and what an earlier one left in its directory. */
#include "learn/train/loop/run_output.h"
#include "learn/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- differences ---- */

static void expect_difference(const char *here, const char *there, bool only_weights,
                              const char *list)
{
    char out[300];
    bool differs = run_output_difference(here, there, only_weights, out, sizeof out);
    ck_assert_str_eq(out, list);
    ck_assert_int_eq(differs, list[0] != '\0');
}

START_TEST(options_that_differ_are_named_as_they_are_typed)
{
    expect_difference("rate=0.1\nepochs=3\n", "epochs=3\nrate=0.1\n", false, "");
    expect_difference("rate=0.1\nword_dropout=0\n", "rate=0.2\nword_dropout=0.5\n", false,
                      "--rate 0.1 (there 0.2), --word-dropout 0 (there 0.5)");
    expect_difference("mirror=\nturn=1\n", "mirror=1\nturn=\n", false,
                      "--mirror unset (there 1), --turn 1 (there unset)");
    expect_difference("version=2\nseed=1\n", "version=1\nseed=1\n", false,
                      "--model-version 2 (there 1)");
    expect_difference("version=2\nseed=1\n", "version=1\nseed=1\n", true, "");
    expect_difference("inputs=ab\n", "inputs=cd\n", true, "the inputs");
    expect_difference("keep=best\nnewer=1\n", "keep=best\n", false, "");
    expect_difference("data=/a/path/that/is/much/longer/than/what/fits/train.csv\n", "data=b=c\n",
                      false, "--data ...that/is/much/longer/than/what/fits/train.csv (there b=c)");
    expect_difference("", "rate=1\n", false, "");
    char small[20];
    ck_assert(run_output_difference("rate=0.25\nseed=1\n", "rate=0.5\nseed=2\n", true, small, 20));
    ck_assert_str_eq(small, "--rate 0.25 (there ");
}
END_TEST

/* ---- a state ---- */

START_TEST(a_state_of_another_run_says_in_what)
{
    char where[160];
    train_fixture_texts(&f);
    open_run();
    ck_assert(!run_save(&run, &err));
    run_close(&run);
    snprintf(where, sizeof where, "%s/training-state.safetensors: ", f.first.path);
    f.options.dropout = 0.25f;
    f.options.seed = 4;
    f.options.version = "7"; /* does not decide the weights */
    expect_refused(ERR_UNUSABLE,
                   "the training state is of a run with other options or data: --seed 4 (there 0), "
                   "--dropout 0.25 (there 0.100000001); go on with those, or begin anew with "
                   "--restart",
                   where);
    train_fixture_close(&f);
}
END_TEST

/* The names "line 1", "line 2" and the labels stay. */
START_TEST(a_state_of_other_texts_is_another_runs)
{
    char where[160], text[TRAIN_FIXTURE_TEXTS * 80] = "";
    train_fixture_texts(&f);
    open_run();
    ck_assert(!run_save(&run, &err));
    run_close(&run);
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++)
        snprintf(text + strlen(text), 80, "{\"text\":\"red\",\"label\":\"%s\"}\n",
                 i % 2 == 0 ? "hot" : "cold");
    tempdir_write(&f.data, "list.jsonl", text, strlen(text));
    snprintf(where, sizeof where, "%s/training-state.safetensors: ", f.first.path);
    expect_refused(ERR_UNUSABLE,
                   "the training state is of a run with other options or data: the inputs; ",
                   where);
    train_fixture_close(&f);
}
END_TEST

/* States as they were written before options were part of them. */
START_TEST(a_state_without_options_is_taken_up_or_refused_as_it_was)
{
    char where[160];
    train_fixture_texts(&f);
    open_run();
    run.lines = NULL;
    ck_assert(!run_save(&run, &err));
    run_close(&run);
    open_run();
    ck_assert(run.resumed);
    run_close(&run);
    f.options.seed = 4;
    snprintf(where, sizeof where, "%s/training-state.safetensors: ", f.first.path);
    expect_refused(ERR_UNUSABLE,
                   "the training state is of a run with other options or data; go on with those, "
                   "or begin anew with --restart",
                   where);
    train_fixture_close(&f);
}
END_TEST

/* ---- another run at the same time ---- */

START_TEST(a_directory_is_one_runs_at_a_time)
{
    struct run other;
    char where[160];
    train_fixture_texts(&f);
    open_run();
    other = run;
    snprintf(where, sizeof where, "%s: ", f.first.path);
    expect_refused(ERR_CONFLICT, "another run is writing it", where);
    run_close(&other);
    open_run();
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* ---- a finished run ---- */

static void finish(void)
{
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert(train_fixture_has(&f.first, "training-run.safetensors"));
    ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
}

START_TEST(a_finished_run_does_nothing_when_it_is_asked_again)
{
    train_fixture_texts(&f);
    finish();
    tempdir_write(&f.first, "attnd.json", "{\"version\":\"mine\"}", 18);
    f.plan_calls = 0;
    f.options.threads = 2; /* not what decides */
    f.options.batch = 8;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert(result.was_finished && !result.early && !result.interrupted);
    ck_assert(result.history.count == 0 && !result.conclusion.judged && f.plan_calls == 0);
    trainer_result_free(&result);
    ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
    ck_assert(!train_fixture_has(&f.first, "attnd.json.before"));
    open_run();
    ck_assert(run.is_finished && run.learner.network == NULL);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_finished_run_is_not_overwritten_by_another)
{
    static const char other[] =
        "{\"text\":\"red\",\"label\":\"hot\"}\n{\"text\":\"red\",\"label\":\"hot\"}\n"
        "{\"text\":\"blue\",\"label\":\"cold\"}\n{\"text\":\"blue\",\"label\":\"cold\"}\n";
    char where[160];
    train_fixture_texts(&f);
    finish();
    snprintf(where, sizeof where,
             "%s holds a finished run with other options or data: ", f.first.path);
    f.options.version = "2";
    expect_refused(ERR_UNUSABLE,
                   "--model-version 2 (there 1); choose another --out, or replace it with "
                   "--restart",
                   where);
    f.options.version = "1";
    tempdir_write(&f.data, "list.jsonl", other, strlen(other));
    expect_refused(ERR_UNUSABLE, "the inputs; choose", where);
    f.options.restart = true;
    open_run();
    ck_assert(!run.is_finished && !run.resumed);
    ck_assert(!train_fixture_has(&f.first, "training-run.safetensors"));
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_checkpoint_of_unknown_origin_is_not_overwritten)
{
    train_fixture_texts(&f);
    tempdir_write(&f.first, "model.safetensors", "", 0);
    expect_refused(ERR_UNUSABLE,
                   " holds a checkpoint of which nothing says that this command made it; choose "
                   "another --out, or replace it with --restart",
                   f.first.path);
    f.options.restart = true;
    open_run();
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_version_that_a_person_wrote_is_kept_beside)
{
    struct spec spec;
    struct arena arena;
    train_fixture_texts(&f);
    finish();
    f.options.restart = true;
    train_fixture_learn(&f);
    ck_assert(f.plan.replaced_version == NULL);
    ck_assert(!train_fixture_has(&f.first, "attnd.json.before"));
    tempdir_write(&f.first, "attnd.json", "{\"version\":\"mine\"}", 18);
    open_run();
    ck_assert_str_eq(run.replaced_version, "mine");
    run_close(&run);
    train_fixture_learn(&f);
    ck_assert(train_fixture_has(&f.first, "attnd.json.before"));
    arena_init(&arena);
    ck_assert(!spec_read(&spec, f.first.path, &arena, &err));
    ck_assert_str_eq(spec.version, "1");
    arena_deinit(&arena);
    train_fixture_close(&f);
}
END_TEST

SUITE("run_output", options_that_differ_are_named_as_they_are_typed,
      a_state_of_another_run_says_in_what, a_state_of_other_texts_is_another_runs,
      a_state_without_options_is_taken_up_or_refused_as_it_was, a_directory_is_one_runs_at_a_time,
      a_finished_run_does_nothing_when_it_is_asked_again,
      a_finished_run_is_not_overwritten_by_another,
      a_checkpoint_of_unknown_origin_is_not_overwritten,
      a_version_that_a_person_wrote_is_kept_beside)
