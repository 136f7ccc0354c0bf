/* Every escape and every string that is none. jansson gives the verdict if it is not obvious. */
#include "tests/support/suite.h"
#include "wire/elide.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both buffers are exactly as long as they may be: a sanitizer sees any byte too far. */
static enum err_code decode(const char *text, size_t len, char **out, size_t *out_len)
{
    char *bytes = malloc(len > 0 ? len : 1);
    memcpy(bytes, text, len);
    enum err_code code = unescape(NULL, out_len, bytes, len);
    *out = malloc(*out_len > 0 ? *out_len : 1);
    if (code == ERR_OK)
        ck_assert_int_eq(unescape(*out, out_len, bytes, len), ERR_OK);
    free(bytes);
    return code;
}

START_TEST(unescape_decodes_every_escape)
{
    static const struct {
        const char *text, *value;
        size_t len;
    } cases[] = {
        {"", "", 0},
        {"plain", "plain", 5},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8},
        {"a\\u0000b", "a\0b", 3},
        {"\\u007f\\u0080\\u07FF\\u0800", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80", 8},
        {"\\ud7ff\\ue000\\uFfFf", "\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF", 9},
        {"\\ud800\\udc00\\uDBFF\\uDFFF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8},
        {"\xC3\xA9\x7F\xF0\x9F\x98\x80", "\xC3\xA9\x7F\xF0\x9F\x98\x80", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out;
        size_t len;
        ck_assert_int_eq(decode(cases[i].text, strlen(cases[i].text), &out, &len), ERR_OK);
        ck_assert_uint_eq(len, cases[i].len);
        ck_assert(memcmp(out, cases[i].value, len) == 0);
        free(out);
    }
}
END_TEST

START_TEST(unescape_refuses_everything_else_and_says_where)
{
    static const struct {
        const char *text;
        enum err_code code;
        size_t at;
    } cases[] = {
        {"ab\"c", ERR_MALFORMED, 2},
        {"ab\x1F", ERR_MALFORMED, 2},
        {"a\\", ERR_MALFORMED, 1},
        {"a\\x41", ERR_MALFORMED, 1},
        {"a\\U0041", ERR_MALFORMED, 1},
        {"a\\u", ERR_MALFORMED, 1},
        {"a\\u004", ERR_MALFORMED, 1},
        {"a\\u004g", ERR_MALFORMED, 1},
        {"a\\u004/", ERR_MALFORMED, 1},
        {"a\\u004:", ERR_MALFORMED, 1},
        {"a\\u004@", ERR_MALFORMED, 1},
        {"a\\u004`", ERR_MALFORMED, 1},
        {"a\\u004G", ERR_MALFORMED, 1},
        {"\\ud800", ERR_MALFORMED, 0},
        {"\\udbff\\udb", ERR_MALFORMED, 0},
        {"\\ud800\\ud800", ERR_MALFORMED, 0},
        {"\\ud800\\ue000", ERR_MALFORMED, 0},
        {"\\ud800xudc00", ERR_MALFORMED, 0},
        {"\\ud800\\xdc00", ERR_MALFORMED, 0},
        {"\\udc00", ERR_MALFORMED, 0},
        {"\\udfff\\ud800", ERR_MALFORMED, 0},
        {"ab\x80", ERR_UNUSABLE, 2},
        {"ab\xC0\x80", ERR_UNUSABLE, 2},
        {"ab\xE2\x82", ERR_UNUSABLE, 2},
        {"ab\xED\xA0\x80", ERR_UNUSABLE, 2},
        {"ab\xF4\x90\x80\x80", ERR_UNUSABLE, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out;
        size_t at;
        enum err_code code = decode(cases[i].text, strlen(cases[i].text), &out, &at);
        ck_assert_msg(code == cases[i].code && at == cases[i].at, "%s: %d at %zu", cases[i].text,
                      (int)code, at);
        free(out);
    }
}
END_TEST

START_TEST(unescape_agrees_with_jansson)
{
    static const char *const pieces[] = {
        "a",    "\\",   "\\n",  "\\u",  "00",   "41",   "d83d", "\\ud8",   "de00",   "\\u0",
        "\xC3", "\xA9", "\x01", "\\\\", "\xED", "\xA0", "\x80", "\\udbff", "\\udc00"};
    enum { PIECES = sizeof pieces / sizeof pieces[0] };
    unsigned state = 5, accepted = 0;
    for (int round = 0; round < 40000; round++) {
        char text[64] = "", quoted[72], *out;
        for (int i = 0; i < 1 + round % 6; i++) {
            state = state * 1664525u + 1013904223u;
            strcat(text, pieces[(state >> 16) % PIECES]);
        }
        size_t out_len;
        snprintf(quoted, sizeof quoted, "\"%s\"", text);
        json_t *value = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        enum err_code code = decode(text, strlen(text), &out, &out_len);
        ck_assert_msg((code == ERR_OK) == (value != NULL), "%s", quoted);
        if (value != NULL) {
            accepted++;
            ck_assert_uint_eq(out_len, json_string_length(value));
            ck_assert(memcmp(out, json_string_value(value), out_len) == 0);
        }
        json_decref(value);
        free(out);
    }
    ck_assert_uint_gt(accepted, 2000);
}
END_TEST

START_TEST(unescape_plain_stops_at_what_does_not_stand_for_itself)
{
    ck_assert_uint_eq(unescape_plain("", 0), 0);
    ck_assert_uint_eq(unescape_plain("ab\\n", 4), 2);
    ck_assert_uint_eq(unescape_plain("ab\"", 3), 2);
    ck_assert_uint_eq(unescape_plain("a \x1F", 3), 2);
    ck_assert_uint_eq(unescape_plain("a\0b", 3), 1);
    ck_assert_uint_eq(unescape_plain("\xC3\xA9\xC3", 3), 2);
    ck_assert_uint_eq(unescape_plain("\x7F\x20", 2), 2);
}
END_TEST

SUITE("unescape", unescape_decodes_every_escape, unescape_refuses_everything_else_and_says_where,
      unescape_agrees_with_jansson, unescape_plain_stops_at_what_does_not_stand_for_itself)
