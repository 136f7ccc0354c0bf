/* teacher.h: another checkpoint's logits for the learner's very inputs, in the learner's order of
 * labels, and the teachers that are refused. */
#include "learn/train/checkpoint/export.h"
#include "learn/train/loop/run.h"
#include "learn/train/loop/teacher.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static struct train_fixture f;
static struct run run;
static struct teacher teacher;
static struct err err;

static void open_run(void)
{
    static const struct corpus_progress nobody;
    err = (struct err){0};
    f.options.batch = 7;
    ck_assert_msg(!run_open(&run, &f.options, &nobody, &err), "%s", err.text);
}

/* The run's model as it begins, twenty times as large, with these labels, in f.second. */
static void write_teacher(const char *const labels[2])
{
    const char *names[2] = {labels[0], labels[1]};
    struct learner *learner = &run.learner;
    struct parameters *parameters = &learner->parameters;
    parameters->spec.labels = names;
    for (size_t i = 0; i < parameters->numbers; i++)
        parameters->values[i] *= 20;
    network_repack(learner->network, parameters->values);
    struct export what = {.parameters = parameters,
                          .values = parameters->values,
                          .dtype = DTYPE_F32,
                          .source_dir = f.model.path};
    ck_assert_msg(!export_checkpoint(f.second.path, &what, &err), "%s", err.text);
    parameters->spec.labels = run.spec.labels;
}

static enum err_code try_teacher(unsigned vocab_size, unsigned rows_max)
{
    err = (struct err){0};
    ck_assert_int_eq(teacher_open(&teacher, f.second.path, &run.corpus, &run.plan.learning,
                                  vocab_size, rows_max, 1, &err),
                     err.code);
    return err.code;
}

static void expect_refused(unsigned vocab_size, const char *why)
{
    char want[256];
    snprintf(want, sizeof want, "teacher %s: %s", f.second.path, why);
    ck_assert_int_eq(try_teacher(vocab_size, 7), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    teacher_close(&teacher);
    ck_assert(teacher.model == NULL && teacher.logits == NULL);
}

/* The learner's own logits for seven inputs against the teacher's, which are `turned`. */
static void expect_logits(bool turned, unsigned rows)
{
    static const size_t items[7] = {1, 0, 5, 4, 9, 2, 7};
    struct data_loader_order order = {
        .view = &run.plan.learning, .draws = true, .seed = 6, .position = 100};
    struct thread_pool *pool = network_pool(run.learner.network);
    const float *found;
    float own[7][2];
    ck_assert(!teacher_run(&teacher, pool, items, rows, &order, &found, &err));
    ck_assert(!data_loader_prepare(&run.loader, pool, items, rows, &order, &err));
    learner_logits(&run.learner, &run.loader, own[0]);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned k = 0; k < 2; k++)
            ck_assert_float_eq_tol(found[2 * i + k], own[i][turned ? 1 - k : k], 1e-4f);
    ck_assert_float_ne(own[0][0], own[0][1]);
}

/* More rows than one batch of the teacher's has room for, and labels in another order. */
START_TEST(a_teacher_of_texts_reads_what_the_learner_reads)
{
    train_fixture_texts(&f);
    f.options.word_dropout = 0.5f;
    open_run();
    write_teacher((const char *[]){"hot", "cold"});
    ck_assert_msg(!try_teacher(9, 7), "%s", err.text);
    ck_assert(teacher.tokens_max == TEACHER_TOKENS && teacher.image_tokens == 0);
    ck_assert(teacher.label_of[0] == 1 && teacher.label_of[1] == 0 && teacher.labels == 2);
    ck_assert(teacher.loader.rows_max == 7 &&
              teacher.loader.samples == run.corpus.parts[0].samples);
    expect_logits(true, 7);
    teacher.tokens_max = 13; /* two texts a batch */
    expect_logits(true, 7);
    expect_logits(true, 3);
    teacher_close(&teacher);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_of_images_sees_them_at_its_own_size)
{
    train_fixture_images(&f, "right");
    f.options.mirror = f.options.turn = true;
    open_run();
    run.plan.learning.image_size = 16;
    write_teacher((const char *[]){"left", "right"});
    struct samples_view smaller = run.plan.learning;
    smaller.image_size = 8;
    err = (struct err){0};
    ck_assert(!teacher_open(&teacher, f.second.path, &run.corpus, &smaller, 1, 7, 1, &err));
    ck_assert(teacher.image_tokens == 17 && teacher.tokens_max == TEACHER_TOKENS);
    ck_assert(teacher.view.image_size == 16 && teacher.view.patch == 4);
    ck_assert(teacher.view.augment.turn == 1);
    expect_logits(false, 7);
    teacher.tokens_max = 35;
    expect_logits(false, 7);
    teacher_close(&teacher);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_that_fits_not_is_refused_with_the_reason)
{
    train_fixture_texts(&f);
    open_run();
    write_teacher((const char *[]){"hot", "cold"});
    expect_refused(10, "its vocabulary has 9 words, the model's has 10");
    run.corpus.labels.count = 1;
    expect_refused(9, "it knows 2 labels; there are 1 to learn");
    run.corpus.labels.count = 2;
    run.corpus.labels.name[1] = "warm";
    expect_refused(9, "it does not know the label 'warm'");
    run.corpus.parts[0].dataset.kind = ENGINE_IMAGE;
    expect_refused(9, "it does not read this kind of input");
    run.corpus.parts[0].dataset.kind = ENGINE_TEXT;
    tempdir_write(&f.second, "config.json", "{}", 2);
    ck_assert_int_ne(try_teacher(9, 7), ERR_OK);
    teacher_close(&teacher);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(an_input_that_a_teacher_cannot_read_is_told)
{
    static const size_t items[] = {1, 0};
    const float *logits;
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "00.png", "no", 2);
    open_run();
    run.plan.learning.image_size = 16;
    write_teacher((const char *[]){"left", "right"});
    ck_assert(!try_teacher(1, 7));
    struct data_loader_order order = {.view = &run.plan.learning};
    ck_assert_int_eq(
        teacher_run(&teacher, network_pool(run.learner.network), items, 2, &order, &logits, &err),
        ERR_UNUSABLE);
    teacher_close(&teacher);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

SUITE("teacher", a_teacher_of_texts_reads_what_the_learner_reads,
      a_teacher_of_images_sees_them_at_its_own_size,
      a_teacher_that_fits_not_is_refused_with_the_reason,
      an_input_that_a_teacher_cannot_read_is_told)
