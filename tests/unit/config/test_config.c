/* The configuration as an operator meets it: argv, environ and a file in, a struct or a sentence
 * out. Files are written to a temporary directory of each test. */
#include "config/config_load.h"
#include "config/config_print.h"
#include "config/option.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_TEXT                                                                                 \
    "expected NAME=DIR[,dtype=f32|bf16|int8|auto][,split=SHARE][,shadow=SHARE][,index=FILE], "     \
    "such "                                                                                        \
    "as logs=models/logs"
#define TWICE_TEXT                                                                                 \
    "two models are named \"a\" and have the same directory; each version of a name needs a "      \
    "directory of its own"

static struct config config;
static enum config_action action;
static struct err err;

enum { WORDS_MAX = 64 };

/* "a b c" -> words; a lone "'" stands for an empty word. */
static int split(char *line, char **words, int count)
{
    for (char *word = strtok_r(line, " ", &line); word != NULL; word = strtok_r(NULL, " ", &line))
        words[count++] = strcmp(word, "'") == 0 ? word + 1 : word;
    words[count] = NULL;
    return count;
}

/* Loads from one line of flags and one of variables. */
static enum err_code load(const char *flags, const char *variables)
{
    char flag_line[2048], variable_line[2048], name[] = "attnd";
    char *argv[WORDS_MAX] = {name}, *environment[WORDS_MAX];
    snprintf(flag_line, sizeof flag_line, "%s", flags);
    snprintf(variable_line, sizeof variable_line, "%s", variables);
    int argc = split(flag_line, argv, 1);
    split(variable_line, environment, 0);
    err = (struct err){0};
    return config_load(&config, &action, argc, argv, environment, &err);
}

static void expect_error(const char *flags, const char *variables, const char *text)
{
    ck_assert_msg(load(flags, variables) == ERR_UNUSABLE, "no error: %s %s", flags, variables);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(config.arena.blocks);
}

/* The same, with a second mistake behind the first: nothing behind an error is looked at. */
static void expect_first_error(const char *flags, const char *variables, const char *text)
{
    char longer[2048];
    expect_error(flags, variables, text);
    snprintf(longer, sizeof longer, "%s --workers 2 --log-level loud", flags);
    expect_error(longer, variables, text);
}

/* A file with this content; the path is relative, short and the test's own. */
static const char *file_with(const char *content)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/attnd-test-%ld.json", (long)getpid());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
    return path;
}

static enum err_code load_file(const char *content, const char *flags, const char *variables)
{
    char line[2048];
    const char *path = file_with(content);
    snprintf(line, sizeof line, "--config %s %s", path, flags);
    enum err_code code = load(line, variables);
    unlink(path);
    return code;
}

/* The error text after the file's path. */
static void expect_file_error(const char *content, const char *text)
{
    ck_assert_msg(load_file(content, "--log-level loud", "ATTND_WORKERS=x") == ERR_UNUSABLE,
                  "no error: %s", content);
    ck_assert_int_eq(strncmp(err.text, "/tmp/attnd-test-", 16), 0);
    const char *end = strstr(err.text, ".json: ");
    ck_assert_ptr_nonnull(end);
    ck_assert_str_eq(end + strlen(".json: "), text);
}

START_TEST(config_without_any_source_is_the_table_of_defaults)
{
    ck_assert_int_eq(load("", "HOME=/root"), ERR_OK);
    ck_assert_int_eq(action, CONFIG_SERVE);
    ck_assert_str_eq(config.listen, "127.0.0.1:8080");
    ck_assert_str_eq(config.listen_address, "127.0.0.1");
    ck_assert_uint_eq(config.listen_port, 8080);
    ck_assert_uint_eq(config.model_count, 0);
    ck_assert_uint_eq(config.queue_limit, 1024);
    ck_assert_uint_eq(config.inputs_max, 64);
    ck_assert_uint_eq(config.body_bytes_max, 33554432);
    ck_assert_uint_eq(config.image_pixels_max, 33554432);
    ck_assert_uint_eq(config.header_timeout_ms, 10000);
    ck_assert_uint_eq(config.body_timeout_ms, 30000);
    ck_assert_uint_eq(config.drain_timeout_ms, 30000);
    ck_assert_uint_eq(config.connections_max, 4096);
    ck_assert_str_eq(config.linear_backend, "auto");
    ck_assert_str_eq(config.log_level, "info");
    config_deinit(&config);
}
END_TEST

START_TEST(config_flags_win_over_variables_and_variables_over_the_file)
{
    const char *file = "{\"queue_limit\": 100, \"workers\": 1, \"deadline_ms\": 7}";
    ck_assert_int_eq(load_file(file, "--queue-limit 300", "ATTND_QUEUE_LIMIT=200 ATTND_WORKERS=2"),
                     ERR_OK);
    ck_assert_uint_eq(config.queue_limit, 300);
    ck_assert_uint_eq(config.workers, 2);
    ck_assert_uint_eq(config.deadline_ms, 7);
    config_deinit(&config);
}
END_TEST

START_TEST(config_takes_both_spellings_of_a_flag_and_the_last_of_several)
{
    ck_assert_int_eq(load("--queue-limit=65 --log-level debug --queue-limit 66", ""), ERR_OK);
    ck_assert_uint_eq(config.queue_limit, 66);
    ck_assert_str_eq(config.log_level, "debug");
    config_deinit(&config);
}
END_TEST

START_TEST(config_file_may_be_named_by_the_environment_and_a_flag_wins)
{
    char variables[128];
    snprintf(variables, sizeof variables, "ATTND_CONFIG=%s", file_with("{\"workers\": 3}"));
    ck_assert_int_eq(load("", variables), ERR_OK);
    ck_assert_uint_eq(config.workers, 3);
    config_deinit(&config);
    unlink(strchr(variables, '=') + 1);
    ck_assert_int_eq(load("--config config/server.dev.json", variables), ERR_OK);
    ck_assert_uint_eq(config.workers, 1);
    config_deinit(&config);
}
END_TEST

START_TEST(config_adds_models_of_file_environment_and_flags_in_that_order)
{
    const char *file = "{\"models\": [{\"name\": \"a\", \"dir\": \"d/a\"}]}";
    ck_assert_int_eq(load_file(file, "--model d=x,y=z,dtype=bf16 --model=e=/m/e",
                               "ATTND_MODELS=b=d/b\n\tc=d/c,dtype=int8"),
                     ERR_OK);
    const char *const names[] = {"a", "b", "c", "d", "e"};
    const char *const dirs[] = {"d/a", "d/b", "d/c", "x,y=z", "/m/e"};
    ck_assert_uint_eq(config.model_count, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(config.models[i].name, names[i]);
        ck_assert_str_eq(config.models[i].dir, dirs[i]);
    }
    ck_assert_ptr_null(config.models[0].dtype);
    ck_assert_str_eq(config.models[2].dtype, "int8");
    ck_assert_str_eq(config.models[3].dtype, "bf16");
    config_deinit(&config);
}
END_TEST

START_TEST(config_reads_addresses_of_both_families)
{
    const struct {
        const char *flag, *address;
        unsigned port;
    } good[] = {{"--listen=0.0.0.0:0", "0.0.0.0", 0},
                {"--listen=[::1]:8443", "::1", 8443},
                {"--listen=localhost:65535", "127.0.0.1", 65535}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(load(good[i].flag, ""), ERR_OK);
        ck_assert_str_eq(config.listen_address, good[i].address);
        ck_assert_uint_eq(config.listen_port, good[i].port);
        config_deinit(&config);
    }
}
END_TEST

START_TEST(config_refuses_addresses_that_are_not_numeric)
{
    const char *const bad[] = {"8080",
                               ":8080",
                               "*:80",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "1.2.3.4:x",
                               "1.2.3.4:65536",
                               "::1:80",
                               "[1.2.3.4]:80",
                               "[::1]",
                               "[::1:80",
                               "fab.example:80",
                               "1.2.3.4:80:90",
                               "1.2.3.4:+80",
                               "256.1.1.1:80",
                               "[]:80",
                               "1.2.3.4:99999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char flag[128];
        snprintf(flag, sizeof flag, "--listen=%s", bad[i]);
        expect_first_error(
            flag, "",
            "--listen: expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, with "
            "a numeric address and a port from 0 to 65535");
    }
}
END_TEST

START_TEST(config_names_the_nearest_of_an_unknown_name)
{
    expect_first_error("--queue-limt 5", "",
                       "unknown option '--queue-limt'; did you mean '--queue-limit'?");
    expect_first_error("--queue_limit=5", "",
                       "unknown option '--queue_limit'; did you mean '--queue-limit'?");
    expect_first_error("--models a=b", "", "unknown option '--models'; did you mean '--model'?");
    expect_first_error("--temperature 5", "",
                       "unknown option '--temperature'; --help lists the known ones");
    expect_first_error("", "ATTND_QUEUE_LIMT=5",
                       "ATTND_QUEUE_LIMT: unknown variable; did you mean ATTND_QUEUE_LIMIT?");
    expect_first_error("", "ATTND_queue_limit=5",
                       "ATTND_queue_limit: unknown variable; --help lists them");
    expect_first_error("", "ATTND_MODEL=a=b",
                       "ATTND_MODEL: unknown variable; did you mean ATTND_MODELS?");
    expect_first_error("", "ATTND_=5", "ATTND_: unknown variable; --help lists them");
    expect_file_error("{\"queue_limt\": 1}",
                      "$.queue_limt: unknown key; did you mean \"queue_limit\"?");
    expect_file_error("{\"zzz\\u0001\": 1}", "$.zzz?: unknown key");
    expect_file_error("{\"models\": [{\"name\": \"a\", \"dri\": \"x\"}]}",
                      "$.models[0].dri: unknown key; did you mean \"dir\"?");
}
END_TEST

START_TEST(config_says_the_limits_of_a_value)
{
    expect_first_error("--queue-limit 0", "",
                       "--queue-limit: must be a whole number from 1 to 1048576");
    expect_first_error("--workers 1025", "", "--workers: must be a whole number from 0 to 1024");
    expect_first_error("--queue-limit -1", "",
                       "--queue-limit: must be a whole number from 1 to 1048576");
    expect_first_error("--queue-limit=", "",
                       "--queue-limit: must be a whole number from 1 to 1048576");
    expect_first_error("--queue-limit 18446744073709551617", "",
                       "--queue-limit: must be a whole number from 1 to 1048576");
    expect_first_error("", "ATTND_DEADLINE_MS=1s",
                       "ATTND_DEADLINE_MS: must be a whole number from 0 to 86400000");
    expect_first_error("--log-level loud", "", "--log-level: must be one of error|warn|info|debug");
    expect_first_error("", "ATTND_LINEAR_BACKEND=auto|openblas",
                       "ATTND_LINEAR_BACKEND: must be one of auto|native|openblas|reference");
    expect_first_error("--linear-backend onednn", "",
                       "--linear-backend: must be one of auto|native|openblas|reference");
    expect_file_error("{\"linear_backend\": \"onednn\"}",
                      "$.linear_backend: must be one of auto|native|openblas|reference");
    expect_file_error("{\"workers\": 1025}", "$.workers: must be from 0 to 1024");
    expect_file_error("{\"workers\": -1}", "$.workers: must be from 0 to 1024");
    expect_file_error("{\"workers\": 1e300}", "$.workers: must be from 0 to 1024");
    expect_file_error("{\"workers\": 1.5}", "$.workers: expected an integer, found a fraction");
    expect_file_error("{\"workers\": \"1\"}", "$.workers: expected an integer, found a string");
    expect_file_error("{\"log_level\": 1}", "$.log_level: expected a string, found a number");
    expect_file_error("{\"log_level\": \"loud\"}",
                      "$.log_level: must be one of error|warn|info|debug");
    expect_file_error("{\"listen\": \"1.2.3.4:5\\u0000\"}",
                      "$.listen: must not contain a NUL character");
    expect_file_error("{\"models\": {}}", "$.models: expected an array, found an object");
    expect_file_error("{\"models\": [1]}", "$.models[0]: expected an object, found a number");
    expect_file_error("[]", "$: expected an object, found an array");
    expect_file_error("{\"workers\": 1025, \"log_level\": \"loud\"}",
                      "$.workers: must be from 0 to 1024");
    expect_file_error(
        "{\"listen\": \"x:1\", \"log_level\": \"loud\"}",
        "$.listen: expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, with a "
        "numeric address and a port from 0 to 65535");
    expect_file_error("{\"zzz\": 1, \"log_level\": \"loud\"}", "$.zzz: unknown key");
    expect_file_error("{\"models\": 7, \"log_level\": \"loud\"}",
                      "$.models: expected an array, found a number");
    expect_file_error(
        "{\"models\": [{\"name\": 1, \"dir\": \"x\"}, {\"name\": \"/\", \"dir\": \"x\"}]}",
        "$.models[0].name: expected a string, found a number");
    expect_file_error("{\"models\": [{\"name\": \"/\", \"dir\": \"x\", \"dtype\": 1}]}",
                      "$.models[0].dtype: expected a string, found a number");
    expect_file_error("{\"models\": [7, {\"name\": \"/\", \"dir\": \"x\"}]}",
                      "$.models[0]: expected an object, found a number");
    expect_file_error("{\"models\": [{\"dir\": \"x\"}, {\"name\": \"/\", \"dir\": \"x\"}]}",
                      "$.models[0]: needs \"name\" and \"dir\"");
    expect_file_error("{\"models\": [{\"zzz\": 1}, {\"name\": \"/\", \"dir\": \"x\"}]}",
                      "$.models[0].zzz: unknown key");
}
END_TEST

START_TEST(config_refuses_models_that_cannot_be_served)
{
    static const char name_text[] =
        "--model: a model's name must be 1 to 64 of A-Z a-z 0-9 . _ - and not only dots";
    const char *const names[] = {
        "=x",    "a/b=x",
        "..=x",  "\xC3\xA9=x",
        "a\"=x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char flags[128];
        snprintf(flags, sizeof flags, "--model %s", names[i]);
        expect_first_error(flags, "", name_text);
    }
    expect_first_error("--model '", "", "--model: " MODEL_TEXT);
    expect_first_error("--model a", "", "--model: " MODEL_TEXT);
    expect_first_error("--model a=d,dtype=f64", "",
                       "--model: model \"a\": dtype must be one of f32|bf16|int8|auto");
    expect_first_error(
        "--model a=", "",
        "--model: model \"a\": the directory must be 1 to 4096 bytes of UTF-8 without "
        "control characters");
    expect_first_error(
        "--model a=\xFF", "",
        "--model: model \"a\": the directory must be 1 to 4096 bytes of UTF-8 without "
        "control characters");
    expect_first_error("--model a=x --model b=y --model a=x", "", "--model: " TWICE_TEXT);
    expect_first_error("--model a=x,split=half", "",
                       "--model: \"half\" is no share; expected a number from 0 to 1");
    expect_file_error("{\"models\": [{\"name\": \"a\"}]}",
                      "$.models[0]: needs \"name\" and \"dir\"");
    expect_file_error("{\"models\": [{\"name\": \"a\", \"dir\": \"x\"},"
                      "{\"name\": \"a\", \"dir\": \"x\", \"split\": 0.5}]}",
                      "$.models[1]: " TWICE_TEXT);
}
END_TEST

START_TEST(config_serves_sixty_four_models_and_not_one_more)
{
    char variables[2048] = "ATTND_MODELS=";
    for (int i = 0; i < 64; i++)
        snprintf(variables + strlen(variables), sizeof variables - strlen(variables), "m%d=d\n", i);
    ck_assert_int_eq(load("", variables), ERR_OK);
    ck_assert_uint_eq(config.model_count, 64);
    config_deinit(&config);
    expect_error("--model last=d", variables, "--model: more than 64 models");
}
END_TEST

/* A null is neither a value nor given: the options after it still count. */
START_TEST(config_takes_null_in_the_file_for_absent)
{
    ck_assert_int_eq(load_file("{\"inputs_max\": null, \"workers\": null, \"queue_limit\": 7, "
                               "\"log_level\": null, \"models\": null, \"deadline_ms\": 9}",
                               "", ""),
                     ERR_OK);
    ck_assert_uint_eq(config.queue_limit, 7);
    ck_assert_uint_eq(config.inputs_max, 7);
    ck_assert_uint_eq(config.workers, 0);
    ck_assert_uint_eq(config.deadline_ms, 9);
    ck_assert_str_eq(config.log_level, "info");
    ck_assert_uint_eq(config.model_count, 0);
    config_deinit(&config);
    expect_file_error("{\"worker\": null}", "$.worker: unknown key; did you mean \"workers\"?");
}
END_TEST

START_TEST(config_reads_the_actions)
{
    const struct {
        const char *flags;
        enum config_action action;
    } good[] = {{"--check-config", CONFIG_CHECK},
                {"--print-config --check-config", CONFIG_PRINT},
                {"--help --queue-limit nonsense", CONFIG_HELP},
                {"--version --what", CONFIG_VERSION}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(load(good[i].flags, ""), ERR_OK);
        ck_assert_int_eq(action, good[i].action);
        config_deinit(&config);
    }
    expect_error("--check-config=yes", "", "--check-config: takes no value");
    expect_error("--config", "", "--config: needs a value: FILE");
    expect_error("--queue-limit", "", "--queue-limit: needs a value: N");
    expect_error("serve", "", "unexpected argument 'serve'; --help shows the usage");
}
END_TEST

START_TEST(config_refuses_files_that_are_missing_broken_or_large)
{
    expect_error("--config /nonexistent/a.json", "",
                 "/nonexistent/a.json: cannot be opened: No such file or directory");
    expect_error("--config '", "", ": cannot be opened: No such file or directory");
    expect_file_error("", "JSON ends too early at byte 0");
    expect_file_error("{\"workers\": 1, \"workers\": 2}",
                      "duplicate key in a JSON object at byte 24");
    char *large = malloc(1024 * 1024 + 2);
    ck_assert_ptr_nonnull(large);
    memset(large, ' ', 1024 * 1024 + 1);
    large[1024 * 1024 + 1] = '\0';
    large[0] = '{';
    large[1024 * 1024 - 1] = '}';
    expect_file_error(large, "larger than 1048576 bytes");
    large[1024 * 1024] = '\0';
    ck_assert_int_eq(load_file(large, "", ""), ERR_OK);
    config_deinit(&config);
    free(large);
}
END_TEST

START_TEST(config_ignores_variables_that_clusters_and_tests_set)
{
    ck_assert_int_eq(load("", "ATTND_CORPORA=/x ATTND_GOLDEN=/y "
                              "ATTND_SERVICE_HOST=10.0.0.1 ATTND_SERVICE_PORT=8080 "
                              "ATTND_SERVICE_PORT_HTTP=8080 ATTND_PORT=tcp://10.0.0.1:8080 "
                              "ATTND_PORT_8080_TCP=tcp://10.0.0.1:8080 "
                              "ATTND_PORT_8080_TCP_PROTO=tcp ATTND_PORT_8080_TCP_PORT=8080 "
                              "ATTND_GPU_SERVICE_HOST=10.0.0.2 ATTND_GPU_PORT=tcp://10.0.0.2:1 "
                              "ATTNDX=1 MY_ATTND_WORKERS=2"),
                     ERR_OK);
    config_deinit(&config);
    expect_error("", "ATTND_PORT=8080", "ATTND_PORT: unknown variable; --help lists them");
}
END_TEST

/* The output of config_print or of a function like it, NUL-terminated. */
static char *printed(void (*print)(FILE *))
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    if (print != NULL)
        print(file);
    else
        config_print(&config, file);
    fclose(file);
    return text;
}

START_TEST(config_print_is_a_file_that_config_accepts_again)
{
    ck_assert_int_eq(load("--listen [::1]:0 --model a=with\"quote\\and,comma "
                          "--model b=\xC3\xBC,dtype=int8 --queue-limit 77 --drain-delay-ms 5 "
                          "--body-bytes-max 1073741824 --linear-backend reference",
                          ""),
                     ERR_OK);
    char *first = printed(NULL);
    config_deinit(&config);
    ck_assert_int_eq(load_file(first, "", ""), ERR_OK);
    ck_assert_uint_eq(config.body_bytes_max, 1073741824);
    ck_assert_uint_eq(config.listen_port, 0);
    ck_assert_str_eq(config.models[0].dir, "with\"quote\\and,comma");
    ck_assert_str_eq(config.models[1].dtype, "int8");
    char *second = printed(NULL);
    config_deinit(&config);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}
END_TEST

START_TEST(config_help_names_every_option)
{
    char *help = printed(config_help);
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        char flag[CLI_NAME_BYTES];
        cli_spell(&option_table[i], flag);
        ck_assert_ptr_nonnull(strstr(help, flag));
    }
    ck_assert_ptr_nonnull(strstr(help, "--queue-limit N"));
    ck_assert_ptr_nonnull(strstr(help, "--otlp-endpoint URL "));
    ck_assert_ptr_nonnull(strstr(help, "--cors-origins URL,URL...\n"));
    ck_assert_ptr_nonnull(strstr(help, "(default 64)"));
    free(help);
}
END_TEST

START_TEST(config_loads_the_example_files)
{
    const char *const files[] = {"--config config/server.json", "--config config/server.dev.json"};
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(load(files[i], "") == ERR_OK, "%s", err.text);
        ck_assert_uint_eq(config.model_count, 3);
        ck_assert_str_eq(config.models[0].dir, "models/wafer-vit");
        ck_assert_str_eq(config.models[1].dir, "models/testlog-bert");
        ck_assert_str_eq(config.models[2].dir, "models/kernel-bert");
        config_deinit(&config);
    }
}
END_TEST

START_TEST(config_survives_every_truncation_and_random_mutation_of_a_good_file)
{
    static const char good[] =
        "{\"listen\": \"[::1]:80\", \"models\": [{\"name\": \"a\", \"dir\": \"d\\u00fc\", "
        "\"dtype\": \"bf16\"}], \"queue_limit\": 12, \"inputs_max\": 3, \"log_level\": \"warn\"}";
    char file[sizeof good];
    unsigned accepted = 0;
    for (size_t len = 0; len < sizeof good - 1; len++) {
        memcpy(file, good, len);
        file[len] = '\0';
        ck_assert_int_eq(load_file(file, "", ""), ERR_UNUSABLE);
    }
    unsigned long state = 12345;
    for (int round = 0; round < 2000; round++) {
        memcpy(file, good, sizeof good);
        for (int k = 0; k < 2; k++) {
            state = state * 6364136223846793005UL + 1442695040888963407UL;
            file[(state >> 33) % (sizeof good - 1)] = (char)(1 + (state >> 55) % 255);
        }
        if (load_file(file, "", "") == ERR_OK) {
            accepted++;
            config_deinit(&config);
        }
    }
    ck_assert_uint_gt(accepted, 0);
    ck_assert_uint_lt(accepted, 1000);
}
END_TEST

SUITE("config", config_without_any_source_is_the_table_of_defaults,
      config_flags_win_over_variables_and_variables_over_the_file,
      config_takes_both_spellings_of_a_flag_and_the_last_of_several,
      config_file_may_be_named_by_the_environment_and_a_flag_wins,
      config_adds_models_of_file_environment_and_flags_in_that_order,
      config_reads_addresses_of_both_families, config_refuses_addresses_that_are_not_numeric,
      config_names_the_nearest_of_an_unknown_name, config_says_the_limits_of_a_value,
      config_refuses_models_that_cannot_be_served, config_serves_sixty_four_models_and_not_one_more,
      config_reads_the_actions, config_refuses_files_that_are_missing_broken_or_large,
      config_ignores_variables_that_clusters_and_tests_set,
      config_print_is_a_file_that_config_accepts_again, config_help_names_every_option,
      config_loads_the_example_files,
      config_survives_every_truncation_and_random_mutation_of_a_good_file,
      config_takes_null_in_the_file_for_absent)
