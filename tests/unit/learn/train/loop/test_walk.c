/* trainer.h: progress of a run's epochs, its stop, and going on. test_trainer.c checks the
 * learning. Progress is told now and then, and always at the end of a phase: only those calls are
 * checked here. */
#include "engine/base/clock.h"
#include "engine/vision/input_formats.h"
#include "learn/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENDS_MAX = 64, EPOCHS_MAX = 8 };

static struct train_fixture f;
static struct err err;
static atomic_bool stop;

static struct {
    struct trainer_progress ends[ENDS_MAX]; /* calls with done == total */
    unsigned end_count, others;
    struct history_epoch epochs[EPOCHS_MAX];
    bool is_best[EPOCHS_MAX];
    unsigned epoch_count, rises;
    struct trainer_plan plan;
    char unusable[160];
    bool stops_at_first; /* in the middle of the first epoch */
} seen;

static void on_plan(void *context, const struct trainer_plan *plan)
{
    ck_assert_ptr_eq(context, &seen);
    seen.plan = *plan;
    if (plan->unusable > 0) /* its strings end with the run */
        snprintf(seen.unusable, sizeof seen.unusable, "%s: %s", plan->unusable_name,
                 plan->unusable_reason);
    seen.plan.unusable_name = seen.plan.unusable_reason = seen.plan.remarks = NULL;
    if (seen.stops_at_first)
        usleep(220 * 1000); /* so that the first step is told */
}

static void on_progress(void *context, const struct trainer_progress *progress)
{
    ck_assert_ptr_eq(context, &seen);
    ck_assert_uint_le(progress->done, progress->total);
    if (seen.stops_at_first && progress->phase == TRAINER_LEARNING)
        atomic_store(&stop, true);
    if (progress->done == progress->total && seen.end_count < ENDS_MAX)
        seen.ends[seen.end_count++] = *progress;
    else
        seen.others++;
}

static void on_epoch(void *context, const struct history_epoch *epoch, bool is_best, bool rises)
{
    seen.rises += rises;
    ck_assert_ptr_eq(context, &seen);
    seen.is_best[seen.epoch_count] = is_best;
    seen.epochs[seen.epoch_count++] = *epoch;
}

static struct trainer_result run(void)
{
    struct trainer_hooks hooks = {.plan = on_plan,
                                  .progress = on_progress,
                                  .epoch = on_epoch,
                                  .context = &seen,
                                  .stop = &stop};
    struct trainer_result result;
    bool stops = seen.stops_at_first;
    memset(&seen, 0, sizeof seen);
    seen.stops_at_first = stops;
    atomic_store(&stop, false);
    err = (struct err){0};
    trainer_run(&f.options, &hooks, &result, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert(result.history.count <= EPOCHS_MAX);
    return result;
}

static void expect_flags(const bool *is_best, unsigned count)
{
    ck_assert_uint_eq(seen.epoch_count, count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_msg(seen.is_best[i] == is_best[i], "epoch %u", i + 1);
}

/* The end of a phase within an epoch (from 1): 108 texts learnt, or 12 judged by. */
static const struct trainer_progress *end_of(unsigned i, enum trainer_phase phase, unsigned epoch)
{
    const struct trainer_progress *end = &seen.ends[i];
    ck_assert_uint_lt(i, seen.end_count);
    ck_assert_int_eq(end->phase, phase);
    ck_assert(end->epoch == epoch && end->image_size == 0);
    ck_assert_uint_eq(end->total, phase == TRAINER_READING    ? 120
                                  : phase == TRAINER_LEARNING ? 108
                                                              : 12);
    return end;
}

/* Time left and speed come from one clock: their product is what is left, whatever the time. */
static void expect_estimate(const struct trainer_progress *end, uint64_t step, uint64_t steps)
{
    double left = (double)(steps - step) * 40;
    ck_assert_double_gt(end->inputs_per_second, 0);
    ck_assert_double_eq_tol(end->seconds_left * end->inputs_per_second, left, 1e-6 * left + 1e-9);
}

/* Two epochs of three steps: 40, 40 and 28 texts. */
START_TEST(walk_reports_the_end_of_each_phase)
{
    train_fixture_texts(&f);
    f.options.epochs = 2;
    f.options.batch = 40;
    f.options.dropout = 0.2f;
    f.options.word_dropout = 0.4f;
    f.options.rate = 2e-2f;
    static const double losses[2][2] = {{0.69656, 0.69217},
                                        {0.69255, 0.68555}}; /* of learning and judging */
    uint64_t start_ns = clock_now_ns();
    struct trainer_result result = run();
    double ms = clock_ms_between(start_ns, clock_now_ns());
    ck_assert_double_le(seen.others, ms / 200 + 1); /* not oftener than that */
    ck_assert_uint_ge(seen.end_count, 7);
    ck_assert_double_eq(end_of(0, TRAINER_READING, 0)->seconds_left, -1);
    for (unsigned i = 0; i < 2; i++) {
        const struct trainer_progress *learnt = end_of(1 + 2 * i, TRAINER_LEARNING, i + 1);
        const struct trainer_progress *judged = end_of(2 + 2 * i, TRAINER_JUDGING, i + 1);
        const struct history_epoch *epoch = &result.history.epochs[i];
        ck_assert(learnt->epochs == 2 && judged->epochs == 2);
        ck_assert_double_eq_tol(epoch->train_loss, losses[i][0], 0.003);
        ck_assert_double_eq_tol(epoch->validation_loss, losses[i][1], 0.003);
        ck_assert_double_eq_tol(learnt->loss, epoch->train_loss, 1e-12);
        ck_assert_double_eq_tol(judged->loss, epoch->train_loss, 1e-12);
        ck_assert_double_eq(learnt->rate, epoch->rate);
        expect_estimate(learnt, 3 + 3 * i, 6);
        expect_estimate(judged, 3 + 3 * i, 6);
        ck_assert_mem_eq(&seen.epochs[i], epoch, sizeof *epoch);
        ck_assert(epoch->epoch == i + 1 && epoch->image_size == 0 && epoch->skipped == 0);
        ck_assert(epoch->seconds > 0 && epoch->seconds < ms / 1e3);
    }
    for (unsigned i = 5; i < seen.end_count; i++) {
        const struct trainer_progress *end = end_of(i, TRAINER_CONCLUDING, 0);
        ck_assert(end->epochs == 0 && end->loss == 0);
    }
    /* no warm-up (0.3 of a step): the last of six is at (1 + cos(5 pi / 6)) / 2 of the way */
    double half = (1 + cos(acos(-1) * 5 / 6)) / 2, floor = 0.01 * 2e-2;
    ck_assert_double_eq_tol(result.history.epochs[1].rate, floor + (2e-2 - floor) * half, 1e-8);
    expect_flags((bool[]){true, true}, 2);
    ck_assert(result.best_epoch == 2 && !result.early && !result.interrupted);
    ck_assert(result.conclusion.judged);
    trainer_result_free(&result);
    ck_assert(result.history.epochs == NULL && result.best_epoch == 0);
    train_fixture_close(&f);
}
END_TEST

START_TEST(the_plan_counts_what_is_learnt)
{
    train_fixture_texts(&f);
    f.options.epochs = 1;
    struct trainer_result result = run();
    /* embeddings 9 + 16 + 2 rows and a norm, two blocks, pooler and classifier */
    size_t block = 4 * (16 * 16 + 16) + 2 * 16 * 32 + 32 + 16 + 4 * 16;
    size_t all = 27 * 16 + 32 + 2 * block + 16 * 16 + 16 + 2 * 16 + 2;
    ck_assert_uint_eq(seen.plan.parameters, all);
    ck_assert(seen.plan.train == 108 && seen.plan.validation == 12 && seen.plan.unusable == 0);
    ck_assert(seen.plan.labels == 2 && seen.plan.epochs == 1 && seen.plan.steps == 14);
    ck_assert_uint_eq(seen.plan.tensors_missing, 0);
    ck_assert_str_eq(seen.unusable, "");
    trainer_result_free(&result);
    train_fixture_close(&f);
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "03.png", "none", 4);
    tempdir_write(&f.data, "06.png", "none", 4);
    f.options.epochs = 1;
    result = run();
    ck_assert(seen.plan.train == 42 && seen.plan.unusable == 2);
    ck_assert_str_eq(seen.unusable, "03.png: the image is not " INPUT_FORMATS_OR " (4 bytes)");
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* The best epoch has a larger figure than every one before: macro-F1 or, for masked words, minus
 * the loss. The smaller loss wins among equal figures. */
START_TEST(the_best_epoch_is_the_one_that_is_kept)
{
    for (unsigned is_mlm = 0; is_mlm < 2; is_mlm++) {
        train_fixture_texts(&f);
        f.options.task = is_mlm ? "mlm" : "classify";
        f.options.keep = "best";
        f.options.rate = is_mlm ? 0.3f : 2e-3f; /* so high that it gets worse again */
        f.options.average = 0;
        struct trainer_result result = run();
        double best = -INFINITY, loss = 0;
        unsigned kept = 0, worse = 0;
        for (unsigned i = 0; i < 6; i++) {
            const struct history_epoch *epoch = &result.history.epochs[i];
            double figure = is_mlm ? -epoch->validation_loss : epoch->macro_f1;
            bool ties = figure == best && epoch->validation_loss < loss;
            ck_assert_int_eq(seen.is_best[i], figure > best || ties);
            if (figure > best || ties) {
                kept = i + 1;
                loss = epoch->validation_loss;
            }
            worse += figure <= best && !ties;
            best = fmax(best, figure);
        }
        ck_assert_uint_eq(result.best_epoch, kept);
        ck_assert(worse > 0 || !is_mlm); /* this classifier only gets surer */
        trainer_result_free(&result);
        train_fixture_close(&f);
    }
}
END_TEST

/* Three epochs in which macro-F1 is 1 and the loss falls: the last is kept, and patience counts
 * from the first. */
START_TEST(walk_keeps_the_smaller_loss_of_equal_figures)
{
    for (unsigned patience = 0; patience <= 2; patience += 2) {
        train_fixture_texts(&f);
        f.options.keep = "best";
        f.options.patience = patience;
        struct trainer_result result = run();
        const struct history_epoch *epochs = result.history.epochs;
        unsigned first = 0;
        while (epochs[first].macro_f1 < 1)
            first++;
        ck_assert_uint_lt(first, 3);
        for (unsigned i = first + 1; i < result.history.count; i++)
            ck_assert(epochs[i].macro_f1 == 1 && seen.is_best[i] &&
                      epochs[i].validation_loss < epochs[i - 1].validation_loss);
        ck_assert_uint_eq(result.history.count, patience > 0 ? first + 1 + patience : 6);
        ck_assert_uint_eq(result.best_epoch, result.history.count);
        trainer_result_free(&result);
        train_fixture_close(&f);
    }
}
END_TEST

START_TEST(walk_compares_an_epoch_only_with_epochs_of_its_image_size)
{
    train_fixture_images(&f, "right");
    f.options.keep = "best";
    f.options.rate = 0;
    f.options.stages = (struct train_stages){.stage = {{8, 2}, {16, 3}}, .count = 2};
    f.options.epochs = 5;
    struct trainer_result result = run();
    expect_flags((bool[]){true, false, true, false, false}, 5);
    static const unsigned sizes[] = {8, 8, 16, 16, 16};
    for (unsigned i = 0; i < 5; i++)
        ck_assert(result.history.epochs[i].image_size == sizes[i] &&
                  seen.ends[1 + 2 * i].image_size == sizes[i] &&
                  seen.ends[2 + 2 * i].image_size == sizes[i]);
    ck_assert(result.best_epoch == 3 && !result.early);
    for (unsigned i = 11; i < seen.end_count; i++)
        ck_assert(seen.ends[i].phase == TRAINER_CONCLUDING && seen.ends[i].image_size == 16);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

/* The rate changes nothing, so each epoch is as good as the first, at each image size. */
START_TEST(patience_is_the_number_of_epochs_without_a_better_one)
{
    for (unsigned patience = 0; patience < 3; patience++) {
        train_fixture_texts(&f);
        f.options.keep = "best";
        f.options.rate = 0;
        f.options.epochs = 4;
        f.options.patience = patience;
        struct trainer_result result = run();
        ck_assert_int_eq(result.early, patience > 0);
        ck_assert_uint_eq(result.history.count, patience > 0 ? patience + 1 : 4);
        ck_assert_uint_eq(result.best_epoch, 1);
        ck_assert(result.conclusion.judged);
        trainer_result_free(&result);
        train_fixture_close(&f);
    }
}
END_TEST

/* Stopped after the first of three steps, and taken up: the same weights, the same history. */
START_TEST(a_run_that_was_stopped_in_an_epoch_goes_on_there)
{
    train_fixture_texts(&f);
    f.options.epochs = 2;
    f.options.batch = 40;
    struct trainer_result whole = run();
    f.options.out = f.second.path;
    seen.stops_at_first = true;
    struct trainer_result result = run();
    ck_assert(result.interrupted && !result.early && result.history.count == 0);
    ck_assert(result.best_epoch == 0 && !result.conclusion.judged && seen.epoch_count == 0);
    ck_assert(train_fixture_has(&f.second, "training-state.safetensors"));
    ck_assert(!train_fixture_has(&f.second, "model.safetensors"));
    trainer_result_free(&result);
    seen.stops_at_first = false;
    result = run();
    ck_assert(seen.plan.resumed && seen.plan.step == 1 && seen.plan.steps == 6);
    end_of(1, TRAINER_LEARNING, 1);
    expect_flags((bool[]){true, true}, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct history_epoch *epoch = &result.history.epochs[i];
        epoch->seconds = whole.history.epochs[i].seconds;
        ck_assert_mem_eq(epoch, &whole.history.epochs[i], sizeof *epoch);
        ck_assert_double_eq_tol(seen.ends[1 + 2 * i].loss, epoch->train_loss, 1e-12);
    }
    /* what this process did: two of the five steps that were left, then five of five */
    expect_estimate(&seen.ends[1], 3, 6);
    ck_assert_double_eq(seen.ends[3].seconds_left, 0);
    train_fixture_expect_same(&f.first, &f.second);
    trainer_result_free(&result);
    trainer_result_free(&whole);
    train_fixture_close(&f);
}
END_TEST

START_TEST(walk_makes_no_step_if_stopped_before_it_begins)
{
    struct trainer_hooks hooks = {.stop = &stop};
    struct trainer_result result;
    train_fixture_texts(&f);
    atomic_store(&stop, true);
    ck_assert(!trainer_run(&f.options, &hooks, &result, &err));
    ck_assert(result.interrupted && result.history.count == 0);
    trainer_result_free(&result);
    struct trainer_result again = run();
    ck_assert(seen.plan.resumed && seen.plan.step == 0 && again.history.count == 6);
    trainer_result_free(&again);
    train_fixture_close(&f);
}
END_TEST

/* The first step at such a rate makes the weights useless: no later gradient is finite. */
START_TEST(steps_that_were_skipped_are_counted)
{
    train_fixture_texts(&f);
    f.options.epochs = 2;
    f.options.batch = 40;
    f.options.rate = 1e30f;
    f.options.rate_floor = 1;
    f.options.task = "mlm";
    f.options.average = 0;
    struct trainer_result result = run();
    ck_assert_double_ge(result.history.epochs[0].skipped, 1);
    ck_assert_double_le(result.history.epochs[0].skipped, 2);
    ck_assert_double_eq(result.history.epochs[1].skipped, 3);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

START_TEST(trainer_returns_an_error_before_any_hook_runs)
{
    struct trainer_hooks hooks = {.plan = on_plan, .epoch = on_epoch, .context = &seen};
    struct trainer_result result = {.best_epoch = 9};
    train_fixture_texts(&f);
    memset(&seen, 0, sizeof seen);
    f.options.data = "/no/where.csv";
    ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_IO);
    ck_assert(seen.plan.family == NULL && seen.epoch_count == 0);
    ck_assert(result.best_epoch == 0 && result.history.epochs == NULL);
    train_fixture_close(&f);
}
END_TEST

SUITE("walk", walk_reports_the_end_of_each_phase, the_plan_counts_what_is_learnt,
      the_best_epoch_is_the_one_that_is_kept, walk_keeps_the_smaller_loss_of_equal_figures,
      walk_compares_an_epoch_only_with_epochs_of_its_image_size,
      patience_is_the_number_of_epochs_without_a_better_one,
      a_run_that_was_stopped_in_an_epoch_goes_on_there,
      walk_makes_no_step_if_stopped_before_it_begins, steps_that_were_skipped_are_counted,
      trainer_returns_an_error_before_any_hook_runs)
