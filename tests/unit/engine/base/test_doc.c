#include "engine/base/doc.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum err_code parse(const char *bytes, size_t len, struct err *err)
{
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, bytes, len);
    struct json_t *root;
    *err = (struct err){0};
    enum err_code code = doc_parse(&root, exact, len, &doc_limits_request, err);
    ck_assert_int_eq(code, err->code);
    ck_assert_int_eq(root != NULL, code == ERR_OK);
    doc_free(root);
    free(exact);
    return err->code;
}

static enum err_code parse_text(const char *text, struct err *err)
{
    return parse(text, strlen(text), err);
}

static size_t read_case(const char *name, char *buffer, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "tests/data/json/%s", name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    size_t len = fread(buffer, 1, size, file);
    fclose(file);
    ck_assert_uint_lt(len, size);
    return len;
}

/* Verdicts of the suite that we do not share, and why. */
static int is_exception(const char *name)
{
    return strcmp(name, "y_object_duplicated_key.json") == 0 || /* duplicate keys are refused */
           strcmp(name, "y_object_duplicated_key_and_value.json") == 0 ||
           strcmp(name, "y_object_escaped_null_in_key.json") == 0 || /* jansson has no such keys */
           strcmp(name, "n_multidigit_number_then_00.json") ==
               0; /* jansson with any top-level value */
}

/* Python's json writes NaN and Infinity for numbers that JSON does not have. They are read as null
 * in lines that people send, nowhere else. */
START_TEST(doc_reads_nan_as_null_where_it_may)
{
    static const struct doc_limits lines = {
        .depth_max = 4, .tokens_max = 100, .integers_as_reals = true, .nan_is_null = true};
    static const char text[] = "{\"a\": NaN, \"NaN\": [-Infinity,Infinity], \"b\": \"\\\"NaN\"}";
    struct json_t *root;
    struct err err = {0};
    ck_assert_msg(!doc_parse(&root, text, strlen(text), &lines, &err), "%s", err.text);
    ck_assert(doc_has_null(root, "a"));
    ck_assert_uint_eq(doc_array_count(doc_member(root, "NaN")), 2);
    ck_assert_str_eq(doc_as_string(doc_member(root, "b")), "\"NaN");
    doc_free(root);
    ck_assert_int_eq(doc_parse(&root, "NaN", 3, &lines, &err), ERR_OK); /* the longest growth */
    doc_free(root);
    ck_assert_int_eq(doc_parse(&root, "[NaN, \"Infinity", 15, &lines, &err), ERR_MALFORMED);
    ck_assert_int_eq(parse_text("[NaN]", &err), ERR_MALFORMED);
}
END_TEST

START_TEST(doc_writes_a_number_as_its_text)
{
    static const char text[] = "[0, -7, 9223372036854775807, 0.1, 1e2, 1.5e-7, 9007199254740992.0,"
                               " 1e300, \"1\", true]";
    static const char *const expected[] = {
        "0", "-7", "9223372036854775807", "0.1", "100", "1.5e-07", NULL, NULL, NULL, NULL};
    struct doc_limits reals = doc_limits_request;
    struct json_t *root;
    struct err err = {0};
    ck_assert_int_eq(doc_parse(&root, text, strlen(text), &doc_limits_request, &err), ERR_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char digits[DOC_NUMBER_BYTES];
        bool is_number = doc_number_text(doc_array_item(root, i), digits);
        ck_assert_int_eq(is_number, expected[i] != NULL);
        ck_assert_str_eq(digits, is_number ? expected[i] : "");
    }
    doc_free(root);
    reals.integers_as_reals = true;
    static const char *const integers[] = {"0", "-7", "1000000000000000", "1700000000000000",
                                           "-9007199254740991"};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        char digits[DOC_NUMBER_BYTES], list[40];
        snprintf(list, sizeof list, "[%s]", integers[i]);
        ck_assert_int_eq(doc_parse(&root, list, strlen(list), &reals, &err), ERR_OK);
        ck_assert(doc_number_text(doc_array_item(root, 0), digits));
        ck_assert_str_eq(digits, integers[i]);
        doc_free(root);
    }
}
END_TEST

START_TEST(json_agrees_with_the_conformance_suite)
{
    static char bytes[64 * 1024];
    DIR *dir = opendir("tests/data/json");
    ck_assert_ptr_nonnull(dir);
    int cases = 0, exceptions = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (strstr(name, ".json") == NULL)
            continue;
        struct err err;
        int accepted = parse(bytes, read_case(name, bytes, sizeof bytes), &err) == ERR_OK;
        cases++;
        if (is_exception(name)) {
            ck_assert_msg(accepted == (name[0] == 'n'), "%s is no exception any more", name);
            exceptions++;
        } else if (name[0] != 'i') {
            ck_assert_msg(accepted == (name[0] == 'y'), "%s: %s", name, err.text);
        }
    }
    closedir(dir);
    ck_assert_int_eq(cases, 316);
    ck_assert_int_eq(exceptions, 4);
}
END_TEST

START_TEST(json_refuses_the_suites_deep_nesting)
{
    static const struct {
        const char *piece;
        size_t count;
    } deep[] = {{"[", 100000}, {"[{\"\":", 50000}};
    for (int i = 0; i < 2; i++) {
        size_t step = strlen(deep[i].piece), len = step * deep[i].count;
        char *bytes = malloc(len);
        for (size_t at = 0; at < len; at++)
            bytes[at] = deep[i].piece[at % step];
        struct err err;
        ck_assert_int_eq(parse(bytes, len, &err), ERR_TOO_LARGE);
        ck_assert_str_eq(err.text, i == 0 ? "JSON nested deeper than 16 levels at byte 16"
                                          : "JSON nested deeper than 16 levels at byte 40");
        free(bytes);
    }
}
END_TEST

START_TEST(json_bounds_the_number_of_tokens)
{
    char bytes[10000];
    memset(bytes, ',', sizeof bytes);
    bytes[0] = '[';
    struct err err;
    ck_assert_int_eq(parse(bytes, sizeof bytes, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "more than 4096 JSON tokens at byte 4096");
}
END_TEST

START_TEST(json_errors_tell_the_kind_and_the_byte_but_not_the_input)
{
    struct err err;
    ck_assert_int_eq(parse_text("", &err), ERR_MALFORMED);
    ck_assert_int_eq(parse_text("{\"a\": [1, 2", &err), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "JSON ends too early at byte 11");
    ck_assert_int_eq(parse_text("{\"a\": secret}", &err), ERR_MALFORMED);
    ck_assert_ptr_null(strstr(err.text, "secret"));
    ck_assert_int_eq(parse_text("{} x", &err), ERR_MALFORMED);
    ck_assert_int_eq(parse_text("{\"secret\": 1, \"secret\": 2}", &err), ERR_MALFORMED);
    ck_assert_ptr_null(strstr(err.text, "secret"));
    ck_assert_int_eq(parse_text("[\"\xC3\x28\"]", &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "invalid UTF-8 at byte "));
    ck_assert_int_eq(parse_text("[100000000000000000000]", &err), ERR_UNUSABLE);
    ck_assert_int_eq(parse_text("\xEF\xBB\xBF{}", &err), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "begins with a byte order mark; it must be UTF-8 without one");
    ck_assert_int_eq(parse_text("\xFF\xFE{", &err), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "is UTF-16; it must be UTF-8");
}
END_TEST

static size_t thousand_further(const void *context, size_t at)
{
    ck_assert_ptr_null(context);
    return at + 1000;
}

START_TEST(json_maps_the_offsets_of_its_errors)
{
    struct json_t *root;
    struct err err = {0};
    doc_parse_mapped(&root, "{\"a\": [1, 2", 11, &doc_limits_request, thousand_further, NULL, &err);
    ck_assert_ptr_null(root);
    ck_assert_str_eq(err.text, "JSON ends too early at byte 1011");
    err = (struct err){0};
    doc_parse_mapped(&root, "[[[[[[[[[[[[[[[[[", 17, &doc_limits_request, thousand_further, NULL,
                     &err);
    ck_assert_str_eq(err.text, "JSON nested deeper than 16 levels at byte 1016");
    err = (struct err){0};
    doc_parse_mapped(&root, "", 0, &doc_limits_request, thousand_further, NULL, &err);
    ck_assert_str_eq(err.text, "JSON ends too early at byte 0");
}
END_TEST

START_TEST(json_survives_truncation_and_mutation)
{
    static const char good[] =
        "{\"text\": \"a\\u00e9\\n\\ud83d\\ude00 \xC3\xA9\", \"top_k\": -1.5e-3, "
        "\"inputs\": [{\"x\": null}, [true, false, 0, \"\\u0000\"]]}";
    char bytes[sizeof good];
    size_t len = sizeof good - 1;
    struct err err;
    ck_assert_msg(parse(good, len, &err) == ERR_OK, "%s", err.text);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_msg(parse(good, cut, &err) != ERR_OK, "accepted %zu bytes", cut);
    unsigned state = 1;
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, good, sizeof good);
        for (int k = 0; k < 1 + round % 4; k++) {
            state = state * 1664525u + 1013904223u;
            bytes[(state >> 8) % len] = (char)(state >> 24);
        }
        parse(bytes, len, &err);
    }
}
END_TEST

static void expect_members(const char *text, const char *message)
{
    struct json_t *object;
    struct err err = {0};
    ck_assert(!doc_parse(&object, text, strlen(text), &doc_limits_request, &err));
    doc_check_members(object, "$.a", "one, two_2, three", &err);
    ck_assert_str_eq(err.text, message);
    doc_free(object);
}

START_TEST(doc_refuses_a_member_that_is_not_known)
{
    static const char *const others[] = {"tw", "two", "two_22",     "wo_2",
                                         "",   ",",   "one, two_2", "ONE"};
    expect_members("{}", "");
    expect_members("[1]", "$.a: expected an object, found an array");
    expect_members("[]", "$.a: expected an object, found an array");
    expect_members("{\"three\": 1, \"one\": 2, \"two_2\": 3}", "");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[64], message[128];
        snprintf(text, sizeof text, "{\"one\": 1, \"%s\": 2}", others[i]);
        snprintf(message, sizeof message, "$.a.%s is not supported (supported: one, two_2, three)",
                 others[i]);
        expect_members(text, message);
    }
}
END_TEST

START_TEST(doc_shows_a_key_cut_and_without_control_characters)
{
    char text[512], message[512];
    expect_members("{\"\\u001b[2J\\u0007\\u00e9\\u007f\": 1}",
                   "$.a.?[2J???? is not supported (supported: one, two_2, three)");
    snprintf(text, sizeof text, "{\"%0300d\": 1}", 0);
    snprintf(message, sizeof message, "$.a.%099d is not supported (supported: one, two_2, three)",
             0);
    expect_members(text, message);
}
END_TEST

/* The error holds whole names and its own end, however many members there are. */
START_TEST(doc_shows_as_many_names_as_an_error_has_room_for)
{
    enum { NAMES = 80 };
    char names[NAMES * 12] = "";
    struct err err = {0};
    struct json_t *object;
    for (unsigned i = 0; i < NAMES; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%smember_%02u",
                 i > 0 ? ", " : "", i);
    ck_assert(!doc_parse(&object, "{\"other\": 1}", 12, &doc_limits_request, &err));
    ck_assert_int_eq(doc_check_members(object, "$", names, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, ", member_26 and others)") != NULL, "%s", err.text);
    doc_free(object);
}
END_TEST

SUITE("json", doc_refuses_a_member_that_is_not_known,
      doc_shows_as_many_names_as_an_error_has_room_for,
      doc_shows_a_key_cut_and_without_control_characters, doc_reads_nan_as_null_where_it_may,
      doc_writes_a_number_as_its_text, json_agrees_with_the_conformance_suite,
      json_refuses_the_suites_deep_nesting, json_bounds_the_number_of_tokens,
      json_errors_tell_the_kind_and_the_byte_but_not_the_input, json_maps_the_offsets_of_its_errors,
      json_survives_truncation_and_mutation)
