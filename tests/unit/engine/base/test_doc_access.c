/* Accessors of a tree: their result for each kind of value, and their error for the other kinds. An
 * accessor that fails leaves its output alone. */
#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

#define DOCUMENT                                                                                   \
    "{\"object\": {\"a\": 1, \"b\": null}, \"array\": [1, 2, 3], \"text\": \"caf\xC3\xA9\", "      \
    "\"nul\": \"a\\u0000b\", \"integer\": -7, \"real\": 2.5, \"whole\": 4.0, \"yes\": true, "      \
    "\"no\": false, \"null\": null, \"large\": 9007199254740993}"

static struct json_t *parsed(const char *text)
{
    struct json_t *root;
    struct err err = {0};
    ck_assert_msg(!doc_parse(&root, text, strlen(text), &doc_limits_request, &err), "%s", err.text);
    return root;
}

START_TEST(json_tells_the_kind_of_every_value)
{
    static const char *const kinds[][2] = {
        {"object", "an object"}, {"array", "an array"}, {"text", "a string"},
        {"integer", "a number"}, {"real", "a number"},  {"yes", "a boolean"},
        {"no", "a boolean"},     {"null", "nothing"},   {"absent", "nothing"},
    };
    struct json_t *root = parsed(DOCUMENT), *null = parsed("[null]");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ck_assert_str_eq(doc_type_name(doc_member(root, kinds[i][0])), kinds[i][1]);
    ck_assert_str_eq(doc_type_name(doc_array_item(null, 0)), "null");
    doc_free(root);
    doc_free(null);
}
END_TEST

START_TEST(json_accessors_give_their_own_kind_only)
{
    struct json_t *root = parsed(DOCUMENT);
    double number = 99;
    long long integer = 99;
    size_t len = 99;
    ck_assert_uint_eq(doc_object_count(root), 11);
    ck_assert_uint_eq(doc_object_count(doc_member(root, "object")), 2);
    ck_assert_uint_eq(doc_object_count(doc_member(root, "array")), 0);
    ck_assert_uint_eq(doc_array_count(doc_member(root, "array")), 3);
    ck_assert_uint_eq(doc_array_count(root), 0);
    ck_assert_ptr_null(doc_array_item(doc_member(root, "array"), 3));
    ck_assert_ptr_null(doc_member(doc_member(root, "array"), "a"));
    ck_assert_str_eq(doc_as_string(doc_member(root, "text")), "caf\xC3\xA9");
    ck_assert_ptr_null(doc_as_string(doc_member(root, "nul")));
    ck_assert_ptr_null(doc_as_string(doc_member(root, "integer")));
    ck_assert_ptr_null(doc_as_string(NULL));
    ck_assert_mem_eq(doc_text(doc_member(root, "nul"), &len), "a\0b", 4);
    ck_assert_uint_eq(len, 3);
    ck_assert_ptr_null(doc_text(doc_member(root, "real"), &len));
    ck_assert_uint_eq(len, 0);
    ck_assert(!doc_as_number(doc_member(root, "text"), &number) && number == 99);
    ck_assert(doc_as_number(doc_member(root, "integer"), &number) && number == -7);
    ck_assert(doc_as_number(doc_member(root, "real"), &number) && number == 2.5);
    ck_assert(!doc_as_integer(doc_member(root, "whole"), &integer) && integer == 99);
    ck_assert(!doc_as_integer(doc_member(root, "text"), &integer) && integer == 99);
    ck_assert(doc_as_integer(doc_member(root, "large"), &integer));
    ck_assert_int_eq(integer, 9007199254740993);
    doc_free(root);
}
END_TEST

struct got {
    long long integer;
    double number;
    bool flag;
    const char *text;
};

/* Asks for a member in one of the four ways: 'i', 'n', 'b', 's'. */
static enum err_code get(const struct json_t *root, char way, const char *key, struct got *got,
                         struct err *err)
{
    switch (way) {
    case 'i':
        return doc_get_integer(root, "$.x", key, -7, 4, &got->integer, err);
    case 'n':
        return doc_get_number(root, "$.x", key, &got->number, err);
    case 'b':
        return doc_get_bool(root, "$.x", key, &got->flag, err);
    default:
        return doc_get_string(root, "$.x", key, &got->text, err);
    }
}

START_TEST(json_get_says_where_which_kind_was_expected)
{
    static const struct {
        char way;
        const char *key, *error;
    } cases[] = {
        {'i', "text", "$.x.text: expected an integer, found a string"},
        {'i', "yes", "$.x.yes: expected an integer, found a boolean"},
        {'i', "real", "$.x.real: expected an integer, found a fraction"},
        {'i', "five", "$.x.five: must be from -7 to 4"},
        {'i', "minus", "$.x.minus: must be from -7 to 4"},
        {'n', "text", "$.x.text: expected a number, found a string"},
        {'n', "array", "$.x.array: expected a number, found an array"},
        {'b', "integer", "$.x.integer: expected true or false, found a number"},
        {'s', "object", "$.x.object: expected a string, found an object"},
        {'s', "nul", "$.x.nul: must not contain a NUL character"},
    };
    struct json_t *root = parsed("{\"text\": \"t\", \"yes\": true, \"real\": 2.5, \"five\": 5, "
                                 "\"minus\": -8, \"array\": [1], \"integer\": 1, \"object\": {}, "
                                 "\"nul\": \"\\u0000\"}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct got got = {99, 99, true, "before"};
        struct err err = {0};
        ck_assert_int_eq(get(root, cases[i].way, cases[i].key, &got, &err), ERR_UNUSABLE);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert(got.integer == 99 && got.number == 99 && got.flag);
        ck_assert_str_eq(got.text, "before");
    }
    doc_free(root);
}
END_TEST

START_TEST(json_get_takes_members_and_leaves_absent_ones_alone)
{
    struct json_t *root = parsed(DOCUMENT);
    static const char *const none[] = {"null", "absent"};
    struct got got = {99, 99, true, "before"};
    struct err err = {0};
    for (size_t i = 0; i < 2; i++)
        for (const char *way = "inbs"; *way != '\0'; way++)
            ck_assert_int_eq(get(root, *way, none[i], &got, &err), ERR_OK);
    ck_assert(got.integer == 99 && got.number == 99 && got.flag);
    ck_assert_str_eq(got.text, "before");
    ck_assert(!get(root, 'i', "integer", &got, &err) && got.integer == -7);
    ck_assert(!get(root, 'i', "whole", &got, &err) && got.integer == 4);
    ck_assert(!get(root, 'n', "integer", &got, &err) && got.number == -7);
    ck_assert(!get(root, 'n', "real", &got, &err) && got.number == 2.5);
    ck_assert(!get(root, 'b', "no", &got, &err) && !got.flag);
    ck_assert(!get(root, 'b', "yes", &got, &err) && got.flag);
    ck_assert(!get(root, 's', "text", &got, &err));
    ck_assert_str_eq(got.text, "caf\xC3\xA9");
    ck_assert(!doc_get_integer(root, "$", "large", 0, 1LL << 62, &got.integer, &err));
    ck_assert_int_eq(got.integer, 9007199254740993);
    ck_assert_int_eq(err.code, ERR_OK);
    doc_free(root);
}
END_TEST

START_TEST(json_get_returns_the_error_that_was_there)
{
    struct json_t *root = parsed(DOCUMENT);
    static const char *const members[] = {"integer", "integer", "yes", "text"};
    for (size_t i = 0; i < 4; i++) {
        struct got got = {99, 99, true, "before"};
        struct err err = {0};
        err_set(&err, ERR_UNSUPPORTED, "earlier");
        ck_assert_int_eq(get(root, "inbs"[i], "absent", &got, &err), ERR_UNSUPPORTED);
        ck_assert_int_eq(get(root, "inbs"[i], members[i], &got, &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, "earlier");
    }
    doc_free(root);
}
END_TEST

struct visits {
    char keys[64];
    unsigned left; /* calls until one fails */
};

static enum err_code visit(void *context, const char *key, const struct json_t *value,
                           struct err *err)
{
    struct visits *visits = context;
    ck_assert_ptr_nonnull(value);
    strcat(visits->keys, key);
    return --visits->left == 0 ? err_set(err, ERR_UNUSABLE, "enough") : ERR_OK;
}

START_TEST(json_each_member_goes_in_order_until_one_fails)
{
    struct json_t *root = parsed("{\"c\": 1, \"a\": null, \"b\": 2}"), *array = parsed("[1]");
    struct visits all = {.left = 9}, two = {.left = 2}, none = {.left = 1};
    struct err err = {0};
    ck_assert_int_eq(doc_each_member(root, visit, &all, &err), ERR_OK);
    ck_assert_str_eq(all.keys, "cab");
    ck_assert_int_eq(doc_each_member(root, visit, &two, &err), ERR_UNUSABLE);
    ck_assert_str_eq(two.keys, "ca");
    ck_assert_int_eq(doc_each_member(array, visit, &none, &err), ERR_OK);
    ck_assert_str_eq(none.keys, "");
    doc_free(root);
    doc_free(array);
}
END_TEST

/* ---- limits and errors ---- */

START_TEST(json_limits_hold_at_their_bound_and_not_beyond)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[[1]]", ""},
        {"[[[1]]]", "JSON nested deeper than 2 levels at byte 2"},
        {"[{\"a\":{}}]", "JSON nested deeper than 2 levels at byte 6"},
        {"[[],[],[]]", ""},
        {"[1,2,3,4,5]", ""},
        {"[1,2,3,4,5,6,7]", "more than 6 JSON tokens at byte 12"},
        {"{\"a\":[1,2,3]}", ""},
        {"{\"a\":[1,2,3,4]}", "more than 6 JSON tokens at byte 11"},
        {"[\"a\",\"b\",\"c\"]", ""},
        {"[\"[[[,,,,,,\"]", ""},
        {"[\"\\\"[[[,,,,,,\"]", ""},
        {"[\"\\\\\",[[1]]]", "JSON nested deeper than 2 levels at byte 7"},
        {"]]]]", "not valid JSON at byte 1 (line 1)"},
        {"[[1]]      ", "more than 10 bytes of JSON, long strings not counted"},
    };
    const struct doc_limits limits = {.depth_max = 2, .tokens_max = 6, .bytes_max = 10};
    struct doc_limits unbounded = limits;
    unbounded.bytes_max = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_t *root = (struct json_t *)&unbounded; /* to be overwritten */
        struct err err = {0};
        bool is_last = i + 1 == sizeof cases / sizeof *cases;
        enum err_code code = doc_parse(&root, cases[i].text, strlen(cases[i].text),
                                       is_last ? &limits : &unbounded, &err);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert_int_eq(code, err.code);
        ck_assert_int_eq(root == NULL, code != ERR_OK);
        doc_free(root);
    }
    struct json_t *root;
    struct err err = {0};
    ck_assert_int_eq(doc_parse(&root, "[[1]]     ", 10, &limits, &err), ERR_OK);
    doc_free(root);
}
END_TEST

START_TEST(json_errors_have_their_code_and_their_byte)
{
    static const struct {
        const char *text;
        enum err_code code;
        const char *error;
    } cases[] = {
        {"", ERR_MALFORMED, "JSON ends too early at byte 0"},
        {"{\"a\": 1", ERR_MALFORMED, "JSON ends too early at byte 7"},
        {"{} x", ERR_MALFORMED, "more bytes after the JSON value at byte 4"},
        {"{\"a\": 1, \"a\": 2}", ERR_MALFORMED, "duplicate key in a JSON object at byte 12"},
        {"[\"\xC3\x28\"]", ERR_UNUSABLE, "invalid UTF-8 at byte 2"},
        {"[1e999]", ERR_UNUSABLE, "number out of range at byte 6"},
        {"[100000000000000000000]", ERR_UNUSABLE, "number out of range at byte 22"},
        {"[\n1,\n+2]", ERR_MALFORMED, "not valid JSON at byte 6 (line 3)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_t *root;
        struct err err = {0};
        ck_assert_int_eq(
            doc_parse(&root, cases[i].text, strlen(cases[i].text), &doc_limits_request, &err),
            cases[i].code);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert_ptr_null(root);
    }
}
END_TEST

/* ---- files ---- */

START_TEST(json_parse_file_gives_a_tree_or_null_and_a_reason)
{
    struct tempdir dir;
    char path[128];
    struct json_t *root = NULL, *const other = (struct json_t *)&dir;
    struct err err = {0};
    double number = 0;
    tempdir_open(&dir);
    tempdir_write(&dir, "a.json", "[12]", 4);
    tempdir_write(&dir, "bad.json", "[12", 3);
    snprintf(path, sizeof path, "%s/a.json", dir.path);
    ck_assert_int_eq(doc_parse_file(&root, path, 4, &err), ERR_OK);
    ck_assert(doc_as_number(doc_array_item(root, 0), &number) && number == 12);
    doc_free(root);
    root = other;
    ck_assert_int_eq(doc_parse_file(&root, path, 3, &err), ERR_TOO_LARGE);
    ck_assert_ptr_null(root);
    err = (struct err){0};
    root = other;
    snprintf(path, sizeof path, "%s/bad.json", dir.path);
    ck_assert_int_eq(doc_parse_file(&root, path, 4, &err), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "JSON ends too early at byte 3");
    ck_assert_ptr_null(root);
    err = (struct err){0};
    root = other;
    ck_assert_int_eq(doc_parse_file(&root, "/nowhere/a.json", 4, &err), ERR_IO);
    ck_assert_str_eq(err.text, "cannot be opened: No such file or directory");
    ck_assert_ptr_null(root);
    tempdir_close(&dir);
}
END_TEST

START_TEST(json_read_object_takes_nothing_else_for_an_empty_one)
{
    static const char *const others[] = {"[]", "null", "7", "\"{}\""};
    struct tempdir dir;
    char path[128];
    struct json_t *root;
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/a.json", dir.path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct err err = {0};
        tempdir_write(&dir, "a.json", others[i], strlen(others[i]));
        ck_assert_int_eq(doc_read_object(&root, path, 64, &err), ERR_UNSUPPORTED);
        ck_assert_ptr_eq(strstr(err.text, "expected an object, found "), err.text);
        ck_assert_ptr_null(root);
    }
    struct err err = {0};
    tempdir_write(&dir, "a.json", "{}", 2);
    ck_assert_int_eq(doc_read_object(&root, path, 64, &err), ERR_OK);
    doc_free(root);
    tempdir_close(&dir);
}
END_TEST

/* Files may be larger than requests, and their integers are read as reals. */
START_TEST(json_limits_of_files_and_requests_are_their_own)
{
    ck_assert_uint_eq(doc_limits_file.depth_max, 16);
    ck_assert_uint_eq(doc_limits_file.tokens_max, 4000000);
    ck_assert_uint_eq(doc_limits_file.bytes_max, 0);
    ck_assert(doc_limits_file.integers_as_reals);
    ck_assert_uint_eq(doc_limits_request.depth_max, 16);
    ck_assert_uint_eq(doc_limits_request.tokens_max, 4096);
    ck_assert(!doc_limits_request.integers_as_reals);
    struct json_t *root;
    struct err err = {0};
    long long integer;
    double number = 0;
    ck_assert_int_eq(doc_parse(&root, "[1]", 3, &doc_limits_file, &err), ERR_OK);
    ck_assert(!doc_as_integer(doc_array_item(root, 0), &integer));
    ck_assert(doc_as_number(doc_array_item(root, 0), &number) && number == 1);
    doc_free(root);
}
END_TEST

SUITE("json_access", json_tells_the_kind_of_every_value, json_accessors_give_their_own_kind_only,
      json_get_says_where_which_kind_was_expected,
      json_get_takes_members_and_leaves_absent_ones_alone,
      json_get_returns_the_error_that_was_there, json_each_member_goes_in_order_until_one_fails,
      json_limits_hold_at_their_bound_and_not_beyond, json_errors_have_their_code_and_their_byte,
      json_read_object_takes_nothing_else_for_an_empty_one,
      json_parse_file_gives_a_tree_or_null_and_a_reason,
      json_limits_of_files_and_requests_are_their_own)
