/* Changes from one configuration to the next: options that apply while the server runs, and options
 * that keep their old value until it is started again. */
#include "config/config_change.h"
#include "config/config_load.h"

#include "config/option.h"
#include "tests/support/suite.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>

/* A whole configuration: defaults, files that need each other, and one option as a flag. */
static struct config loaded(const char *flag, const char *value)
{
    enum { ALWAYS = 8 };
    char program[] = "attnd", model[] = "--model", logs[] = "logs=text", name[64], text[64];
    char cert[] = "--tls-cert-file=/1", key[] = "--tls-key-file=/2", keys[] = "--keys-file=/3";
    char state[] = "--state-dir=/4", kept[] = "--keep-inputs-bytes=9";
    char *argv[] = {program, model, logs, cert, key, keys, state, kept, name, text, NULL};
    char *environment[] = {NULL};
    struct config config;
    enum config_action action;
    struct err err = {0};
    snprintf(name, sizeof name, "%s", flag != NULL ? flag : "");
    snprintf(text, sizeof text, "%s", value != NULL ? value : "");
    int argc = flag != NULL ? ALWAYS + 2 : ALWAYS;
    argv[argc] = NULL;
    ck_assert_msg(!config_load(&config, &action, argc, argv, environment, &err), "%s", err.text);
    return config;
}

/* "inputs_max | workers": the lists. */
static void told(const struct config_change *change, char out[256])
{
    out[0] = '\0';
    for (unsigned i = 0; i < change->live_count; i++)
        snprintf(out + strlen(out), 256 - strlen(out), "%s ", change->live[i]);
    snprintf(out + strlen(out), 256 - strlen(out), "|");
    for (unsigned i = 0; i < change->restart_count; i++)
        snprintf(out + strlen(out), 256 - strlen(out), " %s", change->restart[i]);
}

static void expect_change(const struct config *old, struct config *next, const char *expected)
{
    struct config_change change;
    struct arena arena;
    struct err err = {0};
    char text[256];
    arena_init(&arena);
    ck_assert_int_eq(config_change_find(&change, old, next, &arena, &err), ERR_OK);
    told(&change, text);
    ck_assert_str_eq(text, expected);
    arena_deinit(&arena);
}

START_TEST(config_change_tells_nothing_if_nothing_changed)
{
    struct config old = loaded(NULL, NULL), next = loaded(NULL, NULL);
    expect_change(&old, &next, "|");
    config_deinit(&old);
    config_deinit(&next);
}
END_TEST

START_TEST(models_are_compared_elsewhere)
{
    struct config old = loaded(NULL, NULL), next = loaded("--model", "more=else");
    expect_change(&old, &next, "|");
    ck_assert_uint_eq(next.model_count, 2);
    config_deinit(&old);
    config_deinit(&next);
}
END_TEST

/* Each option of the table but the models, of a value that is not its default. */
static const struct {
    const char *flag, *value;
} others[] = {
    {"--listen", "127.0.0.1:1"},
    {"--admin-listen", "unix:/a"},
    {"--workers", "3"},
    {"--threads-per-worker", "3"},
    {"--placement", "off"},
    {"--queue-limit", "500"},
    {"--queue-ms-max", "7"},
    {"--batch-tokens-max", "300"},
    {"--inputs-max", "7"},
    {"--body-bytes-max", "7"},
    {"--image-pixels-max", "7"},
    {"--request-pixels-max", "99999999"},
    {"--text-tokens-max", "7"},
    {"--memory-max", "7777777777"},
    {"--explain-bytes-max", "7"},
    {"--header-timeout-ms", "7"},
    {"--body-timeout-ms", "7"},
    {"--deadline-ms", "7"},
    {"--drain-delay-ms", "7"},
    {"--drain-timeout-ms", "7"},
    {"--connections-max", "7"},
    {"--linear-backend", "reference"},
    {"--audit-dir", "/a"},
    {"--audit-sync", "each"},
    {"--audit-full", "count"},
    {"--audit-rotate-bytes", "5000"},
    {"--audit-keep-days", "7"},
    {"--audit-key-file", "/k"},
    {"--keys-file", "/k"},
    {"--feedback-window", "7"},
    {"--drift-window", "700"},
    {"--tls-cert-file", "/c"},
    {"--tls-key-file", "/k"},
    {"--tls-client-ca-file", "/a"},
    {"--otlp-endpoint", "http://127.0.0.1:4318/v1/traces"},
    {"--log-level", "debug"},
    {"--keep-inputs-bytes", "7"},
    {"--keep-inputs-share", "0.5"},
    {"--fit-program", "/f"},
    {"--fit-threads", "3"},
    {"--models-root", "/m"},
    {"--state-dir", "/s"},
    {"--promote-min-feedback", "7"},
    {"--uncalibrated", "auto"},
    {"--cors-origins", "https://mes.fab"},
    {"--answers-bytes", "5000"},
    {"--answers-s", "7"},
    {"--idempotency-bytes", "5000"},
    {"--idempotency-s", "7"},
};
enum { OTHERS = sizeof others / sizeof others[0] };

static const struct cli_option *option_of(const char *flag)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        char name[CLI_NAME_BYTES];
        cli_spell(&option_table[i], name);
        if (strcmp(name, flag + 2) == 0)
            return &option_table[i];
    }
    ck_abort_msg("no option %s", flag);
}

static bool is_same(const struct cli_option *option, const struct config *a, const struct config *b)
{
    if (cli_option_is_real(option))
        return cli_option_real(option, a) == cli_option_real(option, b);
    return cli_option_is_whole(option)
               ? cli_option_whole(option, a) == cli_option_whole(option, b)
               : strcmp(cli_option_text(option, a), cli_option_text(option, b)) == 0;
}

START_TEST(a_live_option_applies_and_any_other_keeps_its_value)
{
    unsigned lives = 0;
    ck_assert_uint_eq(OTHERS, OPTION_TOTAL - 1); /* all but the models */
    for (size_t i = 0; i < OTHERS; i++) {
        const struct cli_option *option = option_of(others[i].flag);
        struct config old = loaded(NULL, NULL), next = loaded(others[i].flag, others[i].value);
        const bool is_live = option->tag == OPTION_LIVE;
        char expected[256];
        ck_assert_msg(!is_same(option, &old, &next), "%s", option_key(option));
        snprintf(expected, sizeof expected, is_live ? "%s |" : "| %s", option_key(option));
        expect_change(&old, &next, expected);
        ck_assert_msg(is_same(option, &old, &next) == !is_live, "%s", option_key(option));
        lives += is_live;
        config_deinit(&old);
        config_deinit(&next);
    }
    ck_assert_uint_gt(lives, 5);
    ck_assert_uint_lt(lives, OTHERS - 5);
}
END_TEST

/* The parts of the address (listen_address and others) stay the old ones, too. */
START_TEST(config_change_keeps_every_part_of_a_pending_address)
{
    struct config old = loaded("--listen", "127.0.0.1:8081"), next = loaded("--listen", "[::1]:9");
    expect_change(&old, &next, "| listen");
    ck_assert_str_eq(next.listen, "127.0.0.1:8081");
    ck_assert_str_eq(next.listen_address, "127.0.0.1");
    ck_assert_uint_eq(next.listen_port, 8081);
    config_deinit(&old); /* the values are the next one's own */
    ck_assert_str_eq(next.listen_address, "127.0.0.1");
    config_deinit(&next);
}
END_TEST

/* A queue that stays as long as it was holds no longer request. */
START_TEST(a_request_stays_within_the_queue_that_stays)
{
    struct config old = loaded("--queue-limit", "10"), next = loaded("--inputs-max", "20");
    ck_assert_uint_eq(old.inputs_max, 10);
    expect_change(&old, &next, "| queue_limit");
    ck_assert_uint_eq(next.queue_limit, 10);
    ck_assert_uint_eq(next.inputs_max, 10);
    config_deinit(&old);
    config_deinit(&next);
}
END_TEST

/* A request is not held to a shorter queue that waits for a restart either, unless inputs_max was
 * asked for. */
START_TEST(a_request_is_not_held_to_a_queue_that_waits)
{
    struct config old = loaded("--queue-limit", "1024"), next = loaded("--queue-limit", "10");
    ck_assert_uint_eq(next.inputs_max, 10);
    expect_change(&old, &next, "| queue_limit");
    ck_assert_uint_eq(next.inputs_max, 64);
    config_deinit(&next);
    next = loaded("--inputs-max", "7");
    expect_change(&old, &next, "inputs_max |");
    ck_assert_uint_eq(next.inputs_max, 7);
    config_deinit(&old);
    config_deinit(&next);
}
END_TEST

START_TEST(a_copy_has_every_value_and_is_its_own)
{
    for (size_t i = 0; i < OTHERS; i++) {
        struct config from = loaded(others[i].flag, others[i].value), copy;
        struct err err = {0};
        ck_assert_int_eq(config_copy(&copy, &from, &err), ERR_OK);
        for (size_t k = 0; k < OPTION_TOTAL; k++)
            if (!option_is_models(&option_table[k]))
                ck_assert_msg(is_same(&option_table[k], &copy, &from), "%s",
                              option_key(&option_table[k]));
        ck_assert_str_eq(copy.listen_address, from.listen_address);
        ck_assert_uint_eq(copy.listen_port, from.listen_port);
        config_deinit(&from);
        ck_assert_uint_eq(copy.model_count, 1);
        ck_assert_str_eq(copy.models[0].name, "logs");
        ck_assert_str_eq(copy.models[0].dir, "text");
        config_deinit(&copy);
    }
}
END_TEST

START_TEST(a_copy_has_every_model)
{
    struct config_model models[] = {{.name = "a", .dir = "dir-a", .dtype = "bf16"},
                                    {.name = "b", .dir = "dir-b"}};
    struct config from = loaded(NULL, NULL), copy;
    struct err err = {0};
    from.models = models;
    from.model_count = 2;
    ck_assert_int_eq(config_copy(&copy, &from, &err), ERR_OK);
    ck_assert_uint_eq(copy.model_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(copy.models[i].name, models[i].name);
        ck_assert_str_eq(copy.models[i].dir, models[i].dir);
        ck_assert_ptr_ne(copy.models[i].name, models[i].name);
        ck_assert_pstr_eq(copy.models[i].dtype, models[i].dtype);
    }
    config_deinit(&copy);
    config_deinit(&from);
}
END_TEST

START_TEST(config_copy_of_an_invalid_config_is_empty)
{
    struct config from = loaded(NULL, NULL), copy;
    struct err err = {0};
    from.log_level = "loud";
    ck_assert_int_eq(config_copy(&copy, &from, &err), ERR_UNUSABLE);
    ck_assert_ptr_null(copy.arena.blocks);
    config_deinit(&from);
}
END_TEST

SUITE("config_change", config_change_tells_nothing_if_nothing_changed,
      models_are_compared_elsewhere, a_live_option_applies_and_any_other_keeps_its_value,
      config_change_keeps_every_part_of_a_pending_address,
      a_request_stays_within_the_queue_that_stays, a_request_is_not_held_to_a_queue_that_waits,
      a_copy_has_every_value_and_is_its_own, a_copy_has_every_model,
      config_copy_of_an_invalid_config_is_empty)
