/* teachers.c: several teach the mean of their softened distributions, whatever their kinds, and one
 * alone is passed on untouched. A checkpoint's logits are for the learner's very inputs, in the
 * learner's order of labels; some checkpoints are refused. */
#include "learn/train/checkpoint/export.h"
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 5 };

static const size_t items[ROWS] = {3, 0, 8, 1, 5};
static struct tempdir files;
static char lists[2][128];

/* The run's model as it begins, so many times as large, with these labels. */
static void write_model(const struct tempdir *dir, float scale, const char *const labels[2])
{
    const char *names[2] = {labels[0], labels[1]};
    struct parameters *parameters = &run.learner.parameters;
    parameters->spec.labels = names;
    for (size_t i = 0; i < parameters->numbers; i++)
        parameters->values[i] *= scale;
    network_repack(run.learner.network, parameters->values);
    struct export what = {.parameters = parameters,
                          .values = parameters->values,
                          .dtype = DTYPE_F32,
                          .source_dir = f.model.path};
    ck_assert_msg(!export_checkpoint(dir->path, &what, &err), "%s", err.text);
    parameters->spec.labels = run.spec.labels;
}

/* Logits that tell inputs apart: hot, cold. */
static double logit_of(unsigned list, size_t item, unsigned label)
{
    return (list == 0 ? 1 : -2.5) * (double)item / (1 + label) + 40 * (double)list * label;
}

static void write_list(unsigned list, size_t count)
{
    char *text;
    size_t len;
    char name[16];
    FILE *file = open_memstream(&text, &len);
    for (size_t i = count; i-- > 0;)
        fprintf(file, "{\"input\":\"line %zu\",\"logits\":{\"hot\":%.17g,\"cold\":%.17g}}\n", i + 1,
                logit_of(list, i, 1), logit_of(list, i, 0));
    fclose(file);
    snprintf(name, sizeof name, "%u.jsonl", list);
    tempdir_write(&files, name, text, len);
    snprintf(lists[list], sizeof lists[list], "%s/%s", files.path, name);
    free(text);
}

static void open_school(void)
{
    train_fixture_texts(&f);
    tempdir_open(&files);
    f.options.batch = ROWS;
    f.options.teacher_temperature = 3;
    f.options.validation = f.options.data;
    open_run();
    write_model(&f.second, 20, (const char *[]){"hot", "cold"});
    run_close(&run);
    write_list(0, TRAIN_FIXTURE_TEXTS);
    write_list(1, TRAIN_FIXTURE_TEXTS);
}

static void close_school(void)
{
    tempdir_close(&files);
    train_fixture_close(&f);
}

static const float *ask(void)
{
    static const struct samples_view view;
    struct data_loader_order order = {.view = &view};
    const float *logits;
    ck_assert_msg(!teachers_run(&run.teachers, network_pool(run.learner.network), items, ROWS,
                                &order, &logits, &err),
                  "%s", err.text);
    return logits;
}

static double hot_share(const double logits[2])
{
    return 1 / (1 + exp((logits[0] - logits[1]) / 3));
}

START_TEST(nobody_teaches_nothing)
{
    train_fixture_texts(&f);
    open_run();
    ck_assert_ptr_null(ask());
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(one_teacher_alone_is_passed_on_as_it_is)
{
    open_school();
    f.options.teacher_logits = (struct train_paths){{lists[1]}, 1};
    open_run();
    const float *logits = ask();
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned label = 0; label < 2; label++)
            ck_assert_float_eq(logits[2 * row + label], (float)logit_of(1, items[row], label));
    run_close(&run);
    f.options.teacher_logits.count = 0;
    f.options.teacher = (struct train_paths){{f.second.path}, 1};
    open_run();
    ck_assert_ptr_eq(ask(), run.teachers.models[0].logits);
    run_close(&run);
    close_school();
}
END_TEST

/* A checkpoint given twice, and two files, one of which is sure of itself. */
START_TEST(several_teachers_teach_the_mean_of_their_distributions)
{
    open_school();
    f.options.teacher = (struct train_paths){{f.second.path, f.second.path}, 2};
    f.options.teacher_logits = (struct train_paths){{lists[0], lists[1]}, 2};
    open_run();
    const float *logits = ask(), *own = run.teachers.models[1].logits;
    for (unsigned row = 0; row < ROWS; row++) {
        const double model[2] = {(double)own[2 * row], (double)own[2 * row + 1]};
        double mean = hot_share(model) / 2;
        for (unsigned list = 0; list < 2; list++) {
            const double said[2] = {logit_of(list, items[row], 0), logit_of(list, items[row], 1)};
            mean += hot_share(said) / 4;
        }
        const double taught[2] = {(double)logits[2 * row], (double)logits[2 * row + 1]};
        ck_assert_double_eq_tol(hot_share(taught), mean, 1e-6);
    }
    ck_assert_float_ne(own[0], own[1]);
    run_close(&run);
    close_school();
}
END_TEST

/* A label that no teacher thinks possible has a finite logit. */
START_TEST(shares_that_vanish_have_finite_logits)
{
    static const struct samples_view view;
    struct data_loader_order order = {.view = &view};
    const size_t first = 0;
    const float *logits;
    open_school();
    f.options.teacher_logits = (struct train_paths){{lists[0], lists[0]}, 2};
    open_run();
    for (unsigned i = 0; i < 2; i++) {
        run.teachers.lists[i].values[0] = -1e6f;
        run.teachers.lists[i].values[1] = 1e6f;
    }
    ck_assert(!teachers_run(&run.teachers, network_pool(run.learner.network), &first, 1, &order,
                            &logits, &err));
    ck_assert_float_eq(logits[1], 0);
    ck_assert(isfinite(logits[0]) && logits[0] < -2000);
    run_close(&run);
    close_school();
}
END_TEST

START_TEST(a_list_must_have_every_input_to_learn)
{
    open_school();
    write_list(1, TRAIN_FIXTURE_TEXTS - 2);
    f.options.teacher_logits = (struct train_paths){{lists[0], lists[1]}, 2};
    char where[160];
    snprintf(where, sizeof where, "teacher logits %s: ", lists[1]);
    expect_refused(ERR_UNUSABLE, "2 of 120 inputs to learn have no line, first 'line 119'", where);
    f.options.teacher_logits = (struct train_paths){{"/no/where"}, 1};
    expect_refused(ERR_IO, "teacher logits /no/where: ", "");
    close_school();
}
END_TEST

START_TEST(teachers_refuse_a_list_of_other_inputs_by_its_digests)
{
    char path[128], text[256], where[160];
    open_school();
    snprintf(path, sizeof path, "%s/one.csv", f.data.path);
    tempdir_write(&f.data, "one.csv", "text,label\nred,hot\nblue,cold\n", 29);
    f.options.data = f.options.validation = path;
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        /* printf red | sha256sum, printf blue | sha256sum */
        int len = snprintf(text, sizeof text,
                           "{\"input\":\"line 2\",\"digest\":\"b1f51a511f1da0cd\",\"logits\":{"
                           "\"hot\":1,\"cold\":0}}\n");
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "{\"input\":\"line 3\",\"digest\":\"%s\",\"logits\":{\"hot\":0,"
                        "\"cold\":1}}\n",
                        wrong ? "b1f51a511f1da0cd" : "16477688c0e00699");
        tempdir_write(&files, "0.jsonl", text, (size_t)len);
        f.options.teacher_logits = (struct train_paths){{lists[0]}, 1};
        f.options.restart = true;
        snprintf(where, sizeof where, "teacher logits %s: ", lists[0]);
        if (wrong)
            expect_refused(ERR_UNUSABLE, "line 2: the digest is not that of 'line 3'", where);
        else
            open_run();
        run_close(&run);
    }
    close_school();
}
END_TEST

/* ---- a checkpoint ---- */

static struct teachers alone; /* a single checkpoint */

/* Opens the checkpoint in f.second as the only teacher of the run. */
static enum err_code try_teacher(unsigned vocab_size, const struct samples_view *view)
{
    struct train_options options = f.options;
    const struct teachers_setup setup = {&options, &run.corpus, view, vocab_size, 7, 1};
    options.teacher = (struct train_paths){{f.second.path}, 1};
    err = (struct err){0};
    ck_assert_int_eq(teachers_open(&alone, &setup, &err), err.code);
    return err.code;
}

static void expect_teacher_refused(unsigned vocab_size, const char *why)
{
    char want[256];
    snprintf(want, sizeof want, "teacher %s: %s", f.second.path, why);
    ck_assert_int_eq(try_teacher(vocab_size, &run.plan.learning), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    teachers_close(&alone);
    ck_assert(alone.models == NULL && alone.logits == NULL);
}

/* The learner's own logits for seven inputs against the teacher's, which are `turned`. */
static void expect_logits(bool turned, unsigned rows)
{
    static const size_t seven[7] = {1, 0, 5, 4, 9, 2, 7};
    struct data_loader_order order = {
        .view = &run.plan.learning, .draws = true, .seed = 6, .position = 100};
    struct thread_pool *pool = network_pool(run.learner.network);
    const float *found;
    float own[7][2];
    ck_assert(!teachers_run(&alone, pool, seven, rows, &order, &found, &err));
    ck_assert(!data_loader_prepare(&run.loader, pool, seven, rows, &order, &err));
    learner_logits(&run.learner, &run.loader, own[0]);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned k = 0; k < 2; k++)
            ck_assert_float_eq_tol(found[2 * i + k], own[i][turned ? 1 - k : k], 1e-4f);
    ck_assert_float_ne(own[0][0], own[0][1]);
}

/* There are more rows than a batch of the teacher has room for, and labels in another order. */
START_TEST(a_teacher_of_texts_reads_what_the_learner_reads)
{
    train_fixture_texts(&f);
    f.options.batch = 7;
    f.options.word_dropout = 0.5f;
    open_run();
    write_model(&f.second, 20, (const char *[]){"hot", "cold"});
    ck_assert_msg(!try_teacher(9, &run.plan.learning), "%s", err.text);
    struct teacher *teacher = alone.models;
    ck_assert(teacher->tokens_max == TEACHERS_TOKENS && teacher->image_tokens == 0);
    ck_assert(teacher->label_of[0] == 1 && teacher->label_of[1] == 0 && teacher->labels == 2);
    ck_assert(teacher->loader.rows_max == 7 &&
              teacher->loader.samples == run.corpus.parts[0].samples);
    expect_logits(true, 7);
    teacher->tokens_max = 13; /* two texts a batch */
    expect_logits(true, 7);
    expect_logits(true, 3);
    teachers_close(&alone);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_of_images_sees_them_at_its_own_size)
{
    train_fixture_images(&f, "right");
    f.options.batch = 7;
    f.options.mirror = f.options.turn = true;
    open_run();
    run.plan.learning.image_size = extent_square(16);
    write_model(&f.second, 20, (const char *[]){"left", "right"});
    struct samples_view smaller = run.plan.learning;
    smaller.image_size = extent_square(8);
    ck_assert_msg(!try_teacher(1, &smaller), "%s", err.text);
    struct teacher *teacher = alone.models;
    ck_assert(teacher->image_tokens == 17 && teacher->tokens_max == TEACHERS_TOKENS);
    ck_assert(teacher->view.image_size.width == 16 && teacher->view.patch.width == 4);
    ck_assert(teacher->view.augment.turn == 1);
    expect_logits(false, 7);
    teacher->tokens_max = 35;
    expect_logits(false, 7);
    teachers_close(&alone);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_teacher_that_fits_not_is_refused_with_the_reason)
{
    train_fixture_texts(&f);
    open_run();
    write_model(&f.second, 20, (const char *[]){"hot", "cold"});
    expect_teacher_refused(10, "its vocabulary has 9 words, the model's has 10");
    run.corpus.labels.count = 1;
    expect_teacher_refused(9, "it knows 2 labels; there are 1 to learn");
    run.corpus.labels.count = 2;
    run.corpus.labels.name[1] = "warm";
    expect_teacher_refused(9, "it does not know the label 'warm'");
    run.corpus.parts[0].dataset.kind = ENGINE_IMAGE;
    expect_teacher_refused(9, "it does not read this kind of input");
    run.corpus.parts[0].dataset.kind = ENGINE_TEXT;
    tempdir_write(&f.second, "config.json", "{}", 2);
    ck_assert_int_ne(try_teacher(9, &run.plan.learning), ERR_OK);
    teachers_close(&alone);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(teachers_name_an_input_that_they_cannot_read)
{
    static const size_t two[] = {1, 0};
    const float *logits;
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "00.png", "no", 2);
    open_run();
    run.plan.learning.image_size = extent_square(16);
    write_model(&f.second, 20, (const char *[]){"left", "right"});
    ck_assert(!try_teacher(1, &run.plan.learning));
    struct data_loader_order order = {.view = &run.plan.learning};
    ck_assert_int_eq(
        teachers_run(&alone, network_pool(run.learner.network), two, 2, &order, &logits, &err),
        ERR_UNUSABLE);
    teachers_close(&alone);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

SUITE("teachers", nobody_teaches_nothing, one_teacher_alone_is_passed_on_as_it_is,
      several_teachers_teach_the_mean_of_their_distributions, shares_that_vanish_have_finite_logits,
      a_list_must_have_every_input_to_learn, teachers_refuse_a_list_of_other_inputs_by_its_digests,
      a_teacher_of_texts_reads_what_the_learner_reads,
      a_teacher_of_images_sees_them_at_its_own_size,
      a_teacher_that_fits_not_is_refused_with_the_reason,
      teachers_name_an_input_that_they_cannot_read)
