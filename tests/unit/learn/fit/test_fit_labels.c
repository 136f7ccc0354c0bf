/* fit_labels.h: old labels keep their places, new ones come behind them, and few examples are no
 * label. */
#include "learn/fit/fit_labels.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { ITEMS_MAX = 64 };

static struct dataset_item items[ITEMS_MAX];
static struct dataset dataset;
static struct arena arena;
static size_t carried[2]; /* examples that the model has of each label */

static void add(const char *label, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        items[dataset.count++] = (struct dataset_item){.name = "a", .label = label};
}

static void open_data(void)
{
    dataset = (struct dataset){.items = items};
    arena_init(&arena);
}

START_TEST(new_labels_come_behind_the_old_ones_in_the_order_of_bytes)
{
    static const char *const before[] = {"zebra", "ant"};
    const struct fit_old_labels old = {before, carried, sizeof before / sizeof before[0]};
    struct fit_labels labels;
    struct err err = {0};
    open_data();
    add("yak", 5);
    add("ant", 6);
    add("bee", 7);
    add("zebra", 8);
    ck_assert_int_eq(fit_labels_learn(&labels, &dataset, &old, &arena, &err), ERR_OK);
    static const char *const names[] = {"zebra", "ant", "bee", "yak"};
    static const unsigned counts[] = {8, 6, 7, 5};
    ck_assert_uint_eq(labels.count, 4);
    ck_assert_uint_eq(labels.old_count, 2);
    for (unsigned c = 0; c < 4; c++) {
        ck_assert_str_eq(labels.name[c], names[c]);
        ck_assert_uint_eq(labels.examples[c], counts[c]);
    }
    ck_assert_uint_eq(dataset.count, 26);
    arena_deinit(&arena);
}
END_TEST

START_TEST(inputs_of_a_rare_new_label_are_taken_out)
{
    static const char *const before[] = {"ant", "bee"};
    const struct fit_old_labels old = {before, carried, sizeof before / sizeof before[0]};
    struct fit_labels labels;
    struct err err = {0};
    open_data();
    add("gnu", 4);
    add("ant", 5);
    add("elk", 1);
    add("bee", 5);
    ck_assert_int_eq(fit_labels_learn(&labels, &dataset, &old, &arena, &err), ERR_OK);
    ck_assert_uint_eq(labels.count, 2);
    ck_assert_uint_eq(labels.rare_count, 2);
    ck_assert_str_eq(labels.rare[0].name, "elk");
    ck_assert_uint_eq(labels.rare[1].count, 4);
    ck_assert_uint_eq(dataset.count, 10);
    for (size_t i = 0; i < dataset.count; i++)
        ck_assert_str_eq(dataset.items[i].label, i < 5 ? "ant" : "bee");
    arena_deinit(&arena);
}
END_TEST

START_TEST(an_old_label_with_too_few_inputs_is_an_error)
{
    static const char *const before[] = {"ant", "bee"};
    const struct fit_old_labels old = {before, carried, sizeof before / sizeof before[0]};
    struct fit_labels labels;
    struct err err = {0};
    open_data();
    add("ant", 5);
    add("bee", 4);
    ck_assert_int_eq(fit_labels_learn(&labels, &dataset, &old, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the model's label 'bee' has 4 inputs, and the model carries no "
                               "examples of its own; it needs 5, or the new head would forget it");
    arena_deinit(&arena);
}
END_TEST

START_TEST(examples_that_the_model_carries_count)
{
    static const char *const before[] = {"ant", "bee"};
    const struct fit_old_labels old = {before, carried, sizeof before / sizeof before[0]};
    struct fit_labels labels;
    struct err err = {0};
    open_data();
    carried[0] = 400;
    carried[1] = 4;
    add("cow", 10);
    add("bee", 1);
    ck_assert_int_eq(fit_labels_learn(&labels, &dataset, &old, &arena, &err), ERR_OK);
    ck_assert_uint_eq(labels.examples[0], 400);
    ck_assert_uint_eq(labels.examples[1], 5);
    ck_assert_uint_eq(labels.examples[2], 10);
    arena_deinit(&arena);
}
END_TEST

START_TEST(one_label_is_nothing_to_tell_apart)
{
    static const char *const before[] = {"ant"};
    const struct fit_old_labels old = {before, carried, sizeof before / sizeof before[0]};
    struct fit_labels labels;
    struct err err = {0};
    open_data();
    add("ant", 5);
    ck_assert_int_eq(fit_labels_learn(&labels, &dataset, &old, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "a model of one label has nothing to tell apart");
    arena_deinit(&arena);
}
END_TEST

SUITE("fit_labels", new_labels_come_behind_the_old_ones_in_the_order_of_bytes,
      inputs_of_a_rare_new_label_are_taken_out, an_old_label_with_too_few_inputs_is_an_error,
      examples_that_the_model_carries_count, one_label_is_nothing_to_tell_apart)
