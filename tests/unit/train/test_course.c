/* schedule.h, sampler.h, plan.h: which inputs, at which rate, at which size. */
#include "engine/train/plan.h"
#include "engine/train/sampler.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 10, CLASSES = 3, DRAWS = 30000 };

static const unsigned classes[ITEMS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2};

static struct sampler open_sampler(size_t *items, float balance, uint64_t seed)
{
    struct sampler sampler;
    struct err err = {0};
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = 100 + i;
    struct sampler_options options = {.items = items,
                                      .classes = classes,
                                      .count = ITEMS,
                                      .class_count = CLASSES,
                                      .balance = balance,
                                      .seed = seed};
    ck_assert_int_eq(sampler_open(&sampler, &options, &err), ERR_OK);
    return sampler;
}

START_TEST(rate_rises_then_falls_along_a_cosine)
{
    const struct schedule schedule = {.peak = 2, .floor = 0.5f, .warmup = 4, .end = 12};
    const float expected[] = {0.5f, 1, 1.5f, 2, 2};
    for (uint64_t step = 0; step < 5; step++)
        ck_assert_float_eq_tol(schedule_rate(&schedule, step), expected[step], 1e-6f);
    ck_assert_float_eq_tol(schedule_rate(&schedule, 8), 1.25f, 1e-6f);
    for (uint64_t step = 5; step < 12; step++)
        ck_assert(schedule_rate(&schedule, step) < schedule_rate(&schedule, step - 1));
    ck_assert_float_eq(schedule_rate(&schedule, 12), 0.5f);
}
END_TEST

START_TEST(passes_show_everything_once_before_anything_twice)
{
    size_t items[ITEMS], order[7], seen[2 * ITEMS] = {0};
    struct sampler sampler = open_sampler(items, 0, 5);
    size_t shown = 0;
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        sampler_epoch(&sampler, epoch, order, 7);
        for (size_t i = 0; i < 7; i++, shown++) {
            seen[order[i] - 100]++;
            ck_assert_uint_le(seen[order[i] - 100], shown / ITEMS + 1);
        }
    }
    sampler_close(&sampler);
}
END_TEST

START_TEST(an_epoch_is_the_same_whatever_came_before)
{
    size_t items[ITEMS], first[ITEMS], again[ITEMS], other[ITEMS];
    struct sampler a = open_sampler(items, 0, 5), b = open_sampler(items, 0, 5),
                   c = open_sampler(items, 0, 6);
    for (uint64_t epoch = 0; epoch <= 3; epoch++)
        sampler_epoch(&a, epoch, first, ITEMS);
    sampler_epoch(&b, 3, again, ITEMS);
    sampler_epoch(&c, 3, other, ITEMS);
    ck_assert_mem_eq(first, again, sizeof first);
    ck_assert_mem_ne(first, other, sizeof first);
    sampler_close(&a);
    sampler_close(&b);
    sampler_close(&c);
}
END_TEST

static void check_shares(float balance, const double *expected)
{
    size_t items[ITEMS], order[DRAWS];
    unsigned counts[CLASSES] = {0};
    struct sampler sampler = open_sampler(items, balance, 1);
    sampler_epoch(&sampler, 0, order, DRAWS);
    for (size_t i = 0; i < DRAWS; i++)
        counts[classes[order[i] - 100]]++;
    for (unsigned c = 0; c < CLASSES; c++) {
        ck_assert_double_eq_tol(sampler_share(&sampler, c), expected[c], 1e-9);
        ck_assert_double_eq_tol((double)counts[c] / DRAWS, expected[c], 0.02);
    }
    sampler_close(&sampler);
}

START_TEST(balance_lifts_the_rare_classes)
{
    check_shares(1, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    double root = sqrt(8);
    check_shares(0.5f, (double[]){root / (root + 2), 1 / (root + 2), 1 / (root + 2)});
}
END_TEST

static struct spec vit(void)
{
    return (struct spec){
        .family = family_find("vit", NULL), .image_size = 96, .patch = 8, .channels = 3};
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

SUITE("course", rate_rises_then_falls_along_a_cosine,
      passes_show_everything_once_before_anything_twice, an_epoch_is_the_same_whatever_came_before,
      balance_lifts_the_rare_classes, stages_follow_each_other,
      a_size_that_patches_do_not_divide_is_refused)
