/* The table's rows and the writers of a configuration's fields: each value at its limit and one
 * beyond, what is returned, and that a value which is refused changes nothing. */
#include "config/option.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config config;

static void setup(void)
{
    struct err err = {0};
    config = (struct config){0};
    arena_init(&config.arena);
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        ck_assert_int_eq(option_set_text(&option_table[i], &config, option_table[i].fallback, &err),
                         ERR_OK);
}

/* "": it is taken. */
static void expect_set(const struct cli_option *option, const char *value, const char *text)
{
    struct err err = {0};
    enum err_code code = option_set_text(option, &config, value, &err);
    ck_assert_msg(strcmp(err.text, text) == 0, "%s=%s: %s", option_key(option), value, err.text);
    ck_assert_int_eq(code, text[0] != '\0' ? ERR_UNUSABLE : ERR_OK);
    ck_assert_int_eq(err.code, code);
}

#define WHOLE "must be a whole number from %.0f to %.0f"

static void expect_number(const struct cli_option *option, size_t number, bool is_good)
{
    char value[32], text[128] = "";
    size_t before = cli_option_whole(option, &config);
    snprintf(value, sizeof value, "%zu", number);
    if (!is_good)
        snprintf(text, sizeof text, WHOLE, option->min, option->max);
    expect_set(option, value, text);
    ck_assert_uint_eq(cli_option_whole(option, &config), is_good ? number : before);
}

START_TEST(numbers_are_taken_within_their_limits)
{
    setup();
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct cli_option *option = &option_table[i];
        char text[128];
        if (!cli_option_is_whole(option))
            continue;
        expect_number(option, (size_t)option->min, true);
        expect_number(option, (size_t)option->max, true);
        expect_number(option, (size_t)option->max + 1, false);
        expect_number(option, SIZE_MAX, false);
        if (option->min > 0)
            expect_number(option, (size_t)option->min - 1, false);
        expect_number(option, (size_t)(option->min + option->max) / 2, true);
        snprintf(text, sizeof text, WHOLE, option->min, option->max);
        static const char *const words[] = {"", "-1", "+1", "1 ", "0x1", "1.0", "9:", "/1"};
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            expect_set(option, words[k], text);
        snprintf(text, sizeof text, WHOLE, option->min, option->max);
        expect_set(option, "18446744073709551616", text);
        expect_set(option, "184467440737095516150", text);
        ck_assert_uint_eq(cli_option_whole(option, &config),
                          (size_t)(option->min + option->max) / 2);
    }
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(shares_are_taken_from_0_to_1)
{
    static const char *const others[] = {"",    "-0.1", "1.0001", "nan",
                                         "inf", "half", "0.5x",   "1e400"};
    const struct cli_option *option = option_find("keep_inputs_share");
    setup();
    expect_set(option, "0", "");
    expect_set(option, "1", "");
    expect_set(option, "0.25", "");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_set(option, others[i], "must be a number from 0 to 1");
    ck_assert_double_eq(cli_option_real(option, &config), 0.25);
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(words_are_taken_if_they_are_whole_choices)
{
    setup();
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct cli_option *option = &option_table[i];
        char choices[256], text[512];
        if (option->choices == NULL)
            continue;
        snprintf(choices, sizeof choices, "%s", option->choices);
        snprintf(text, sizeof text, "must be one of %s", option->choices);
        char *rest = choices;
        for (char *word; (word = strtok_r(rest, "|", &rest)) != NULL;) {
            expect_set(option, word, "");
            ck_assert_str_eq(cli_option_text(option, &config), word);
            char shorter[64];
            snprintf(shorter, sizeof shorter, "%.*s", (int)strlen(word) - 1, word);
            expect_set(option, shorter, text);
            expect_set(option, word + 1, text);
            ck_assert_str_eq(cli_option_text(option, &config), word);
        }
        expect_set(option, "", text);
        expect_set(option, "|", text);
        expect_set(option, option->choices, text);
    }
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(an_address_is_taken_with_its_host_and_port)
{
    static const char bad[] =
        "expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, with a numeric address and "
        "a port from 0 to 65535";
    static const struct {
        const char *value, *host; /* NULL: refused */
        unsigned port;
    } cases[] = {
        {"10.1.2.3:1", "10.1.2.3", 1},
        {"0.0.0.0:65535", "0.0.0.0", 65535},
        {"0.0.0.0:65536", NULL, 0},
        {"0.0.0.0:0", "0.0.0.0", 0},
        {"[::]:80", "::", 80},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:80",
         "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", 80},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555]:80", NULL, 0},
        {"localhost:80", "127.0.0.1", 80},
        {"[localhost]:80", NULL, 0},
        {"Localhost:80", NULL, 0},
        {"[::1:80", NULL, 0},
        {"::1]:80", NULL, 0},
        {"[:80", NULL, 0},
        {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20:80", NULL, 0},
        {"1.2.3.4:", NULL, 0},
        {":80", NULL, 0},
        {"", NULL, 0},
    };
    setup();
    const struct cli_option *listen = option_find("listen");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        config.listen_port = 7;
        expect_set(listen, cases[i].value, cases[i].host != NULL ? "" : bad);
        ck_assert_uint_eq(config.listen_port, cases[i].host != NULL ? cases[i].port : 7);
        if (cases[i].host == NULL)
            continue;
        ck_assert_str_eq(config.listen_address, cases[i].host);
        ck_assert_str_eq(config.listen, cases[i].value);
        ck_assert_str_eq(cli_option_text(listen, &config), cases[i].value);
    }
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(the_address_for_administration_may_be_a_path_or_absent)
{
    static const struct {
        const char *value, *address;
        unsigned port;
    } good[] = {{"127.0.0.1:8081", "127.0.0.1", 8081},
                {"[::1]:0", "::1", 0},
                {"unix:/run/attnd/admin.sock", "unix:/run/attnd/admin.sock", 0},
                {"", "", 0}};
    static const char *const bad[] = {"127.0.0.1", "unix:", "unix:a", "unix:/a\n", "/a", "host:80"};
    char longest[128] = "unix:/";
    setup();
    const struct cli_option *admin = option_find("admin_listen");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        config.admin_port = 7;
        expect_set(admin, good[i].value, "");
        ck_assert_uint_eq(config.admin_port, good[i].port);
        ck_assert_str_eq(config.admin_address, good[i].address);
        ck_assert_str_eq(config.admin_listen, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_set(admin, bad[i],
                   "expected ADDRESS:PORT, such as 127.0.0.1:8081, or unix:PATH, such as "
                   "unix:/run/attnd/admin.sock, an absolute path of at most 107 bytes");
    memset(longest + 6, 'a', 106);
    expect_set(admin, longest, "");
    longest[6 + 106] = 'a';
    expect_set(admin, longest,
               "expected ADDRESS:PORT, such as 127.0.0.1:8081, or unix:PATH, such as "
               "unix:/run/attnd/admin.sock, an absolute path of at most 107 bytes");
    arena_deinit(&config.arena);
}
END_TEST

#define NAME_TEXT "a model's name must be 1 to 64 of A-Z a-z 0-9 . _ - and not only dots"
#define MODEL_TEXT                                                                                 \
    "expected NAME=DIR[,dtype=f32|bf16|int8|auto][,split=SHARE][,shadow=SHARE][,index=FILE], "     \
    "such "                                                                                        \
    "as logs=models/logs"
#define SHARES_TEXT(name) "model \"" name "\": split and shadow are shares from 0 to 1"
#define DIR_TEXT(name)                                                                             \
    "model \"" name "\": the directory must be 1 to 4096 bytes of UTF-8 without control "          \
    "characters"

START_TEST(a_model_is_taken_if_each_part_is_good)
{
    static char longest[66], dirs[4098];
    memset(longest, 'n', 64);
    memset(dirs, 'd', 4096);
    const struct {
        struct config_model model;
        const char *text;
    } cases[] = {
        {{.name = "a", .dir = "x"}, ""},
        {{.name = "b", .dir = "x", .dtype = "f32"}, ""},
        {{.name = "c.", .dir = "\xC3\xA9 ~\x20", .dtype = "bf16"}, ""},
        {{.name = longest, .dir = dirs, .dtype = "int8"}, ""},
        {{.name = "auto", .dir = "x", .dtype = "auto"}, ""},
        {{.dir = "x"}, NAME_TEXT},
        {{.name = "", .dir = "x"}, NAME_TEXT},
        {{.name = ".", .dir = "x"}, NAME_TEXT},
        {{.name = "...", .dir = "x"}, NAME_TEXT},
        {{.name = "a b", .dir = "x"}, NAME_TEXT},
        {{.name = "d"}, DIR_TEXT("d")},
        {{.name = "d", .dir = ""}, DIR_TEXT("d")},
        {{.name = "d", .dir = "x\x1F"}, DIR_TEXT("d")},
        {{.name = "d", .dir = "x\x7F"}, DIR_TEXT("d")},
        {{.name = "d", .dir = "\xC3"}, DIR_TEXT("d")},
        {{.name = "d", .dir = "x", .dtype = "F32"},
         "model \"d\": dtype must be one of f32|bf16|int8|auto"},
        {{.name = "d", .dir = "x", .dtype = ""},
         "model \"d\": dtype must be one of f32|bf16|int8|auto"},
        {{.name = "a", .dir = "x"},
         "two models are named \"a\" and have the same directory; each version of a name needs a "
         "directory of its own"},
        {{.name = "a", .dir = "y", .split = 0.75, .shadow = 1}, ""},
        {{.name = "a", .dir = "z", .split = 0.5},
         "model \"a\": the splits of its versions sum to 1.25, the limit is 1"},
        {{.name = "a", .dir = "z", .split = -0.1}, SHARES_TEXT("a")},
        {{.name = "a", .dir = "z", .split = NAN}, SHARES_TEXT("a")},
        {{.name = "a", .dir = "z", .shadow = 1.1}, SHARES_TEXT("a")},
        {{.name = "d", .dir = "x", .shadow = 0.5},
         "model \"d\": the first of a name answers and cannot be a shadow"},
        {{.name = longest, .dir = dirs}, NULL},
        {{.name = "i", .dir = "x", .index = "a.index", .is_public = true}, ""},
        {{.name = "i", .dir = "y", .is_public = true},
         "model \"i\": \"public\" is of an index, and there is none"},
        {{.name = "i", .dir = "y", .index = ""},
         "model \"i\": the index must be 1 to 4096 bytes of UTF-8 without control characters"},
    };
    setup();
    unsigned count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        enum err_code code = option_add_model(&config, &cases[i].model, &err);
        if (cases[i].text != NULL)
            ck_assert_msg(strcmp(err.text, cases[i].text) == 0, "%zu: %s", i, err.text);
        bool is_good = cases[i].text != NULL && cases[i].text[0] == '\0';
        ck_assert_int_eq(code, is_good ? ERR_OK : ERR_UNUSABLE);
        ck_assert_int_eq(err.code, code);
        ck_assert_uint_eq(config.model_count, count += is_good);
        if (!is_good)
            continue;
        const struct config_model *added = &config.models[count - 1];
        ck_assert_str_eq(added->name, cases[i].model.name);
        ck_assert_str_eq(added->dir, cases[i].model.dir);
        ck_assert_ptr_ne(added->name, cases[i].model.name); /* a copy */
        ck_assert_int_eq(added->dtype != NULL, cases[i].model.dtype != NULL);
        if (added->dtype != NULL)
            ck_assert_str_eq(added->dtype, cases[i].model.dtype);
        if (cases[i].model.index != NULL)
            ck_assert_str_eq(added->index, cases[i].model.index);
        ck_assert_int_eq(added->is_public, cases[i].model.is_public);
    }
    longest[64] = 'n';
    dirs[4096] = 'd';
    struct err err = {0};
    ck_assert_int_eq(
        option_add_model(&config, &(struct config_model){.name = longest, .dir = "x"}, &err),
        ERR_UNUSABLE);
    ck_assert_str_eq(err.text, NAME_TEXT);
    err = (struct err){0};
    ck_assert_int_eq(
        option_add_model(&config, &(struct config_model){.name = "d", .dir = dirs}, &err),
        ERR_UNUSABLE);
    ck_assert_str_eq(err.text, DIR_TEXT("d"));
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(a_model_is_read_from_one_word)
{
    static const struct {
        const char *word, *name, *dir, *dtype;
        const char *text;
    } cases[] = {
        {"a=x", "a", "x", NULL, ""},
        {"b=x=y", "b", "x=y", NULL, ""},
        {"c=x,y", "c", "x,y", NULL, ""},
        {"d=x,dtype=int8", "d", "x", "int8", ""},
        {"i=x,index=a.index,dtype=int8", "i", "x", "int8", ""},
        {"d=y,dtype=auto", "d", "y", "auto", ""},
        {"e=x,dtype", "e", "x,dtype", NULL, ""},
        {"", NULL, NULL, NULL, MODEL_TEXT},
        {"f", NULL, NULL, NULL, MODEL_TEXT},
        {"f=,dtype=int8", NULL, NULL, NULL, DIR_TEXT("f")},
        {"f=x,dtype=", NULL, NULL, NULL, "model \"f\": dtype must be one of f32|bf16|int8|auto"},
    };
    setup();
    unsigned count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        char padded[64]; /* the bytes behind the word are not read */
        snprintf(padded, sizeof padded, "%s=z,dtype=bf16", cases[i].word);
        enum err_code code = option_add_model_text(&config, padded, strlen(cases[i].word), &err);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(code, cases[i].name != NULL ? ERR_OK : ERR_UNUSABLE);
        ck_assert_uint_eq(config.model_count, count += cases[i].name != NULL);
        if (cases[i].name == NULL)
            continue;
        const struct config_model *added = &config.models[count - 1];
        ck_assert_str_eq(added->name, cases[i].name);
        ck_assert_str_eq(added->dir, cases[i].dir);
        ck_assert_int_eq(added->dtype != NULL, cases[i].dtype != NULL);
    }
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(a_list_of_models_ends_at_its_first_mistake)
{
    setup();
    const struct cli_option *models = option_find("models");
    expect_set(models, " a=x\t\nb=y\r ", "");
    ck_assert_uint_eq(config.model_count, 2);
    expect_set(models, "c=x nonsense d=y", MODEL_TEXT);
    ck_assert_uint_eq(config.model_count, 3);
    expect_set(models, " \t\r\n", "");
    while (config.model_count < 64) {
        char word[8];
        snprintf(word, sizeof word, "m%u=x", config.model_count);
        expect_set(models, word, "");
    }
    expect_set(models, "last=x", "more than 64 models");
    ck_assert_uint_eq(config.model_count, 64);
    arena_deinit(&config.arena);
}
END_TEST

START_TEST(names_are_spelled_for_flags_and_variables)
{
    char out[CLI_NAME_BYTES];
    cli_spell(option_find("queue_ms_max"), out);
    ck_assert_str_eq(out, "queue-ms-max");
    cli_spell(option_find("models"), out);
    ck_assert_str_eq(out, "model");
    option_variable(option_find("queue_ms_max"), out);
    ck_assert_str_eq(out, "ATTND_QUEUE_MS_MAX");
    option_variable(option_find("models"), out);
    ck_assert_str_eq(out, "ATTND_MODELS");
    ck_assert_ptr_null(option_find("queue"));
    ck_assert_ptr_null(option_find("model"));
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        ck_assert_ptr_eq(option_find(option_key(&option_table[i])), &option_table[i]);
        ck_assert_uint_eq(option_index(&option_table[i]), i);
    }
}
END_TEST

SUITE("option", the_address_for_administration_may_be_a_path_or_absent,
      numbers_are_taken_within_their_limits, shares_are_taken_from_0_to_1,
      words_are_taken_if_they_are_whole_choices, an_address_is_taken_with_its_host_and_port,
      a_model_is_taken_if_each_part_is_good, a_model_is_read_from_one_word,
      a_list_of_models_ends_at_its_first_mistake, names_are_spelled_for_flags_and_variables)
