#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/memory_file.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_written(const char *text, size_t len, const char *expected, size_t expected_len)
{
    struct memory_file file;
    struct err err = {0};
    ck_assert(!memory_file_open(&file, &err));
    doc_string_write(file.stream, text, len);
    ck_assert(!memory_file_close(&file, &err));
    ck_assert_uint_eq(file.len, expected_len);
    ck_assert_mem_eq(file.bytes, expected, expected_len);
    free(file.bytes);
}

#define EXPECT_WRITTEN(text, expected)                                                             \
    expect_written(text, sizeof(text) - 1, expected, sizeof(expected) - 1)

static void expect_next(const char *text, size_t len, enum doc_string_rest rest,
                        const char *expected, size_t taken)
{
    struct doc_string_piece piece = doc_string_next(text, len, rest);
    ck_assert_uint_eq(piece.taken, taken);
    ck_assert_uint_eq(piece.len, strlen(expected));
    ck_assert_mem_eq(piece.bytes, expected, piece.len);
}

START_TEST(doc_string_escapes_quotes_backslashes_and_controls)
{
    EXPECT_WRITTEN("", "\"\"");
    EXPECT_WRITTEN("Edge-Loc", "\"Edge-Loc\"");
    EXPECT_WRITTEN("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    EXPECT_WRITTEN("\n\t\x1F \x7F", "\"\\u000a\\u0009\\u001f \x7F\"");
    EXPECT_WRITTEN("a\0b", "\"a\\u0000b\"");
}
END_TEST

START_TEST(doc_string_writes_bytes_above_7f_as_they_are)
{
    EXPECT_WRITTEN("\xC3\xA9\xE2\x82\xAC\xC2\x85", "\"\xC3\xA9\xE2\x82\xAC\xC2\x85\"");
    EXPECT_WRITTEN("\xFF\xE2\x82", "\"\xFF\xE2\x82\"");
}
END_TEST

START_TEST(doc_string_for_a_terminal_has_no_control_and_is_utf8)
{
    static const struct {
        const char *text, *expected;
        size_t taken;
    } cases[] = {
        {"\x7F", "\\u007f", 1},
        {"\x1F", "\\u001f", 1},
        {"\"", "\\\"", 1},
        {"\xC2\x80", "\\u0080", 2},
        {"\xC2\x9F", "\\u009f", 2},
        {"\xC2\xA0", "\xC2\xA0", 2},
        {"\xC3\x80", "\xC3\x80", 2},
        {"\xE2\x82\xAC", "\xE2\x82\xAC", 3},
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80", 4},
        {"\xE2\x80\xA7", "\xE2\x80\xA7", 3}, /* before the separators of lines */
        {"\xE2\x80\xA8", "\\u2028", 3},
        {"\xE2\x80\xA9", "\\u2029", 3},
        {"\xE2\x80\xAE", "\\u202e", 3},
        {"\xE2\x80\xAF", "\xE2\x80\xAF", 3},
        {"\xE2\x81\xA5", "\xE2\x81\xA5", 3},
        {"\xE2\x81\xA6", "\\u2066", 3},
        {"\xE2\x81\xA9", "\\u2069", 3},
        {"\xE2\x81\xAA", "\xE2\x81\xAA", 3},
        {"\xE3\x80\xA8", "\xE3\x80\xA8", 3},
        {"\xFF", "\xEF\xBF\xBD", 1},
        {"\xE2\x82", "\xEF\xBF\xBD", 1},
        {"\x82", "\xEF\xBF\xBD", 1},
        {"\xC0\xA2", "\xEF\xBF\xBD", 1}, /* an overlong '"' */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_next(cases[i].text, strlen(cases[i].text), DOC_STRING_FOR_TERMINAL,
                    cases[i].expected, cases[i].taken);
    expect_next("\xC2\x9F", 1, DOC_STRING_FOR_TERMINAL, "\xEF\xBF\xBD", 1); /* looks no further */
    expect_next("\xC2\x9F", 2, DOC_STRING_AS_IT_IS, "\xC2", 1);
}
END_TEST

/* Each character of one or two bytes, as its reader gets it. */
START_TEST(doc_string_is_read_back_as_the_text)
{
    for (unsigned code = 0; code < 0x800; code++) {
        const char text[2] = {(char)(code < 0x80 ? code : 0xC0 | code >> 6),
                              (char)(0x80 | (code & 0x3F))};
        size_t text_len = code < 0x80 ? 1 : 2, len;
        struct memory_file file;
        struct err err = {0};
        struct json_t *root;
        ck_assert(!memory_file_open(&file, &err));
        fputc('[', file.stream);
        doc_string_write(file.stream, text, text_len);
        fputc(']', file.stream);
        ck_assert(!memory_file_close(&file, &err));
        ck_assert_msg(!doc_parse(&root, file.bytes, file.len, &doc_limits_file, &err), "%s",
                      err.text);
        const char *read = doc_text(doc_array_item(root, 0), &len);
        ck_assert_uint_eq(len, text_len);
        ck_assert_mem_eq(read, text, len);
        doc_free(root);
        free(file.bytes);
    }
}
END_TEST

SUITE("doc_string", doc_string_escapes_quotes_backslashes_and_controls,
      doc_string_writes_bytes_above_7f_as_they_are,
      doc_string_for_a_terminal_has_no_control_and_is_utf8, doc_string_is_read_back_as_the_text)
