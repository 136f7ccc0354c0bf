/* options.h: the arguments that a person types. */
#include "learn/train/loop/options.h"
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
    return cli_option_set(option(name), options, value, &err);
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
        if (train_cli_options[i].fallback != NULL && train_cli_options[i].fallback[0] != '\0')
            ck_assert_int_eq(
                apply(&options, train_cli_options[i].name, train_cli_options[i].fallback), ERR_OK);
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

START_TEST(model_data_and_out_must_be_given)
{
    for (size_t i = 0; i < train_cli_option_count; i++) {
        const char *name = train_cli_options[i].name;
        bool needed = name != NULL && (strcmp(name, "model") == 0 || strcmp(name, "data") == 0 ||
                                       strcmp(name, "out") == 0);
        ck_assert_msg(train_cli_options[i].is_required == needed, "%s", name);
    }
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
    ck_assert_str_eq(err.text, "--out must not be --model, which it would replace");
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

/* Each bound is allowed, what lies beyond it is not, and the text says the bounds. */
START_TEST(bounds_are_part_of_what_is_allowed)
{
    static const struct {
        const char *name, *low, *high, *below, *above, *text;
    } rows[] = {
        {"epochs", "1", "100000", "0", "100001", "must be a whole number from 1 to 100000"},
        {"threads", "0", "1024", "-1", "1025", "must be a whole number from 0 to 1024"},
        {"seed", "0", "4294967295", "-1", "4294967296",
         "must be a whole number from 0 to 4294967295"},
        {"warmup", "0", "0.9", "-0.1", "0.91", "must be a number from 0 to 0.9"},
        {"rate", "1e-8", "1", "9e-9", "1.01", "must be a number from 1e-08 to 1"},
        {"entropy", "-10", "10", "-10.1", "10.1", "must be a number from -10 to 10"},
        {"target-precision", "0.5", "1", "0.49", "", "must be a number from 0.5 to 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options;
        train_options_default(&options);
        ck_assert_int_eq(apply(&options, rows[i].name, rows[i].low), ERR_OK);
        ck_assert_int_eq(apply(&options, rows[i].name, rows[i].high), ERR_OK);
        for (unsigned k = 0; k < 2; k++) {
            struct err err = {0};
            const char *wrong = k == 0 ? rows[i].below : rows[i].above;
            ck_assert_int_eq(cli_option_set(option(rows[i].name), &options, wrong, &err),
                             ERR_UNUSABLE);
            ck_assert_str_eq(err.text, rows[i].text);
        }
    }
}
END_TEST

START_TEST(words_are_those_of_the_choice_and_no_parts_of_them)
{
    static const char *const right[] = {"auto", "f32", "bf16"};
    static const char *const wrong[] = {"",         "aut", "f3", "bf1",   "auto|",
                                        "auto|f32", "32",  "|",  "bf16 ", "uto"};
    struct train_options options;
    struct err err = {0};
    train_options_default(&options);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(apply(&options, "precision", right[i]), ERR_OK);
        ck_assert_str_eq(options.precision, right[i]);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct err){0};
        ck_assert_int_eq(cli_option_set(option("precision"), &options, wrong[i], &err),
                         ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "must be one of auto|f32|bf16");
        ck_assert_str_eq(options.precision, "bf16");
    }
    err = (struct err){0};
    ck_assert_int_eq(cli_option_set(option("model"), &options, "", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "must not be empty");
    ck_assert_int_eq(apply(&options, "mirror", ""), ERR_OK);
    ck_assert(options.mirror && !options.turn);
}
END_TEST

START_TEST(stages_are_read_to_their_limits)
{
    static const char *const wrong[] = {"",     ":3",     "48:3,", "4097:1", "48:100001", "a:1",
                                        "48:a", "48 :1",  "/8:1",  "48:/",   ";8:1",      "48:;",
                                        "48;1", "48:1,:", "+8:1",  "48:-1",  "48:1;"};
    struct train_options options;
    struct err err = {0};
    char text[TRAIN_STAGES_MAX * 8 + 8] = "", want[128];
    train_options_default(&options);
    ck_assert_int_eq(apply(&options, "stages", "4096:100000,1:1,90:9"), ERR_OK);
    ck_assert(options.stages.count == 3 && options.stages.stage[0].image_size == 4096 &&
              options.stages.stage[0].epochs == 100000 && options.stages.stage[1].image_size == 1 &&
              options.stages.stage[1].epochs == 1 && options.stages.stage[2].image_size == 90);
    for (unsigned i = 0; i < TRAIN_STAGES_MAX; i++)
        snprintf(text + strlen(text), 8, "%s8:1", i > 0 ? "," : "");
    ck_assert_int_eq(apply(&options, "stages", text), ERR_OK);
    ck_assert_uint_eq(options.stages.count, TRAIN_STAGES_MAX);
    strcat(text, ",8:1");
    snprintf(want, sizeof want,
             "must be at most %d stages SIZE:EPOCHS with commas between them, as in 48:20,96:5",
             TRAIN_STAGES_MAX);
    ck_assert_int_eq(cli_option_set(option("stages"), &options, text, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, want);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(apply(&options, "stages", wrong[i]) == ERR_UNUSABLE, "'%s'", wrong[i]);
}
END_TEST

START_TEST(options_name_those_that_exclude_each_other)
{
    static const char mlm[] = "--task mlm goes with none of --teacher, --teacher-logits, "
                              "--logit-adjust, --multi-label and --stages";
    static const struct {
        bool mlm, teacher, logits, adjusted, several, staged, balanced;
        const char *text; /* NULL: it goes */
    } rows[] = {
        {1, 0, 0, 0, 0, 0, 1, NULL},
        {0, 1, 1, 1, 0, 1, 1, NULL},
        {0, 0, 0, 0, 1, 1, 0, NULL},
        {1, 1, 0, 0, 0, 0, 0, mlm},
        {1, 0, 1, 0, 0, 0, 0, mlm},
        {1, 0, 0, 1, 0, 0, 0, mlm},
        {1, 0, 0, 0, 1, 0, 0, mlm},
        {1, 0, 0, 0, 0, 1, 0, mlm},
        {0, 1, 1, 1, 1, 0, 1, "--teacher does not go with --multi-label"},
        {0, 0, 1, 1, 1, 0, 1, "--teacher-logits does not go with --multi-label"},
        {0, 0, 0, 1, 1, 0, 1, "--logit-adjust does not go with --multi-label"},
        {0, 0, 0, 0, 1, 0, 1, "--balance does not go with --multi-label"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options;
        struct err err = {0};
        train_options_default(&options);
        options.model = "a";
        options.data = "b";
        options.out = "c";
        options.task = rows[i].mlm ? "mlm" : "classify";
        options.teacher = (struct train_paths){{"t"}, rows[i].teacher};
        options.teacher_logits = (struct train_paths){{"l"}, rows[i].logits};
        options.logit_adjust = rows[i].adjusted ? 1 : 0;
        options.multi_label = rows[i].several;
        options.balance = rows[i].balanced ? 0.5f : 0;
        options.stages = (struct train_stages){{{8, 2}, {16, 3}}, rows[i].staged ? 2 : 0};
        ck_assert_int_eq(train_options_check(&options, &err), err.code);
        ck_assert_int_eq(err.code, rows[i].text != NULL ? ERR_UNUSABLE : ERR_OK);
        ck_assert_str_eq(err.text, rows[i].text != NULL ? rows[i].text : "");
        if (rows[i].text == NULL)
            ck_assert_uint_eq(options.epochs, rows[i].staged ? 5 : 10);
    }
}
END_TEST

START_TEST(options_of_labels_are_refused_for_numbers)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"label-smoothing", "0.1"}, {"balance", "0.5"},   {"class-weight", "0.5"},
                {"logit-adjust", "1"},      {"teacher", "t"},     {"teacher-logits", "l"},
                {"ngrams", "100"},          {"multi-label", "1"}, {"class-biases", "fit"},
                {"ood-method", "energy"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options;
        struct err err = {0};
        char want[96];
        train_options_default(&options);
        options.model = "a";
        options.data = "b";
        options.out = "c";
        options.task = "regression";
        ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
        if (strcmp(rows[i].name, "multi-label") == 0)
            options.multi_label = true;
        else
            ck_assert(!apply(&options, rows[i].name, rows[i].value));
        ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
        snprintf(want, sizeof want, "--%s is for labels; --task regress learns numbers",
                 rows[i].name);
        ck_assert_str_eq(err.text, want);
    }
}
END_TEST

static struct train_options with_task(const char *task)
{
    struct train_options options;
    train_options_default(&options);
    options.model = "a";
    options.data = "b";
    options.out = "c";
    options.task = task;
    return options;
}

START_TEST(tasks_have_their_names_and_their_older_ones)
{
    static const struct {
        const char *name, *kept; /* kept: in the record of a run */
        enum train_task task;
    } rows[] = {{"classify", "classify", TRAIN_CLASSIFY},
                {"regress", "regression", TRAIN_REGRESS},
                {"embed", "embed", TRAIN_EMBED},
                {"regression", "regression", TRAIN_REGRESS},
                {"mlm", "mlm", TRAIN_MLM},
                {"multi-label", "classify", TRAIN_MULTI_LABEL},
                {"tag", "tag", TRAIN_TAG},
                {"seq2seq", "seq2seq", TRAIN_WRITE},
                {"pair", "pair", TRAIN_PAIR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options = with_task(rows[i].name);
        struct err err = {0};
        ck_assert(!apply(&options, "task", rows[i].name));
        ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
        ck_assert(train_task(&options) == rows[i].task);
        ck_assert_str_eq(options.task, rows[i].kept);
    }
    struct train_options older = with_task("classify");
    older.multi_label = true;
    ck_assert(train_task(&older) == TRAIN_MULTI_LABEL);
}
END_TEST

START_TEST(options_of_labels_are_refused_for_an_embedding)
{
    static const struct {
        const char *name, *value, *text;
    } rows[] = {{"class-weight", "0.5", "--class-weight does not go with --task embed"},
                {"teacher", "t", "--teacher does not go with --task embed"},
                {"freeze-epochs", "1", "--freeze-epochs does not go with --task embed"},
                {"long-text", "windows", "--long-text windows does not go with --task embed"},
                {"ood-method", "energy", "--ood-method does not go with --task embed"},
                {"batch", "1",
                 "--batch 1: --task embed compares each pair with the others of its "
                 "batch; give at least 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options = with_task("embed");
        struct err err = {0};
        ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
        ck_assert(!apply(&options, rows[i].name, rows[i].value));
        ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, rows[i].text);
    }
}
END_TEST

START_TEST(options_of_labels_heads_and_windows_are_refused_for_texts)
{
    static const char *const rows[][2] = {
        {"class-weight", "0.5"}, {"balance", "0.5"},       {"teacher", "t"},
        {"freeze-epochs", "1"},  {"layer-decay", "0.9"},   {"entropy", "1"},
        {"sparsity", "1"},       {"stages", "48:2"},       {"views", "2"},
        {"window", "any"},       {"long-text", "windows"}, {"line-dropout", "0.1"},
        {"word-dropout", "0.1"}, {"truncation", "accept"}, {"logit-adjust", "1"},
        {"ngrams", "100"},       {"ood-method", "energy"}, {"init", "structured"},
        {"grey16", "minmax"},    {"reduction", "lines"},   {"class-biases", "fit"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct train_options options = with_task("seq2seq");
        struct err err = {0};
        char text[80];
        ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
        ck_assert(!apply(&options, "label-smoothing", "0.1"));
        ck_assert_int_eq(train_options_check(&options, &err), ERR_OK);
        ck_assert(!apply(&options, rows[i][0], rows[i][1]));
        ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
        snprintf(text, sizeof text, "--%s", rows[i][0]);
        ck_assert_msg(strncmp(err.text, text, strlen(text)) == 0 &&
                          strstr(err.text, " does not go with --task seq2seq") != NULL,
                      "%s", err.text);
    }
}
END_TEST

START_TEST(teachers_are_given_one_after_another)
{
    struct train_options options;
    struct err err = {0};
    train_options_default(&options);
    for (unsigned i = 0; i < TRAIN_PATHS_MAX; i++)
        ck_assert_int_eq(apply(&options, "teacher", i % 2 == 0 ? "even" : "odd"), ERR_OK);
    ck_assert_uint_eq(options.teacher.count, TRAIN_PATHS_MAX);
    ck_assert_str_eq(options.teacher.path[1], "odd");
    ck_assert_int_eq(cli_option_set(option("teacher"), &options, "more", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "may be given at most 8 times");
    err = (struct err){0};
    ck_assert_int_eq(cli_option_set(option("teacher-logits"), &options, "", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "must not be empty");
    ck_assert_uint_eq(options.teacher_logits.count, 0);
}
END_TEST

/* A run that an earlier build began goes on: options unknown to that build are not in its
 * fingerprint. */
START_TEST(options_enter_a_fingerprint_only_if_used)
{
    struct train_options options;
    train_options_default(&options);
    options.teacher = (struct train_paths){{"a", "b"}, 1};
    char *text = printed(&options);
    ck_assert_ptr_nonnull(strstr(text, "\nteacher=a\n"));
    ck_assert(strstr(text, "logit_adjust") == NULL && strstr(text, "teacher_logits") == NULL);
    free(text);
    options.logit_adjust = 0.5f;
    options.teacher.count = 2;
    options.teacher_logits = (struct train_paths){{"c"}, 1};
    text = printed(&options);
    ck_assert_ptr_nonnull(strstr(text, "\nlogit_adjust=0.5\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nteacher=a:b\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nteacher_logits=c\n"));
    free(text);
}
END_TEST

START_TEST(views_make_a_group_and_reductions_have_names)
{
    struct train_options options;
    for (unsigned views = 0; views <= 8; views++) {
        struct err err = {0};
        const bool goes = views <= 2 || views == 4 || views == 8;
        char text[4];
        snprintf(text, sizeof text, "%u", views);
        train_options_default(&options);
        options.model = "a";
        options.data = "b";
        options.out = "c";
        ck_assert_int_eq(apply(&options, "views", text), ERR_OK);
        ck_assert_int_eq(train_options_check(&options, &err), goes ? ERR_OK : ERR_UNUSABLE);
        ck_assert_str_eq(err.text, goes ? "" : "--views must be 1, 2, 4 or 8");
        options.views = 1;
        options.version = "2026/11";
        err = (struct err){0};
        ck_assert_int_eq(train_options_check(&options, &err), ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, "--model-version: expected 1 to 128 bytes"));
    }
    ck_assert_int_eq(apply(&options, "views", "9"), ERR_UNUSABLE);
    ck_assert_int_eq(apply(&options, "reduction", "max"), ERR_UNUSABLE);
    ck_assert_int_eq(apply(&options, "reduction", "lines"), ERR_OK);
    char *text = printed(&options);
    ck_assert_ptr_nonnull(strstr(text, "\nreduction=lines\n"));
    free(text);
}
END_TEST

START_TEST(the_fingerprint_is_a_line_an_option)
{
    static const char *const lines[] = {
        "model=a b", "data=", "task=classify",     "epochs=12", "rate=0.100000001",
        "mirror=1",  "turn=", "stages=48:20,96:5", "clip=1",    "seed=4294967295"};
    static const char *const left_out[] = {
        "out=",     "restart=",    "threads=", "store=",    "ood_method=", "target_precision=",
        "version=", "truncation=", "views=",   "reduction="};
    static const char fields[] =
#define GROUP(title)
#define ALIAS(flag, other)
#define OPTION(field, ...) "\n" #field "="
#include "learn/train/loop/options.def"
#undef OPTION
#undef ALIAS
#undef GROUP
        ;
    struct train_options options;
    train_options_default(&options);
    options.model = "a b";
    options.epochs = 12;
    options.rate = 0.1f;
    options.mirror = true;
    options.seed = 4294967295u;
    options.stages = (struct train_stages){{{48, 20}, {96, 5}}, 2};
    char *text = printed(&options);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[40];
        snprintf(line, sizeof line, "%s%s\n", i > 0 ? "\n" : "", lines[i]);
        const char *at = strstr(text, line);
        ck_assert_msg(at != NULL && (i > 0 || at == text), "no '%s' in:\n%s", line, text);
    }
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        char line[32];
        snprintf(line, sizeof line, "\n%s", left_out[i]);
        ck_assert_msg(strstr(fields, line) != NULL, "no option has the field %s", left_out[i]);
        ck_assert_msg(strstr(text, line) == NULL, "%s", left_out[i]);
    }
    free(text);
}
END_TEST

SUITE("options", defaults_are_the_tables, values_out_of_bounds_are_refused,
      stages_are_sizes_and_epochs, model_data_and_out_must_be_given, the_model_is_not_overwritten,
      the_fingerprint_holds_what_decides_the_weights, bounds_are_part_of_what_is_allowed,
      words_are_those_of_the_choice_and_no_parts_of_them, stages_are_read_to_their_limits,
      options_name_those_that_exclude_each_other, options_of_labels_are_refused_for_numbers,
      tasks_have_their_names_and_their_older_ones,
      options_of_labels_heads_and_windows_are_refused_for_texts,
      options_of_labels_are_refused_for_an_embedding, teachers_are_given_one_after_another,
      options_enter_a_fingerprint_only_if_used, views_make_a_group_and_reductions_have_names,
      the_fingerprint_is_a_line_an_option)
