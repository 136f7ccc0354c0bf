/* teachers.h: several teach the mean of their softened distributions, whatever their kinds, and one
 * alone is passed on untouched. */
#include "learn/train/checkpoint/export.h"
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 5 };

static const size_t items[ROWS] = {3, 0, 8, 1, 5};
static struct tempdir files;
static char lists[2][128];

/* The run's model as it begins, so many times as large, with its labels turned round. */
static void write_model(const struct tempdir *dir, float scale)
{
    const char *names[2] = {"hot", "cold"};
    struct parameters *parameters = &run.learner.parameters;
    parameters->spec.labels = names;
    for (size_t i = 0; i < parameters->numbers; i++)
        parameters->values[i] *= scale;
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
    write_model(&f.second, 20);
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

/* What no teacher thinks possible stays finite. */
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

START_TEST(a_list_of_other_inputs_is_told_by_its_digests)
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

SUITE("teachers", nobody_teaches_nothing, one_teacher_alone_is_passed_on_as_it_is,
      several_teachers_teach_the_mean_of_their_distributions, shares_that_vanish_have_finite_logits,
      a_list_must_have_every_input_to_learn, a_list_of_other_inputs_is_told_by_its_digests)
