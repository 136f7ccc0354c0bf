/* run.h: the place where a run is saved, going on from there, and the questions of an epoch to the
 * model. No step is made here. */
#include "learn/train/loop/run.h"
#include "tests/support/suite.h"
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char path[256];

START_TEST(run_names_an_output_that_cannot_be_made)
{
    char out[160];
    train_fixture_texts(&f);
    f.options.out = out;
    snprintf(out, sizeof out, "%s/a/b", f.first.path);
    snprintf(path, sizeof path, "cannot make %s: No such file or directory", out);
    expect_refused(ERR_IO, "", path);
    snprintf(out, sizeof out, "%s/new", f.first.path);
    open_run(); /* made, and found */
    run_close(&run);
    open_run();
    run_close(&run);
    snprintf(path, sizeof path, "%s/training-state.safetensors", out);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    f.options.restart = true;
    char wanted[300];
    snprintf(wanted, sizeof wanted, "%s: cannot be removed: ", path);
    expect_refused(ERR_IO, "", wanted);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(remove(out), 0);
    train_fixture_close(&f);
}
END_TEST

/* A weight, which is packed before it is multiplied with. */
static size_t marked(void)
{
    return run.learner.parameters.map.layers[0].mlp_in_weight + 5;
}

static void mark_arrays(void)
{
    struct learner *learner = &run.learner;
    float *arrays[] = {learner->parameters.values, learner->optimizer.m, learner->optimizer.v,
                       learner->optimizer.average, learner->best};
    for (unsigned i = 0; i < 5; i++)
        arrays[i][marked()] = (float)i + 0.25f;
}

static void expect_marks(void)
{
    const struct learner *learner = &run.learner;
    const float *arrays[] = {learner->parameters.values, learner->optimizer.m, learner->optimizer.v,
                             learner->optimizer.average, learner->best};
    for (unsigned i = 0; i < 5; i++)
        ck_assert_float_eq(arrays[i][marked()], (float)i + 0.25f);
}

/* Logits of the first eight inputs. */
static void judge(float logits[16])
{
    struct data_loader_order order = {.view = &run.plan.judging};
    struct thread_pool *pool = network_pool(run.learner.network);
    ck_assert(!data_loader_prepare(&run.loader, pool, run.corpus.train.item, 8, &order, &err));
    learner_logits(&run.learner, &run.loader, logits);
}

START_TEST(a_run_goes_on_where_it_was_saved)
{
    struct history_epoch epoch = {.epoch = 1, .train_loss = 0.5, .macro_f1 = 0.25};
    float before[16], after[16];
    train_fixture_texts(&f);
    open_run();
    mark_arrays();
    network_repack(run.learner.network, run.learner.parameters.values);
    judge(before);
    run.at = (struct state_counters){
        .step = 17, .best_epoch = 1, .best = 0.75, .epoch_loss = 3.5, .epoch_skipped = 2};
    run.learner.optimizer.steps = 15;
    run.history = (struct history){malloc(sizeof epoch), 1};
    run.history.epochs[0] = epoch;
    ck_assert_msg(!run_save(&run, &err), "%s", err.text);
    run_close(&run);
    open_run();
    ck_assert(run.resumed && run.at.step == 17 && run.at.best_epoch == 1);
    ck_assert(run.at.best == 0.75 && run.at.epoch_loss == 3.5 && run.at.epoch_skipped == 2);
    ck_assert(run.at.optimizer_steps == 15 && run.learner.optimizer.steps == 15);
    ck_assert(run.history.count == 1 && run.history.epochs[0].macro_f1 == 0.25);
    expect_marks();
    judge(after);
    ck_assert_mem_eq(before, after, sizeof before);
    run_close(&run);
    f.options.dropout = 0.2f; /* another run */
    snprintf(path, sizeof path, "%s/training-state.safetensors: ", f.first.path);
    expect_refused(ERR_UNUSABLE, "the training state is of a run with other options", path);
    f.options.restart = true;
    open_run();
    ck_assert(!run.resumed && run.at.step == 0);
    ck_assert(!train_fixture_has(&f.first, "training-state.safetensors"));
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

/* A state is of the image size that was being learnt. Structure is not begun again. */
START_TEST(a_state_of_another_image_size_is_restored_at_its_own)
{
    train_fixture_images(&f, "right");
    f.options.average = 0.5f;
    f.options.init = "structured";
    f.options.stages = (struct train_stages){{{12, 1}, {16, 1}}, 2};
    open_run();
    ck_assert_uint_eq(run.learner.setup.spec.image_size.width, 12);
    ck_assert(!run_shape(&run, 1, &err));
    ck_assert_uint_eq(run.learner.setup.spec.image_size.width, 16);
    mark_arrays();
    ck_assert(!run_save(&run, &err));
    run_close(&run);
    open_run();
    ck_assert(run.resumed && run.at.image_size == 16);
    ck_assert_uint_eq(run.learner.setup.spec.image_size.width, 16);
    expect_marks();
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_state_that_is_damaged_is_refused)
{
    train_fixture_texts(&f);
    open_run();
    run.at.image_size = 7;
    run.learner.parameters.numbers -= 1; /* arrays that are one too short */
    ck_assert(!run_save(&run, &err));
    run_close(&run);
    snprintf(path, sizeof path, "%s/training-state.safetensors: ", f.first.path);
    expect_refused(ERR_UNSUPPORTED, "the training state has no 'values' of ", path);
    train_fixture_close(&f);
}
END_TEST

/* Two epochs of the head alone: a BERT of two blocks has depths 0 to 3. */
START_TEST(an_epoch_has_its_size_and_what_rests)
{
    train_fixture_images(&f, "right");
    f.options.freeze_epochs = 2;
    f.options.stages = (struct train_stages){{{12, 1}, {16, 2}}, 2};
    static const unsigned sizes[] = {12, 16, 16}, depths[] = {3, 3, 0};
    open_run();
    for (unsigned epoch = 0; epoch < 3; epoch++) {
        ck_assert(!run_shape(&run, epoch, &err));
        ck_assert_uint_eq(run.learner.setup.spec.image_size.width, sizes[epoch]);
        ck_assert_uint_eq(run.plan.learning.image_size.width, sizes[epoch]);
        ck_assert_uint_eq(run.plan.judging.image_size.width, sizes[epoch]);
        ck_assert_uint_eq(run.learner.setup.network.frozen_depth, depths[epoch]);
    }
    run_close(&run);
    ck_assert(run.spec.family == NULL && run.history.epochs == NULL);
    train_fixture_close(&f);
}
END_TEST

SUITE("run_state", run_names_an_output_that_cannot_be_made, a_run_goes_on_where_it_was_saved,
      a_state_of_another_image_size_is_restored_at_its_own, a_state_that_is_damaged_is_refused,
      an_epoch_has_its_size_and_what_rests)
