/* plan.h: how many steps, at which size and rate, and how inputs are prepared. */
#include "learn/train/loop/plan.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static struct spec vit(void)
{
    return (struct spec){
        .family = family_find("vit", NULL), .image_size = {96, 96}, .patch = {8, 8}, .channels = 3};
}

START_TEST(stages_follow_each_other)
{
    struct train_options options;
    struct spec spec = vit();
    struct plan plan;
    struct err err = {0};
    train_options_default(&options);
    options.batch = 10;
    options.stages = (struct train_stages){.stage = {{48, 2}, {96, 1}}, .count = 2};
    options.epochs = 3;
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_OK);
    ck_assert_uint_eq(plan.epoch_steps, 10);
    ck_assert_uint_eq(plan.steps, 30);
    ck_assert_uint_eq(plan_image_size(&plan, 0), 48);
    ck_assert_uint_eq(plan_image_size(&plan, 1), 48);
    ck_assert_uint_eq(plan_image_size(&plan, 2), 96);
    ck_assert_double_eq(plan_work(&plan, &spec, 10), 10 * 37.0);
    ck_assert_double_eq(plan_work(&plan, &spec, 30), 20 * 37.0 + 10 * 145.0);
}
END_TEST

START_TEST(a_size_that_patches_do_not_divide_is_refused)
{
    struct train_options options;
    struct spec spec = vit();
    struct plan plan;
    struct err err = {0};
    train_options_default(&options);
    options.stages = (struct train_stages){.stage = {{50, 2}}, .count = 1};
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "50 pixels"));
}
END_TEST

START_TEST(plan_refuses_an_image_size_that_relative_positions_do_not_fit)
{
    struct train_options options;
    struct spec spec = vit();
    struct plan plan;
    struct err err = {0};
    spec.family = family_find("beit", NULL);
    train_options_default(&options);
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_OK);
    options.stages = (struct train_stages){.stage = {{48, 2}, {96, 1}}, .count = 2};
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "--stages: 48 pixels: the relative positions of a beit are for its 96");
}
END_TEST

START_TEST(plan_learns_images_that_are_no_squares_at_their_own_size)
{
    struct train_options options;
    struct spec spec = vit();
    struct plan plan;
    struct err err = {0};
    spec_set_image_size(&spec, (struct extent){48, 320});
    train_options_default(&options);
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_OK);
    ck_assert_uint_eq(plan_image_size(&plan, 0), 0);
    options.stages = (struct train_stages){.stage = {{48, 2}}, .count = 1};
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "--stages is for square images; the model reads 48 x 320 pixels in "
                               "patches of 8");
    err = (struct err){0};
    options.stages.count = 0;
    spec.family = family_find("dinov2", NULL);
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 95, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "images become 48 x 320; the positions of a dinov2 are learnt on squares");
}
END_TEST

static struct spec bert(void)
{
    return (struct spec){.family = family_find("bert", NULL), .positions = 16};
}

static struct plan make(const struct train_options *options, const struct spec *spec, size_t inputs)
{
    struct plan plan;
    struct err err = {0};
    ck_assert_msg(plan_make(&plan, options, spec, inputs, &err) == ERR_OK, "%s", err.text);
    return plan;
}

START_TEST(steps_and_rates_follow_from_the_options)
{
    struct train_options options;
    struct spec spec = vit();
    train_options_default(&options);
    options.batch = 8;
    options.epochs = 5;
    options.freeze_epochs = 2;
    options.rate = 0.5f;
    options.rate_floor = 0.25f;
    options.warmup = 0.26f; /* of 65: 16.9 steps */
    struct plan plan = make(&options, &spec, 97);
    ck_assert(plan.batch == 8 && plan.epochs == 5 && plan.freeze_epochs == 2);
    ck_assert(plan.epoch_inputs == 97 && plan.epoch_steps == 13 && plan.steps == 65);
    ck_assert(plan.schedule.warmup == 16 && plan.schedule.end == 65);
    ck_assert(plan.schedule.peak == 0.5f && plan.schedule.floor == 0.125f);
    ck_assert(plan.stages.count == 1 && plan.stages.stage[0].image_size == 96 &&
              plan.stages.stage[0].epochs == 5);
    ck_assert_uint_eq(plan_image_size(&plan, 0), 96);
    ck_assert_uint_eq(plan_image_size(&plan, 9), 96); /* behind the end: the last stage's */
    options.epoch_inputs = 16;
    plan = make(&options, &spec, 97);
    ck_assert(plan.epoch_inputs == 16 && plan.epoch_steps == 2 && plan.steps == 10);
    options.epoch_inputs = 1;
    plan = make(&options, &spec, 97);
    ck_assert(plan.epoch_inputs == 1 && plan.epoch_steps == 1);
}
END_TEST

/* Judging is as serving prepares: nothing of chance is in its view. */
START_TEST(views_take_what_each_option_says)
{
    struct train_options options;
    struct spec spec = bert();
    train_options_default(&options);
    options.tokens = 12;
    options.line_dropout = 0.125f;
    options.word_dropout = 0.25f;
    options.mirror = options.turn = true;
    options.spin = 0.375f;
    options.shift = 0.5f;
    options.die_noise = 0.0625f;
    options.die_dropout = 0.75f;
    options.contrast = 0.875f;
    struct plan plan = make(&options, &spec, 9);
    const struct samples_view *view = &plan.learning;
    const struct augment *augment = &view->augment;
    struct samples_view judging = {.tokens_max = 12};
    ck_assert_mem_eq(&plan.judging, &judging, sizeof judging);
    ck_assert(view->tokens_max == 12 && view->image_size.height == 0 && !view->any_window);
    ck_assert(view->line_dropout == 0.125f && view->word_dropout == 0.25f);
    ck_assert(augment->mirror == 0.5f && augment->turn == 1 && augment->spin == 0.375f);
    ck_assert(augment->shift == 0.5f && augment->die_noise == 0.0625f);
    ck_assert(augment->die_dropout == 0.75f && augment->noise == 0);
    ck_assert(augment->brightness == 0.875f && augment->contrast == 0.875f);
    options.mirror = options.turn = false;
    options.window = "any";
    plan = make(&options, &spec, 9);
    ck_assert(plan.learning.any_window && !plan.judging.any_window);
    ck_assert(plan.learning.augment.mirror == 0 && plan.learning.augment.turn == 0);
}
END_TEST

START_TEST(texts_have_one_stage_of_no_size)
{
    struct train_options options;
    struct spec spec = bert();
    struct plan plan;
    struct err err = {0};
    train_options_default(&options);
    options.epochs = 3;
    options.batch = 4;
    plan = make(&options, &spec, 10);
    ck_assert(plan.stages.count == 1 && plan.stages.stage[0].image_size == 0 &&
              plan.stages.stage[0].epochs == 3);
    ck_assert_double_eq(plan_work(&plan, &spec, 0), 0);
    ck_assert_double_eq(plan_work(&plan, &spec, 5), 10);
    ck_assert_double_eq(plan_work(&plan, &spec, 100), 18); /* nine steps are all there is */
    options.stages = (struct train_stages){.stage = {{48, 2}}, .count = 1};
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 10, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "--stages is for images; the model reads texts");
}
END_TEST

START_TEST(work_and_size_change_at_a_stages_first_step)
{
    struct train_options options;
    struct spec spec = vit();
    struct err err = {0};
    train_options_default(&options);
    options.batch = 10;
    options.stages = (struct train_stages){.stage = {{16, 1}, {24, 2}, {32, 1}}, .count = 3};
    options.epochs = 4;
    struct plan plan = make(&options, &spec, 20);
    static const unsigned sizes[] = {16, 24, 24, 32, 32};
    static const double work[] = {0, 5, 10, 20, 30, 40, 50, 67, 84, 84};
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(plan_image_size(&plan, i), sizes[i]);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_double_eq(plan_work(&plan, &spec, i), work[i]);
    options.stages.stage[2].image_size = 33; /* the last one is looked at too */
    ck_assert_int_eq(plan_make(&plan, &options, &spec, 20, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "--stages: 33 pixels are no multiple of the model's patches of 8");
}
END_TEST

START_TEST(rate_rises_then_falls_along_a_cosine)
{
    const struct plan_schedule schedule = {.peak = 2, .floor = 0.5f, .warmup = 4, .end = 12};
    const float expected[] = {0.5f, 1, 1.5f, 2, 2};
    for (uint64_t step = 0; step < 5; step++)
        ck_assert_float_eq_tol(plan_rate(&schedule, step), expected[step], 1e-6f);
    ck_assert_float_eq_tol(plan_rate(&schedule, 8), 1.25f, 1e-6f);
    for (uint64_t step = 5; step < 12; step++)
        ck_assert(plan_rate(&schedule, step) < plan_rate(&schedule, step - 1));
    ck_assert_float_eq(plan_rate(&schedule, 12), 0.5f);
}
END_TEST

/* Step k of n after the warm-up has the rate floor + (peak - floor) (1 + cos(pi k / n)) / 2. */
START_TEST(every_step_has_the_rate_of_the_formula)
{
    const struct plan_schedule schedule = {.peak = 0.75f, .floor = 0.25f, .warmup = 2, .end = 7};
    for (uint64_t step = 2; step < 9; step++) {
        double half = step < 7 ? (1 + cos(acos(-1) * (double)(step - 2) / 5)) / 2 : 0;
        ck_assert_float_eq_tol(plan_rate(&schedule, step), (float)(0.25 + 0.5 * half), 1e-7f);
    }
    const struct plan_schedule cold = {.peak = 0.75f, .floor = 0.25f, .warmup = 0, .end = 4};
    ck_assert_float_eq(plan_rate(&cold, 0), 0.75f);
    ck_assert_float_eq_tol(plan_rate(&cold, 2), 0.5f, 1e-7f);
}
END_TEST

SUITE("plan", stages_follow_each_other, a_size_that_patches_do_not_divide_is_refused,
      plan_refuses_an_image_size_that_relative_positions_do_not_fit,
      plan_learns_images_that_are_no_squares_at_their_own_size,
      steps_and_rates_follow_from_the_options, views_take_what_each_option_says,
      texts_have_one_stage_of_no_size, work_and_size_change_at_a_stages_first_step,
      rate_rises_then_falls_along_a_cosine, every_step_has_the_rate_of_the_formula)
