#include "wire/problem.h"

#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(problem_codes_have_a_title_and_a_status)
{
    ck_assert_uint_eq(problem_status(ERR_OK), 200);
    ck_assert_str_eq(problem_title(ERR_QUEUE_FULL), "Queue full");
    ck_assert_uint_eq(problem_status(ERR_QUEUE_FULL), 429);
    ck_assert_uint_eq(problem_status(ERR_CONFLICT), 409);
    ck_assert_uint_eq(problem_status(ERR_FORBIDDEN), 403);
    ck_assert_uint_eq(problem_status(ERR_DEADLINE), 504);
}
END_TEST

/* The table of kinds and the list of codes are in two files. */
START_TEST(problem_table_forgets_no_code)
{
    for (int i = 0; i < ERR_CODE_COUNT; i++) {
        enum err_code code = (enum err_code)i;
        ck_assert_msg(problem_title(code) != NULL && problem_title(code)[0] != '\0', "code %d", i);
        ck_assert_msg(err_name(code) != NULL && err_name(code)[0] != '\0', "code %d", i);
        ck_assert_msg(problem_status(code) >= 200 && problem_status(code) <= 599, "%s: %u",
                      err_name(code), problem_status(code));
        ck_assert_msg((problem_status(code) < 400) == (code == ERR_OK), "%s: %u", err_name(code),
                      problem_status(code));
    }
}
END_TEST

START_TEST(problem_documents_are_made_of_every_code)
{
    for (int i = ERR_OK + 1; i < ERR_CODE_COUNT; i++) {
        enum err_code code = (enum err_code)i;
        struct err err = {0};
        err_set(&err, code, "$.text: empty");
        struct json_t *json = problem_document(&err, "/predict");
        char expected[512];
        json_t *same = json_pack(
            "{s:s+,s:s,s:i,s:s,s:s,s:s,s:s}", "type", "urn:attnd:error:", err_name(code), "title",
            problem_title(code), "status", (int)problem_status(code), "detail", "$.text: empty",
            "instance", "/predict", "error", "$.text: empty", "error_type", err_name(code));
        ck_assert(json_equal(json, same));
        snprintf(expected, sizeof expected,
                 "{\"type\":\"urn:attnd:error:%s\",\"title\":", err_name(code));
        char *text = json_dumps(json, JSON_COMPACT);
        ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
        free(text);
        json_decref(json);
        json_decref(same);
    }
}
END_TEST

START_TEST(problem_documents_name_an_instance_only_if_there_is_one)
{
    struct err err = {.code = ERR_UNUSABLE, .text = "$.text: empty"};
    struct json_t *json = problem_document(&err, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_ptr_null(json_object_get(json, "instance"));
    ck_assert_uint_eq(json_object_size(json), 6);
    json_decref(json);
}
END_TEST

START_TEST(problem_documents_are_made_whatever_the_bytes)
{
    struct err err = {.code = ERR_UNUSABLE, .text = "\xFF"};
    struct json_t *json = problem_document(&err, "/\xFF");
    ck_assert_str_eq(json_string_value(json_object_get(json, "detail")), "Unusable input");
    ck_assert_str_eq(json_string_value(json_object_get(json, "error")), "Unusable input");
    ck_assert_ptr_null(json_object_get(json, "instance"));
    json_decref(json);
}
END_TEST

SUITE("problem", problem_codes_have_a_title_and_a_status, problem_table_forgets_no_code,
      problem_documents_are_made_of_every_code,
      problem_documents_name_an_instance_only_if_there_is_one,
      problem_documents_are_made_whatever_the_bytes)
