#include "tests/support/suite.h"
#include "tools/batch/record.h"

#include <string.h>

static struct arena arena;
static struct record_input input;
static struct err err;

static enum err_code parse(const struct record_form *form, const char *bytes, bool is_image)
{
    struct record record = {.form = form, .bytes = bytes, .len = strlen(bytes), .line = 7};
    err = (struct err){0};
    return record_parse(&record, is_image, true, &arena, &input, &err);
}

static const struct record_form json = {
    .kind = RECORD_JSON, .path = "lists/a.jsonl", .text_field = "text", .image_field = "image"};

static void refused(const char *bytes, enum err_code code, const char *why)
{
    ck_assert_int_eq(parse(&json, bytes, false), code);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
}

START_TEST(record_takes_a_line_as_it_is)
{
    const struct record_form form = {.kind = RECORD_LINE, .path = "a.log"};
    ck_assert_int_eq(parse(&form, "{\"text\": 1}", false), ERR_OK);
    ck_assert_str_eq(input.listed.text, "{\"text\": 1}");
    ck_assert_str_eq(input.listed.file, "a.log");
    ck_assert_uint_eq(input.listed.line, 7);
}
END_TEST

START_TEST(record_reads_members_of_json)
{
    ck_assert_int_eq(parse(&json, "{\"id\": \"d1\", \"text\": \"a\", \"text_pair\": \"b\"}", false),
                     ERR_OK);
    ck_assert_str_eq(input.id, "d1");
    ck_assert_str_eq(input.listed.text, "a");
    ck_assert_str_eq(input.listed.pair, "b");
    ck_assert_int_eq(parse(&json, "{\"id\": 12, \"image\": \"x/y.png\"}", false), ERR_OK);
    ck_assert(input.has_number && input.number == 12 && input.listed.is_image);
    ck_assert_str_eq(input.listed.path, "lists/x/y.png");
    ck_assert_int_eq(parse(&json, "{\"text\": \"a\", \"id\": 1.5, \"t\": NaN}", false), ERR_OK);
    ck_assert_str_eq(input.id, "1.5");
    ck_assert_int_eq(parse(&json, "{\"image\": \"/z.png\"}", false), ERR_OK);
    ck_assert_str_eq(input.listed.path, "/z.png");
    arena_deinit(&arena);
}
END_TEST

START_TEST(record_tells_of_a_line_in_another_charset)
{
    refused("{\"text\": \"K\xFChl\"}", ERR_UNUSABLE,
            "invalid UTF-8 at byte 11 of the line (iconv -f windows-1252 -t UTF-8");
}
END_TEST

START_TEST(record_takes_of_text_and_image_what_the_model_reads)
{
    static const char both[] = "{\"text\": \"a\", \"image\": \"b.png\"}";
    ck_assert_int_eq(parse(&json, both, false), ERR_OK);
    ck_assert(!input.listed.is_image);
    ck_assert_int_eq(parse(&json, both, true), ERR_OK);
    ck_assert(input.listed.is_image);
    arena_deinit(&arena);
}
END_TEST

START_TEST(record_says_what_is_wrong_with_json)
{
    refused("{\"text\": ", ERR_MALFORMED, "");
    refused("[1]", ERR_UNUSABLE, "expected an object, found an array");
    refused("{\"texts\": \"a\"}", ERR_UNUSABLE, "neither member 'text' nor 'image' is there");
    refused("{\"text\": 5}", ERR_UNUSABLE, "member 'text': expected a string, found a");
    refused("{\"text\": \"a\", \"id\": 12345678901234567890}", ERR_UNUSABLE,
            "member 'id': expected a string or a number below 2^53");
    refused("{\"text\": \"a\", \"id\": [1]}", ERR_UNUSABLE, "member 'id': expected a string or");
    refused("{\"image\": \"\"}", ERR_UNUSABLE, "path of the image is empty");
    refused("{\"text\": \"a\", \"text_pair\": \"b\\u0000\"}", ERR_UNUSABLE, "second text holds a");
    arena_deinit(&arena);
}
END_TEST

START_TEST(record_finds_columns_and_keeps_ids)
{
    struct record_form form = {
        .kind = RECORD_CSV, .path = "a.csv", .text_field = "log", .image_field = "image"};
    static const char header[] = "id;log;else";
    ck_assert_int_eq(record_read_header(&form, header, strlen(header), &err), ERR_OK);
    ck_assert_int_eq(parse(&form, "=1+1;\"a;\n\"\"b\"\"\";x", false), ERR_OK);
    ck_assert_str_eq(input.id, "=1+1");
    ck_assert_str_eq(input.listed.text, "a;\n\"b\"");
    ck_assert_int_eq(parse(&form, "1;2", false), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "2 fields, but the header has 3");
    ck_assert_int_eq(parse(&form, "1;\"a", false), ERR_MALFORMED);
    ck_assert_str_eq(err.text, "a quoted field is never closed");
    ck_assert_int_eq(parse(&form, "1;\"a\nb\"c;d", false), ERR_MALFORMED);
    ck_assert_msg(strstr(err.text, "line 8: after a field there must be") != NULL, "%s", err.text);
    /* A byte order mark is text where the file does not begin, and quotes behind it are, too. */
    ck_assert_int_eq(parse(&form,
                           "\xEF\xBB\xBF"
                           "1;2;3",
                           false),
                     ERR_OK);
    ck_assert_str_eq(input.id, "\xEF\xBB\xBF"
                               "1");
    ck_assert_int_eq(parse(&form, "\xEF\xBB\xBF\"1\";\"\n2;3;4", false), ERR_MALFORMED);
    arena_deinit(&arena);
}
END_TEST

START_TEST(record_takes_the_id_from_the_member_or_column_that_is_named)
{
    struct record_form form = {.kind = RECORD_JSON,
                               .path = "a.jsonl",
                               .text_field = "text",
                               .image_field = "image",
                               .id_field = "case"};
    ck_assert_int_eq(parse(&form, "{\"text\": \"a\", \"case\": 7, \"id\": \"x\"}", false), ERR_OK);
    ck_assert(input.has_number && input.number == 7);
    ck_assert_int_eq(parse(&form, "{\"text\": \"a\", \"id\": [1]}", false), ERR_OK);
    ck_assert(input.id == NULL && !input.has_number);
    ck_assert_int_eq(parse(&form, "{\"text\": \"a\", \"case\": [1]}", false), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "member 'case': expected a string or a number"));
    form.kind = RECORD_CSV;
    err = (struct err){0};
    ck_assert_int_eq(record_read_header(&form, "id,case,text", 12, &err), ERR_OK);
    ck_assert_int_eq(parse(&form, "1,C2,a", false), ERR_OK);
    ck_assert_str_eq(input.id, "C2");
    err = (struct err){0};
    ck_assert_int_eq(record_read_header(&form, "id,text", 7, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no column is named 'case'; the columns are: id, text (--id-field "
                               "says which to take)");
    arena_deinit(&arena);
}
END_TEST

START_TEST(record_names_the_columns_that_there_are)
{
    struct record_form form = {.text_field = "text", .image_field = "image"};
    err = (struct err){0};
    ck_assert_int_eq(record_read_header(&form, "id,log", 6, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "no column is named 'text' or 'image'; the columns"));
    ck_assert_ptr_nonnull(strstr(err.text, "id, log"));
    err = (struct err){0};
    ck_assert_int_eq(record_read_header(&form, "text,text", 9, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "two columns are named 'text'");
}
END_TEST

START_TEST(record_that_was_too_long_is_an_error)
{
    const struct record_form form = {.kind = RECORD_LINE, .path = "a.log"};
    const struct record record = {.form = &form, .bytes = "", .line = 3, .is_too_long = true};
    err = (struct err){0};
    ck_assert_int_eq(record_parse(&record, false, false, &arena, &input, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "longer than 16777216 bytes");
    ck_assert_uint_eq(input.listed.line, 3);
}
END_TEST

SUITE("record", record_takes_a_line_as_it_is, record_reads_members_of_json,
      record_tells_of_a_line_in_another_charset,
      record_takes_of_text_and_image_what_the_model_reads, record_says_what_is_wrong_with_json,
      record_finds_columns_and_keeps_ids,
      record_takes_the_id_from_the_member_or_column_that_is_named,
      record_names_the_columns_that_there_are, record_that_was_too_long_is_an_error)
