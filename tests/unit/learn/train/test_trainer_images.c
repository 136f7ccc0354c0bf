/* trainer.h on images: whole runs of a tiny ViT on pictures with one bright half, and what each
 * option of the inputs does to them.
 *
 * A run is the same on every machine but for the order in which its instruction set sums. Losses
 * are compared within 0.002: the same runs with bf16 products, which round 2^15 times as coarsely,
 * end within 0.0014 of them. */
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "engine/vision/input_formats.h"
#include "engine/vision/png.h"
#include "learn/eval/measure/evaluation.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture f;

/* Mean loss of guessing between two labels. */
static const double guessing = 0.69314718055994531;
static const double tolerance = 0.003;

/* losses [epochs]: the training loss and the validation loss. */
static void expect_losses(const struct history *history, const double losses[][2], unsigned epochs)
{
    ck_assert_uint_eq(history->count, epochs);
    for (unsigned i = 0; i < epochs; i++) {
        ck_assert_double_eq_tol(history->epochs[i].train_loss, losses[i][0], tolerance);
        ck_assert_double_eq_tol(history->epochs[i].validation_loss, losses[i][1], tolerance);
    }
}

static void expect_curve(const struct history *history)
{
    static const double losses[][2] = {{0.69642, 0.61698}, {0.45705, 0.27212}, {0.20452, 0.13315},
                                       {0.10639, 0.08041}, {0.07236, 0.06494}, {0.06321, 0.06220}};
    expect_losses(history, losses, 6);
    for (unsigned i = 0; i < 6; i++) {
        const struct history_epoch *epoch = &history->epochs[i];
        ck_assert_double_eq_tol(epoch->macro_f1, i == 0 ? 1.0 / 3 : 1, 1e-12);
        ck_assert_double_eq_tol(epoch->accuracy, i == 0 ? 0.5 : 1, 1e-12);
        ck_assert(epoch->image_size == TRAIN_FIXTURE_SIDE && epoch->epoch == i + 1);
        ck_assert(epoch->skipped == 0 && epoch->seconds > 0);
    }
}

/* The pictures of the checkpoint were grey, and its files say so to the server. */
static void expect_grey(void)
{
    struct arena arena;
    struct spec spec;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err), "%s", err.text);
    ck_assert(spec.policy.learnt_grey);
    arena_deinit(&arena);
}

START_TEST(images_are_learnt_and_their_checkpoint_is_served)
{
    struct evaluation evaluation;
    struct evaluation_options how = {.threads = 1};
    struct confusion confusion;
    struct dataset dataset;
    struct dataset_options fields = {.kind = ENGINE_IMAGE};
    struct engine_model *model;
    struct err err = {0};
    unsigned classes[TRAIN_FIXTURE_IMAGES];
    train_fixture_images(&f, "right");
    struct trainer_result result = train_fixture_run(&f);
    expect_curve(&result.history);
    trainer_result_free(&result);
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err) &&
                      !dataset_open(&dataset, f.list, &fields, &err),
                  "%s", err.text);
    const struct engine_info *info = engine_describe(model);
    ck_assert_msg(!dataset_match(&dataset, info->labels, info->label_count, classes, &err) &&
                      !evaluation_run(&evaluation, model, &dataset, &how, &err) &&
                      !evaluation_measure(&evaluation, classes, &confusion, &err),
                  "%s", err.text);
    ck_assert_uint_eq(confusion.hits, TRAIN_FIXTURE_IMAGES);
    expect_grey();
    confusion_close(&confusion);
    evaluation_close(&evaluation);
    dataset_close(&dataset);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

START_TEST(threads_do_not_change_the_weights)
{
    train_fixture_images(&f, "right");
    f.options.mirror = f.options.turn = true;
    f.options.shift = 0.25f;
    f.options.epochs = 2;
    train_fixture_learn(&f);
    f.options.threads = 3;
    f.options.out = f.second.path;
    train_fixture_learn(&f);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* Loss of the last of twelve epochs with what the caller has set. */
static double loss_of_run(void)
{
    f.options.epochs = 12;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_uint_eq(result.history.count, 12);
    double loss = result.history.epochs[result.history.count - 1].train_loss;
    trainer_result_free(&result);
    train_fixture_close(&f);
    return loss;
}

/* The left of one picture is the right of another: nothing remains to be learnt. */
START_TEST(mirrored_pictures_have_no_left_and_right)
{
    train_fixture_images(&f, "right");
    f.options.mirror = true;
    ck_assert_double_eq_tol(loss_of_run(), guessing, tolerance);
    train_fixture_images(&f, "top");
    f.options.mirror = true;
    ck_assert_double_eq_tol(loss_of_run(), 0.01514, tolerance);
}
END_TEST

START_TEST(turned_pictures_have_no_left_and_top)
{
    train_fixture_images(&f, "top");
    f.options.turn = true;
    ck_assert_double_eq_tol(loss_of_run(), guessing, tolerance);
    train_fixture_images(&f, "top");
    ck_assert_double_eq_tol(loss_of_run(), 0.01181, tolerance);
}
END_TEST

static void set_spin(struct train_options *options)
{
    options->spin = 1;
}
static void set_shift(struct train_options *options)
{
    options->shift = 0.25f;
}
static void set_die_noise(struct train_options *options)
{
    options->die_noise = 0.2f;
}
static void set_die_dropout(struct train_options *options)
{
    options->die_dropout = 0.5f;
}
static void set_contrast(struct train_options *options)
{
    options->contrast = 0.5f;
}

/* The first picture becomes a ramp of greys, which is no wafer map: contrast is for such. */
static void add_ramp(void)
{
    unsigned char rgb[TRAIN_FIXTURE_SIDE * TRAIN_FIXTURE_SIDE * 3];
    struct image image = {TRAIN_FIXTURE_SIDE, TRAIN_FIXTURE_SIDE, rgb};
    struct err err = {0};
    char *png;
    size_t len;
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)(255 - i / 3);
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    tempdir_write(&f.data, "00.png", png, len);
    free(png);
}

/* The seed is the same, so that all else is the same. */
START_TEST(every_augmentation_changes_what_is_learnt)
{
    void (*const sets[])(struct train_options *) = {set_spin, set_shift, set_die_noise,
                                                    set_die_dropout, set_contrast};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        train_fixture_images(&f, "right");
        add_ramp();
        f.options.epochs = 1;
        train_fixture_learn(&f);
        f.options.out = f.second.path;
        sets[i](&f.options);
        train_fixture_learn(&f);
        train_fixture_expect_other(&f.first, &f.second);
        train_fixture_close(&f);
    }
}
END_TEST

/* Small images first; positions are resized on the way, and the checkpoint is of the last size. */
START_TEST(stages_take_a_model_from_small_images_to_large_ones)
{
    struct engine_model *model;
    struct err err = {0};
    train_fixture_images(&f, "right");
    f.options.stages = (struct train_stages){.stage = {{8, 3}, {16, 3}}, .count = 2};
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_eq(result.history.epochs[2].image_size, 8);
    ck_assert_double_eq(result.history.epochs[3].image_size, 16);
    static const double losses[][2] = {{0.60004, 0.33872}, {0.23167, 0.12381}, {0.08740, 0.05303},
                                       {0.04252, 0.03269}, {0.02992, 0.02737}, {0.02678, 0.02647}};
    expect_losses(&result.history, losses, 6);
    ck_assert_double_eq(result.history.epochs[5].macro_f1, 1);
    trainer_result_free(&result);
    ck_assert(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err));
    ck_assert_uint_eq(engine_describe(model)->image_width, 16);
    engine_close(model);
    train_fixture_close(&f);
}
END_TEST

/* Stopped after the first stage and taken up again at the size that it had. */
START_TEST(a_run_in_stages_that_was_stopped_ends_with_the_same_weights)
{
    train_fixture_images(&f, "right");
    f.options.stages = (struct train_stages){.stage = {{8, 2}, {16, 2}}, .count = 2};
    f.options.epochs = 4;
    f.options.average = 0.9f;
    train_fixture_learn(&f);
    ck_assert(f.plan_calls == 1 && !f.plan.resumed);
    f.options.out = f.second.path;
    f.learning_calls = 0;
    f.stop_after = 3;
    train_fixture_learn(&f);
    ck_assert(train_fixture_has(&f.second, "training-state.safetensors"));
    atomic_store(&f.stop, false);
    f.stop_after = 0;
    train_fixture_learn(&f);
    ck_assert(f.plan.resumed && f.plan.step > 0 && f.plan.step < f.plan.steps);
    train_fixture_expect_same(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* 48 pictures, of which a tenth of each class is held back; the last picture is none. */
START_TEST(a_plan_tells_what_will_be_learnt)
{
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "47.png", "none", 4);
    f.options.epochs = 2;
    train_fixture_learn(&f);
    ck_assert_uint_eq(f.plan_calls, 1);
    ck_assert_str_eq(f.plan.family, "vit");
    ck_assert_str_eq(f.plan.precision, "f32");
    ck_assert(f.plan.train == 43 && f.plan.validation == 4 && f.plan.unusable == 1);
    ck_assert_str_eq(f.unusable, "47.png: the image is not " INPUT_FORMATS_OR " (4 bytes)");
    ck_assert(f.plan.labels == 2 && f.plan.epochs == 2 && f.plan.threads == 1);
    ck_assert(f.plan.steps == 12 && f.plan.step == 0 && !f.plan.resumed);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_structured_beginning_learns_images)
{
    train_fixture_images(&f, "right");
    train_fixture_learn(&f);
    f.options.init = "structured";
    f.options.out = f.second.path;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_eq(result.history.epochs[5].macro_f1, 1);
    ck_assert_double_eq_tol(result.history.epochs[0].train_loss, 0.67544, tolerance);
    ck_assert_double_eq_tol(result.history.epochs[5].validation_loss, 0.04035, tolerance);
    trainer_result_free(&result);
    train_fixture_expect_other(&f.first, &f.second);
    train_fixture_close(&f);
}
END_TEST

/* The moving average begins with what was fitted to the inputs: at a rate that changes nothing,
 * what is kept is the same with it and without. */
START_TEST(a_structured_beginning_is_what_averages_begin_with)
{
    size_t len;
    train_fixture_images(&f, "right");
    f.options.init = "structured";
    f.options.epochs = 1;
    f.options.rate = 1e-8f;
    f.options.weight_decay = 0;
    train_fixture_learn(&f);
    f.options.average = 0.99f;
    f.options.out = f.second.path;
    train_fixture_learn(&f);
    char *plain = train_fixture_weights(&f.first, &len);
    char *averaged = train_fixture_weights(&f.second, &len);
    uint64_t header;
    memcpy(&header, plain, sizeof header);
    for (size_t at = sizeof header + header; at + sizeof(float) <= len; at += sizeof(float)) {
        float a, b;
        memcpy(&a, plain + at, sizeof a);
        memcpy(&b, averaged + at, sizeof b);
        ck_assert(fabsf(a - b) < 1e-6f + 1e-6f * fabsf(a));
    }
    free(plain);
    free(averaged);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_structured_beginning_is_for_images_with_heads_that_can_be_turned)
{
    static const char narrow[] =
        "{\"model_type\":\"vit\",\"hidden_size\":12,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"intermediate_size\":16,\"image_size\":16,\"patch_size\":4}";
    for (unsigned is_text = 0; is_text < 2; is_text++) {
        struct trainer_hooks hooks = {0};
        struct trainer_result result;
        struct err err = {0};
        if (is_text)
            train_fixture_texts(&f);
        else
            train_fixture_images(&f, "right");
        if (!is_text)
            tempdir_write(&f.model, "config.json", narrow, strlen(narrow));
        f.options.init = "structured";
        ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "--init structured is for images and heads that are a multiple "
                                   "of 4 wide");
        train_fixture_close(&f);
    }
}
END_TEST

/* A family without learnt positions, or with a gate, has no use for it. */
START_TEST(a_structured_beginning_is_for_learnt_positions_and_a_plain_mlp)
{
    static const char *const configs[] = {
        "{\"model_type\":\"beit\",\"hidden_size\":16,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"image_size\":16,\"patch_size\":4,"
        "\"use_relative_position_bias\":true}",
        "{\"model_type\":\"dinov2\",\"hidden_size\":16,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"image_size\":16,\"patch_size\":4,\"use_swiglu_ffn\":true}"};
    for (size_t i = 0; i < 2; i++) {
        struct trainer_hooks hooks = {0};
        struct trainer_result result;
        struct err err = {0};
        train_fixture_images(&f, "right");
        tempdir_write(&f.model, "config.json", configs[i], strlen(configs[i]));
        f.options.init = "structured";
        ck_assert_int_eq(trainer_run(&f.options, &hooks, &result, &err), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "--init structured is for learnt positions and an MLP without a "
                                   "gate");
        train_fixture_close(&f);
    }
}
END_TEST

/* The checkpoint that was written can be opened. */
static void expect_served(const char *family, unsigned size)
{
    struct engine_model *model;
    struct err err = {0};
    ck_assert_msg(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_str_eq(engine_describe(model)->family, family);
    ck_assert_uint_eq(engine_describe(model)->image_width, size);
    engine_close(model);
}

START_TEST(families_that_read_all_patches_are_learnt_and_served)
{
    static const struct {
        const char *name, *config;
        struct train_stages stages;
    } cases[] = {
        {"dinov2", "\"mlp_ratio\":2,\"use_swiglu_ffn\":true", {{{0, 0}}, 0}},
        {"dinov2-with-registers", "\"mlp_ratio\":2", {{{8, 3}, {16, 3}}, 2}},
        {"beit", "\"intermediate_size\":32,\"use_relative_position_bias\":true", {{{0, 0}}, 0}},
        {"swin",
         "\"embed_dim\":12,\"depths\":[2,1],\"num_heads\":[1,2],\"window_size\":2,"
         "\"mlp_ratio\":2",
         {{{0, 0}}, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[512];
        train_fixture_images(&f, "right");
        snprintf(config, sizeof config,
                 "{\"model_type\":\"%s\",\"hidden_size\":24,\"num_hidden_layers\":2,"
                 "\"num_attention_heads\":2,\"image_size\":16,\"patch_size\":4,%s}",
                 i == 1 ? "dinov2_with_registers" : cases[i].name, cases[i].config);
        tempdir_write(&f.model, "config.json", config, strlen(config));
        f.options.stages = cases[i].stages;
        struct trainer_result result = train_fixture_run(&f);
        const struct history_epoch *last = &result.history.epochs[5];
        ck_assert_msg(last->macro_f1 > 0.9, "%s: %g", cases[i].name, last->macro_f1);
        ck_assert_double_lt(last->train_loss, result.history.epochs[0].train_loss);
        trainer_result_free(&result);
        expect_served(cases[i].name, 16);
        train_fixture_close(&f);
    }
}
END_TEST

/* A distilled DeiT, which has one token more than its student and the other image size. All of the
 * loss is the teacher's, so that what is learnt is what it knows. */
START_TEST(a_student_learns_images_from_a_teacher_of_another_shape)
{
    static const char teacher[] =
        "{\"model_type\":\"deit\",\"architectures\":[\"DeiTForImageClassificationWithTeacher\"],"
        "\"hidden_size\":24,\"num_hidden_layers\":2,\"num_attention_heads\":2,"
        "\"intermediate_size\":32,\"image_size\":16,\"patch_size\":4}";
    static const char student[] =
        "{\"model_type\":\"vit\",\"hidden_size\":16,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"intermediate_size\":32,\"image_size\":12,\"patch_size\":4}";
    train_fixture_images(&f, "right");
    tempdir_write(&f.model, "config.json", teacher, strlen(teacher));
    train_fixture_learn(&f);
    tempdir_write(&f.model, "config.json", student, strlen(student));
    tempdir_write(&f.model, "preprocessor_config.json", "{\"size\": 12}", 12);
    f.options.teacher = (struct train_paths){{f.first.path}, 1};
    f.options.teacher_share = 1;
    f.options.out = f.second.path;
    f.options.seed = 3;
    f.options.epochs = 8;
    struct trainer_result result = train_fixture_run(&f);
    ck_assert_double_eq(result.history.epochs[7].macro_f1, 1);
    ck_assert_double_lt(result.history.epochs[7].train_loss, result.history.epochs[0].train_loss);
    trainer_result_free(&result);
    train_fixture_close(&f);
}
END_TEST

SUITE("trainer_images", images_are_learnt_and_their_checkpoint_is_served,
      threads_do_not_change_the_weights, mirrored_pictures_have_no_left_and_right,
      turned_pictures_have_no_left_and_top, every_augmentation_changes_what_is_learnt,
      stages_take_a_model_from_small_images_to_large_ones,
      a_run_in_stages_that_was_stopped_ends_with_the_same_weights, a_plan_tells_what_will_be_learnt,
      a_structured_beginning_learns_images, a_structured_beginning_is_what_averages_begin_with,
      a_structured_beginning_is_for_images_with_heads_that_can_be_turned,
      a_structured_beginning_is_for_learnt_positions_and_a_plain_mlp,
      families_that_read_all_patches_are_learnt_and_served,
      a_student_learns_images_from_a_teacher_of_another_shape)
