/* keep_inputs_bytes and keep_inputs_share: the options that they need, and a share in a file. */
#include "config/config_load.h"
#include "config/config_print.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config config;
static struct err err;

static enum err_code load(const char *json)
{
    struct tempdir dir;
    char program[] = "attnd", option[] = "--config", path[128];
    char *argv[] = {program, option, path, NULL}, *environment[] = {NULL};
    enum config_action action;
    tempdir_open(&dir);
    tempdir_write(&dir, "attnd.json", json, strlen(json));
    snprintf(path, sizeof path, "%s/attnd.json", dir.path);
    err = (struct err){0};
    enum err_code code = config_load(&config, &action, 3, argv, environment, &err);
    tempdir_close(&dir);
    return code;
}

static void expect_error(const char *json, const char *told)
{
    ck_assert_int_eq(load(json), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, told) != NULL, "%s", err.text);
}

START_TEST(a_share_is_read_from_a_file_and_printed_again)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    ck_assert_msg(load("{\"state_dir\": \"s\", \"keep_inputs_bytes\": 1000, "
                       "\"keep_inputs_share\": 0.125}") == ERR_OK,
                  "%s", err.text);
    ck_assert_double_eq(config.keep_inputs_share, 0.125);
    config_print(&config, file);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "\"keep_inputs_share\": 0.125,"));
    free(text);
    config_deinit(&config);
}
END_TEST

START_TEST(config_names_the_option_that_keeping_needs)
{
    expect_error("{\"keep_inputs_bytes\": 1000}", "keep_inputs_bytes needs state_dir");
    expect_error("{\"state_dir\": \"s\", \"keep_inputs_share\": 0.5}",
                 "keep_inputs_share needs keep_inputs_bytes");
    expect_error("{\"keep_inputs_share\": 1.5}",
                 "$.keep_inputs_share: must be a number from 0 to 1");
    expect_error("{\"keep_inputs_share\": \"0.5\"}",
                 "$.keep_inputs_share: expected a number, found a string");
}
END_TEST

SUITE("config_keeping", a_share_is_read_from_a_file_and_printed_again,
      config_names_the_option_that_keeping_needs)
