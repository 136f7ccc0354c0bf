/* Flags, variables and values that settle each other, at the edges. */
#include "config/config_load.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 8 };

/* Loads from flags and one variable (NULL: none); "": it is taken. */
static struct config load(const char *const flags[WORDS_MAX], const char *variable,
                          const char *text)
{
    union {
        const char *from;
        char *to;
    } words[WORDS_MAX + 2] = {{.from = "attnd"}}, environment[2] = {{.from = variable}};
    char *argv[WORDS_MAX + 2];
    struct config config;
    struct err err = {0};
    enum config_action action;
    int argc = 1;
    for (int i = 0; i < WORDS_MAX && flags[i] != NULL; i++)
        words[argc++].from = flags[i];
    for (int i = 0; i <= argc; i++)
        argv[i] = words[i].to;
    char *const variables[] = {environment[0].to, NULL};
    enum err_code code = config_load(&config, &action, argc, argv, variables, &err);
    ck_assert_msg(strcmp(err.text, text) == 0, "%s", err.text);
    ck_assert_int_eq(code, text[0] != '\0' ? ERR_UNUSABLE : ERR_OK);
    return config;
}

static void refuse(const char *const flags[WORDS_MAX], const char *variable, const char *text)
{
    struct config config = load(flags, variable, text);
    ck_assert_ptr_null(config.models);
    config_deinit(&config);
}

START_TEST(config_flags_name_an_argument_that_is_no_flag)
{
    static char longest[80] = "--", text[128];
    memset(longest + 2, 'x', 77);
    static const char *const second[WORDS_MAX] = {"--workers=2", "models"};
    refuse(second, NULL, "unexpected argument 'models'; --help shows the usage");
    const char *const too_long[WORDS_MAX] = {"--workers", "2", longest};
    snprintf(text, sizeof text, "unknown option '--%.64s'; --help lists the known ones",
             longest + 2);
    refuse(too_long, NULL, text);
    static const char *const switched[WORDS_MAX] = {"--help=yes"};
    refuse(switched, NULL, "--help: takes no value");
    static const char *const bare[WORDS_MAX] = {"--workers"};
    refuse(bare, NULL, "--workers: needs a value: N");
    static const char *const file[WORDS_MAX] = {"--check-config", "--config"};
    refuse(file, NULL, "--config: needs a value: FILE");
    static const char *const unknown[WORDS_MAX] = {"--temperature=5", "--workers=2"};
    refuse(unknown, NULL, "unknown option '--temperature'; --help lists the known ones");
    static const char *const near_config[WORDS_MAX] = {"--confg=x"};
    refuse(near_config, NULL, "unknown option '--confg'; did you mean '--config'?");
}
END_TEST

START_TEST(variables_of_a_cluster_are_known_by_their_form)
{
    static const char *const none[WORDS_MAX] = {NULL};
    static const char *const good[] = {"ATTND_PORT_8=1",
                                       "ATTND_PORT_8080_TCP=x",
                                       "ATTND_PORT=tcp://1.2.3.4:5",
                                       "ATTND_SERVICE_HOST=x",
                                       "ATTND_A_SERVICE_PORT_B=x",
                                       "ATTND_GOLDEN=1",
                                       "ATTND_CORPORA=1",
                                       "ATTNDX=1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct config config = load(none, good[i], "");
        config_deinit(&config);
    }
    static const char *const bad[] = {"ATTND_PORT_X", "ATTND_PORT", "ATTND_PORT8", "ATTND_ZZZZ"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char variable[64], text[128];
        snprintf(variable, sizeof variable, "%s=1", bad[i]);
        snprintf(text, sizeof text, "%s: unknown variable; --help lists them", bad[i]);
        refuse(none, variable, text);
    }
}
END_TEST

START_TEST(inputs_max_follows_a_smaller_queue_unless_it_was_named)
{
    static const char *const follows[WORDS_MAX] = {"--queue-limit=10"};
    static const char *const equal[WORDS_MAX] = {"--queue-limit=10", "--inputs-max=10"};
    static const char *const above[WORDS_MAX] = {"--queue-limit=10", "--inputs-max=11"};
    struct config config = load(follows, NULL, "");
    ck_assert_uint_eq(config.inputs_max, 10);
    config_deinit(&config);
    config = load(equal, NULL, "");
    ck_assert_uint_eq(config.inputs_max, 10);
    config_deinit(&config);
    static const char text[] = "inputs_max (%u) must not be above queue_limit (10), or such a "
                               "request could never be queued";
    char expected[160];
    snprintf(expected, sizeof expected, text, 11);
    refuse(above, NULL, expected);
    snprintf(expected, sizeof expected, text, 12);
    refuse(follows, "ATTND_INPUTS_MAX=12", expected);
}
END_TEST

START_TEST(request_pixels_max_follows_a_larger_image_unless_it_was_named)
{
    static const char *const follows[WORDS_MAX] = {"--image-pixels-max=200000000"};
    static const char *const equal[WORDS_MAX] = {"--image-pixels-max=10",
                                                 "--request-pixels-max=10"};
    static const char *const below[WORDS_MAX] = {"--image-pixels-max=10", "--request-pixels-max=9"};
    struct config config = load(follows, NULL, "");
    ck_assert_uint_eq(config.request_pixels_max, 200000000);
    config_deinit(&config);
    config = load(equal, NULL, "");
    ck_assert_uint_eq(config.request_pixels_max, 10);
    config_deinit(&config);
    refuse(below, NULL,
           "request_pixels_max (9) must not be below image_pixels_max (10), or such an image could "
           "never be sent");
}
END_TEST

START_TEST(cors_origins_are_what_a_browser_may_say)
{
    static const char *const good[] = {"", "https://mes.fab", "http://10.0.0.5:3000",
                                       "https://mes.fab,http://[::1]:3000,http://localhost"};
    static const char *const bad[][2] = {
        {"*", "*"},
        {"null", "null"},
        {"https://", "https://"},
        {"https://mes.fab/", "https://mes.fab/"},
        {"https://MES.fab", "https://MES.fab"},
        {"mes.fab", "mes.fab"},
        {"https://a, https://b", " https://b"},
        {"https://a,", "https://a"},
        {",https://a", ""},
        {"https://a,,https://b", ""},
    };
    char flag[128];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        snprintf(flag, sizeof flag, "--cors-origins=%s", good[i]);
        struct config config = load((const char *[WORDS_MAX]){flag}, NULL, "");
        ck_assert_str_eq(config.cors_origins, good[i]);
        config_deinit(&config);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char expected[256];
        snprintf(flag, sizeof flag, "--cors-origins=%s", bad[i][0]);
        snprintf(expected, sizeof expected,
                 "cors_origins: '%s' is not an origin; write http://HOST:PORT or https://HOST in "
                 "lower case and without a path, and a comma between two",
                 bad[i][1]);
        refuse((const char *[WORDS_MAX]){flag}, NULL, expected);
    }
}
END_TEST

/* The strongest action wins, wherever it stands; help and version end the reading. */
START_TEST(actions_are_read_until_help_or_version)
{
    static const struct {
        const char *flags[WORDS_MAX];
        enum config_action action;
    } cases[] = {{{NULL}, CONFIG_SERVE},
                 {{"--check-config"}, CONFIG_CHECK},
                 {{"--print-config", "--check-config"}, CONFIG_PRINT},
                 {{"--check-config", "--print-config"}, CONFIG_PRINT},
                 {{"--check-config", "--help", "nonsense"}, CONFIG_HELP},
                 {{"--version", "--help"}, CONFIG_VERSION},
                 {{"--help", "--version"}, CONFIG_HELP}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct err err = {0};
        enum config_action action;
        union {
            const char *from;
            char *to;
        } word = {.from = "attnd"};
        char *argv[WORDS_MAX + 2] = {word.to}, *const none[] = {NULL};
        int argc = 1;
        for (; cases[i].flags[argc - 1] != NULL; argc++) {
            word.from = cases[i].flags[argc - 1];
            argv[argc] = word.to;
        }
        ck_assert_int_eq(config_load(&config, &action, argc, argv, none, &err), ERR_OK);
        ck_assert_int_eq(action, cases[i].action);
        config_deinit(&config);
        ck_assert_ptr_null(config.linear_backend);
    }
}
END_TEST

SUITE("config_flags", cors_origins_are_what_a_browser_may_say,
      config_flags_name_an_argument_that_is_no_flag, variables_of_a_cluster_are_known_by_their_form,
      inputs_max_follows_a_smaller_queue_unless_it_was_named,
      request_pixels_max_follows_a_larger_image_unless_it_was_named,
      actions_are_read_until_help_or_version)
