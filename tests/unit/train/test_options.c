/* options.h: what a person types. */
#include "engine/train/options.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option *option(const char *name)
{
    for (size_t i = 0; i < train_cli_option_count; i++)
        if (train_cli_options[i].name != NULL && strcmp(train_cli_options[i].name, name) == 0)
            return &train_cli_options[i];
    ck_abort_msg("no option '%s'", name);
    return NULL;
}

static enum err_code apply(struct train_options *options, const char *name, const char *value)
{
    struct err err = {0};
    return option(name)->apply(options, value, &err);
}

START_TEST(defaults_are_the_tables)
{
    struct train_options options;
    train_options_default(&options);
    ck_assert_uint_eq(options.epochs, 10);
    ck_assert_float_eq(options.rate, 1e-4f);
    ck_assert_str_eq(options.task, "classify");
    ck_assert_ptr_null(options.model);
    ck_assert(!options.mirror);
    for (size_t i = 0; i < train_cli_option_count; i++) /* every default can be typed */
        if (train_cli_defaults[i][0] != '\0')
            ck_assert_int_eq(apply(&options, train_cli_options[i].name, train_cli_defaults[i]),
                             ERR_OK);
}
END_TEST

START_TEST(values_out_of_bounds_are_refused)
{
    static const char *const wrong[][2] = {
        {"rate", "0"},       {"rate", "1e-4x"},  {"rate", "nan"},       {"epochs", "0"},
        {"dropout", "0.95"}, {"task", "clas"},   {"task", "classify|"}, {"task", ""},
        {"model", ""},       {"batch", "-1"},    {"stages", "48"},      {"stages", "48:"},
        {"stages", "0:3"},   {"stages", "48:0"}, {"stages", "48:3,"},   {"stages", "48:3;96:1"},
        {"seed", "1.5"},     {"store", "int8"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct train_options options;
        train_options_default(&options);
        ck_assert_msg(apply(&options, wrong[i][0], wrong[i][1]) == ERR_UNUSABLE, "--%s %s",
                      wrong[i][0], wrong[i][1]);
    }
}
END_TEST

START_TEST(stages_are_sizes_and_epochs)
{
    struct train_options options;
    struct err err = {0};
    train_options_default(&options);
    options.model = "a";
    options.data = "b";
    options.out = "c";
    ck_assert_int_eq(apply(&options, "stages", "48:20,72:8,96:5"), ERR_OK);
    ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
    ck_assert_uint_eq(options.stages.count, 3);
    ck_assert_uint_eq(options.stages.stage[1].image_size, 72);
    ck_assert_uint_eq(options.stages.stage[2].epochs, 5);
    ck_assert_uint_eq(options.epochs, 33);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    struct train_options options;
    struct err err = {0};
    train_options_default(&options);
    options.model = "a";
    ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "--data PATH"));
}
END_TEST

START_TEST(the_model_is_not_overwritten)
{
    struct train_options options;
    struct err err = {0};
    train_options_default(&options);
    options.model = options.out = "same";
    options.data = "b";
    ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
}
END_TEST

static char *printed(const struct train_options *options)
{
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    train_options_print(options, file);
    fclose(file);
    return text;
}

START_TEST(the_fingerprint_holds_what_decides_the_weights)
{
    struct train_options options;
    train_options_default(&options);
    char *first = printed(&options);
    options.threads = 7;
    options.out = "elsewhere";
    char *same = printed(&options);
    options.dropout = 0.1f;
    char *other = printed(&options);
    ck_assert_str_eq(first, same);
    ck_assert_str_ne(first, other);
    free(first);
    free(same);
    free(other);
}
END_TEST

SUITE("options", defaults_are_the_tables, values_out_of_bounds_are_refused,
      stages_are_sizes_and_epochs, what_is_missing_is_named, the_model_is_not_overwritten,
      the_fingerprint_holds_what_decides_the_weights)
