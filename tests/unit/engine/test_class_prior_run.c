/* The effects of a class prior on an answer, and the fields that it leaves: the same files are
 * opened with and without one, a text in windows and a distilled DeiT among them, in f32 and
 * int8. */
#include "engine/base/file.h"
#include "engine/decide/class_prior.h"
#include "engine/engine.h"
#include "engine/selftest.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PICTURE "tests/data/golden/images/0_center.png"

enum { LABELS_MAX = 16, FEATURES_MAX = 512, TOKENS = 2048 };

static struct tempdir dir;
static struct err err;

struct answered {
    float logits[LABELS_MAX], features[FEATURES_MAX], scores[LABELS_MAX], fitted[LABELS_MAX];
    struct judgement judgement;
};

/* The files of a golden model, by links. */
static void link_model(const char *name)
{
    char from[64], target[4096], link[512];
    snprintf(from, sizeof from, "tests/data/golden/%s", name);
    DIR *files = opendir(from);
    ck_assert_ptr_nonnull(files);
    tempdir_open(&dir);
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        char path[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        snprintf(link, sizeof link, "%s/%s", dir.path, entry->d_name);
        ck_assert_ptr_nonnull(realpath(path, target));
        ck_assert_int_eq(symlink(target, link), 0);
    }
    closedir(files);
}

static struct engine_model *open_model(const char *dtype, const char *prior)
{
    struct engine_model *model;
    const struct engine_options options = {.dtype = dtype, .class_prior = prior};
    err = (struct err){0};
    engine_open(&model, dir.path, &options, &err);
    return model;
}

/* 10 inputs of the first label, 20 of the second, and so on. */
static void write_attnd(const struct engine_info *info, const char *prior)
{
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "{\"long_text\": \"windows\", %s, "
                                   "\"temperature\": 1.7, \"fitted_prior\": {",
                                   prior);
    for (unsigned i = 0; i < info->label_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\": %u", i > 0 ? ", " : "",
                                 info->labels[i], 10 * (i + 1));
    used += (size_t)snprintf(text + used, sizeof text - used, "}}");
    tempdir_write(&dir, "attnd.json", text, used);
}

static void prepare(const struct engine_model *model, struct arena *arena,
                    struct engine_input *input)
{
    char *bytes;
    size_t len;
    if (engine_describe(model)->kind == ENGINE_TEXT) {
        char text[4096] = "";
        for (unsigned i = 0; i < 200; i++)
            strcat(text, i % 3 == 0 ? "vdd_io 3.97 V FAIL " : "scan chain 3 ");
        engine_prepare(model, text_source(text), NULL, arena, input, &err);
        ck_assert_uint_gt(input->windows, 1);
        return;
    }
    ck_assert(!file_read(&bytes, &len, PICTURE, 1 << 26, &err));
    engine_prepare(model, picture_source(bytes, len, 1 << 25), NULL, arena, input, &err);
    free(bytes);
}

static struct answered answer(const struct engine_model *model)
{
    const struct engine_info *info = engine_describe(model);
    struct answered out = {0};
    struct engine_session *session;
    struct engine_input input = {0};
    struct arena arena;
    arena_init(&arena);
    prepare(model, &arena, &input);
    ck_assert_msg(!engine_session_open(&session, model, TOKENS, 1, &err), "%s", err.text);
    struct engine_result result = {.logits = out.logits, .scores = out.scores};
    engine_run(session, (const struct engine_input *[]){&input}, 1,
               (struct engine_result *[]){&result});
    ck_assert(result.is_finite);
    memcpy(out.features, result.features, info->feature_size * sizeof(float));
    ck_assert(engine_scores_as_fitted(model, out.logits, out.fitted));
    out.judgement = result.judgement;
    engine_session_close(session);
    arena_deinit(&arena);
    return out;
}

/* Equal over 10, 20, ...: the mean count of n labels over each, with half an input on both sides.
 */
static void expect_weighed(const struct engine_info *info, const struct answered *natural,
                           const struct answered *equal)
{
    double weighed[LABELS_MAX], sum = 0;
    const double mean = 5.0 * (info->label_count + 1);
    for (unsigned i = 0; i < info->label_count; i++)
        sum += weighed[i] = (double)natural->scores[i] * (mean + 0.5) / (10.0 * (i + 1) + 0.5);
    for (unsigned i = 0; i < info->label_count; i++)
        ck_assert_double_eq_tol((double)equal->scores[i], weighed[i] / sum, 1e-5);
}

static void expect_scores_alone(const char *name, const char *dtype)
{
    link_model(name);
    struct engine_model *model = open_model(dtype, NULL);
    ck_assert_msg(model != NULL, "%s: %s", name, err.text);
    write_attnd(engine_describe(model), "\"class_prior\": \"equal\"");
    engine_close(model);
    struct engine_model *natural_model = open_model(dtype, "natural");
    struct engine_model *equal_model = open_model(dtype, NULL);
    ck_assert_msg(natural_model != NULL && equal_model != NULL, "%s: %s", name, err.text);
    ck_assert_ptr_null(engine_describe(natural_model)->class_prior->shifts);
    const struct answered natural = answer(natural_model), equal = answer(equal_model);
    ck_assert_mem_eq(natural.logits, equal.logits, sizeof natural.logits);
    ck_assert_mem_eq(natural.features, equal.features, sizeof natural.features);
    ck_assert_mem_eq(natural.scores, equal.fitted, sizeof natural.scores);
    ck_assert_float_eq(natural.judgement.ood_score, equal.judgement.ood_score);
    expect_weighed(engine_describe(equal_model), &natural, &equal);
    engine_close(natural_model);
    engine_close(equal_model);
    tempdir_close(&dir);
}

START_TEST(a_class_prior_changes_scores_and_neither_logits_features_nor_strangeness)
{
    expect_scores_alone("bert-5", "f32"); /* in windows */
    expect_scores_alone("bert-5", "int8");
    expect_scores_alone("vit-0", "f32");
    expect_scores_alone("deit-1", "f32"); /* two classifiers */
}
END_TEST

START_TEST(a_model_that_gives_no_one_of_fixed_labels_has_no_class_prior)
{
    link_model("clip-0");
    tempdir_write(&dir, "attnd.json", "{\"class_prior\": \"equal\"}", 24);
    ck_assert_ptr_null(open_model("f32", NULL));
    ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json: $.class_prior is for classifiers that give one of "
                               "several fixed labels (softmax)");
    tempdir_write(&dir, "attnd.json", "{}", 2);
    ck_assert_ptr_null(open_model("f32", "equal"));
    ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    struct engine_model *model = open_model("f32", "natural");
    ck_assert_ptr_nonnull(model);
    engine_close(model);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_chosen_prior_takes_the_place_of_the_checkpoints)
{
    link_model("vit-0");
    struct engine_model *model = open_model("f32", "equal");
    ck_assert_ptr_null(model);
    ck_assert_ptr_nonnull(strstr(err.text, "attnd-eval --calibrate"));
    model = open_model("f32", NULL);
    write_attnd(engine_describe(model), "\"class_prior\": \"natural\"");
    engine_close(model);
    model = open_model("f32", "equal");
    ck_assert_ptr_nonnull(model);
    ck_assert_str_eq(class_prior_name(engine_describe(model)->class_prior), "equal");
    engine_close(model);
    tempdir_close(&dir);
}
END_TEST

static void copy_picture(void)
{
    char *bytes;
    size_t len;
    ck_assert(!file_read(&bytes, &len, PICTURE, 1 << 26, &err));
    tempdir_write(&dir, "case.png", bytes, len);
    free(bytes);
}

START_TEST(a_selftest_holds_whatever_is_expected)
{
    char text[256];
    struct selftest *selftest;
    struct engine_session *session;
    link_model("deit-1");
    struct engine_model *model = open_model("f32", NULL);
    write_attnd(engine_describe(model), "\"class_prior\": \"equal\"");
    engine_close(model);
    model = open_model("f32", NULL);
    const struct answered found = answer(model);
    ck_assert_float_gt(fabsf(found.scores[0] - found.fitted[0]), 2 * (float)SELFTEST_TOLERANCE);
    int len = snprintf(text, sizeof text,
                       "{\"format\": 1, \"cases\": [{\"image_file\": \"case.png\", "
                       "\"scores\": {\"%s\": %.6f}}]}",
                       engine_describe(model)->labels[0], (double)found.fitted[0]);
    tempdir_write(&dir, SELFTEST_FILE, text, (size_t)len);
    copy_picture();
    ck_assert_msg(!selftest_open(&selftest, dir.path, &err), "%s", err.text);
    ck_assert(!engine_session_open(&session, model, TOKENS, 1, &err));
    ck_assert_msg(!selftest_run(selftest, model, session, &err), "%s", err.text);
    selftest_close(selftest);
    engine_session_close(session);
    engine_close(model);
    tempdir_close(&dir);
}
END_TEST

SUITE("class_prior_run", a_class_prior_changes_scores_and_neither_logits_features_nor_strangeness,
      a_model_that_gives_no_one_of_fixed_labels_has_no_class_prior,
      a_chosen_prior_takes_the_place_of_the_checkpoints, a_selftest_holds_whatever_is_expected)
