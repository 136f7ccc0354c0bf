#include "server/protocol/charset.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const char *find(const char *name)
{
    return charset_find(name, strlen(name));
}

static void decodes(const char *charset, const char *bytes, size_t len, const char *expected)
{
    struct err err = {0};
    size_t out_len = 99;
    char *out = malloc(charset_bytes(len)); /* as much as is promised: a sanitizer sees more */
    ck_assert_msg(!charset_decode(charset, bytes, len, out, &out_len, &err), "%s", err.text);
    ck_assert_str_eq(out, expected);
    ck_assert_uint_eq(out_len, strlen(expected));
    free(out);
}

static void refuses(const char *charset, const char *bytes, size_t len, const char *text)
{
    struct err err = {0};
    size_t out_len;
    char *out = malloc(charset_bytes(len));
    ck_assert_int_eq(charset_decode(charset, bytes, len, out, &out_len, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, text);
    free(out);
}

START_TEST(charsets_are_found_without_case_and_whole)
{
    ck_assert_str_eq(find("UTF-8"), "");
    ck_assert_str_eq(find("us-ascii"), "");
    ck_assert_str_eq(find("ISO-8859-1"), "ISO-8859-1");
    ck_assert_str_eq(find("Latin1"), "ISO-8859-1");
    ck_assert_str_eq(find("Windows-1252"), "WINDOWS-1252");
    ck_assert_ptr_null(find("utf-7"));
    ck_assert_ptr_null(find("utf"));
    ck_assert_ptr_null(find("utf-8x"));
    ck_assert_ptr_null(find(""));
}
END_TEST

START_TEST(a_byte_order_mark_tells_utf_16)
{
    ck_assert_str_eq(charset_of_mark("\xFF\xFE", 2), "UTF-16LE");
    ck_assert_str_eq(charset_of_mark("\xFE\xFF x", 4), "UTF-16BE");
    ck_assert_str_eq(charset_of_mark("\xEF\xBB\xBF", 3), "");
    ck_assert_str_eq(charset_of_mark("\xFF", 1), "");
    ck_assert_str_eq(charset_of_mark("", 0), "");
}
END_TEST

START_TEST(texts_become_utf_8)
{
    decodes("ISO-8859-1", "0.7 \xB5m \xB1\xFF", 9, "0.7 \xC2\xB5m \xC2\xB1\xC3\xBF");
    decodes("WINDOWS-1252", "\x80\x80\x80", 3, "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
    decodes("UTF-16LE",
            "\xFF\xFE"
            "a\0b\0",
            6, "ab");
    decodes("UTF-16BE", "\0a\xAC\0", 4, "a\xEA\xB0\x80");
    decodes("UTF-16", "\xFE\xFF\0a", 4, "a");
    decodes("ISO-8859-1", "", 0, "");
}
END_TEST

START_TEST(what_a_charset_does_not_have_is_told_by_its_place)
{
    refuses("UTF-16LE", "a\0b", 3, "not UTF-16LE at byte 2");
    refuses("UTF-16LE", "a\0\0\xDC", 4, "not UTF-16LE at byte 2");
    refuses("WINDOWS-1252", "ab\x81", 3, "not WINDOWS-1252 at byte 2");
    refuses("NO-SUCH", "a", 1, "this machine cannot decode NO-SUCH");
}
END_TEST

SUITE("charset", charsets_are_found_without_case_and_whole, a_byte_order_mark_tells_utf_16,
      texts_become_utf_8, what_a_charset_does_not_have_is_told_by_its_place)
