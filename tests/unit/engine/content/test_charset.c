#include "engine/content/charset.h"

#include "engine/base/sha256.h"
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
    ck_assert_msg(strncmp(err.text, text, strlen(text)) == 0, "%s", err.text);
    free(out);
}

START_TEST(charsets_are_found_by_the_labels_of_whatwg)
{
    static const struct {
        const char *label, *charset;
    } cases[] = {
        {"UTF-8", ""},           {"utf8", ""},
        {"us-ascii", "CP1252"},  {"ISO-8859-1", "CP1252"},
        {"Latin1", "CP1252"},    {"Windows-1252", "CP1252"},
        {"cp1252", "CP1252"},    {"l9", "ISO-8859-15"},
        {"Shift_JIS", "CP932"},  {"windows-31j", "CP932"},
        {"x-sjis", "CP932"},     {"cp932", "CP932"},
        {"MS_Kanji", "CP932"},   {"gbk", "GB18030"},
        {"GB2312", "GB18030"},   {"gb18030", "GB18030"},
        {"cp936", "GB18030"},    {"big5", "BIG5-HKSCS"},
        {"cp950", "BIG5-HKSCS"}, {"euc-kr", "UHC"},
        {"cp949", "UHC"},        {"ks_c_5601-1987", "UHC"},
        {"utf-16", "UTF-16"},    {"UTF-16BE", "UTF-16BE"},
    };
    static const char *const none[] = {"utf-7", "utf", "utf-8x", "", " ", "utf-8 utf8", "ebcdic"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_ptr_nonnull(find(cases[i].label));
        ck_assert_str_eq(find(cases[i].label), cases[i].charset);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_ptr_null(find(none[i]));
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

START_TEST(json_tells_utf_16_and_utf_32_without_a_mark)
{
    ck_assert_str_eq(charset_of_json("{\0\"\0", 4), "UTF-16LE");
    ck_assert_str_eq(charset_of_json("\0{\0\"", 4), "UTF-16BE");
    ck_assert_str_eq(charset_of_json("{\0\0\0", 4), "UTF-32LE");
    ck_assert_str_eq(charset_of_json("\0\0\0{", 4), "UTF-32BE");
    ck_assert_str_eq(charset_of_json("\xFF\xFE\0\0", 4), "UTF-32LE");
    ck_assert_str_eq(charset_of_json("\0\0\xFE\xFF", 4), "UTF-32BE");
    ck_assert_str_eq(charset_of_json("\xFF\xFE{\0", 4), "UTF-16LE");
    ck_assert_str_eq(charset_of_json("\xFE\xFF", 2), "UTF-16BE");
    ck_assert_str_eq(charset_of_json("{\"a\"", 4), "");
    ck_assert_str_eq(charset_of_json("{}", 2), "");
    ck_assert_str_eq(charset_of_json("", 0), "");
}
END_TEST

START_TEST(texts_become_utf_8)
{
    decodes("CP1252", "0.7 \xB5m \xB1\xFF", 9, "0.7 \xC2\xB5m \xC2\xB1\xC3\xBF");
    decodes("CP1252", "\x80\x81\x80", 3, "\xE2\x82\xAC\xC2\x81\xE2\x82\xAC");
    decodes("UTF-16LE",
            "\xFF\xFE"
            "a\0b\0",
            6, "ab");
    decodes("UTF-16BE", "\0a\xAC\0", 4, "a\xEA\xB0\x80");
    decodes("UTF-16", "\xFE\xFF\0a", 4, "a");
    decodes("UTF-32LE", "a\0\0\0", 4, "a");
    decodes("CP1252", "", 0, "");
    decodes("CP932", "1130 C:\\log\\lot1 ~3.2V", 22, "1130 C:\\log\\lot1 ~3.2V");
    decodes("CP932", "\x87\x40 \x89\xB7\x93x\xB1", 8,
            "\xE2\x91\xA0 \xE6\xB8\xA9\xE5\xBA\xA6\xEF\xBD\xB1");
    decodes("BIG5-HKSCS", "\x88\x62", 2, "\xC3\x8A\xCC\x84"); /* two characters */
    decodes("GB18030", "\x81\x30\x81\x30\x80", 5, "\xC2\x80\xE2\x82\xAC");
}
END_TEST

/* All one- and two-byte codes of a charset, in order, and the characters that they stand for: the
 * digests are of the indexes of the standard (2025), made by another program. */
START_TEST(tables_are_those_of_whatwg)
{
    static const struct {
        const char *charset, *characters;
    } cases[] = {
        {"CP1252", "9ba654722668eee979b3e1b274ff8bcbb1f6b48bb85cbec5ec71309a7da35477"},
        {"ISO-8859-15", "b9a4a2394ee585527d5f38c21d3801da923c0b26b9e2caf9d6c5f443e283cdaa"},
        {"CP932", "8ce1611cab7aeed3c3f74f26bd7b2b29f34119312785bb13a7263f24b31d20b2"},
        {"UHC", "f49bf642f090c1ce9815815ce783022b6deebb12346af361db70c72d9d7bb59d"},
        {"GB18030", "0db2c9f6fe0bdb76b63ccf15e9684c5f91e679019fa9194ba13088b677c674f8"},
        {"BIG5-HKSCS", "e7920b36af3300c668f66ce3c6533c95de72d85ced7a81a4322699a6221a99ac"},
    };
    static char all[256 * 256 * 4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = 0;
        for (unsigned lead = 0x80; lead < 256; lead++)
            for (unsigned trail = 0x2F, alone = 0; trail < 256 && !alone; trail++) {
                const char code[2] = {(char)lead, (char)trail};
                char out[8];
                size_t out_len;
                struct err err = {0};
                bool is_single = trail == 0x2F;
                if (charset_decode(cases[i].charset, code, is_single ? 1 : 2, out, &out_len, &err))
                    continue;
                memcpy(all + len, out, out_len);
                len += out_len;
                alone = is_single;
            }
        char digest[SHA256_HEX_BYTES];
        sha256_hex(all, len, digest);
        ck_assert_msg(strcmp(digest, cases[i].characters) == 0, "%s: %s", cases[i].charset, digest);
    }
}
END_TEST

START_TEST(charset_errors_give_the_place_of_the_bad_character)
{
    refuses("UTF-16LE", "a\0b", 3, "not UTF-16LE at byte 2");
    refuses("UTF-16LE", "a\0\0\xDC", 4, "not UTF-16LE at byte 2");
    refuses("CP932", "ab\x81", 3, "not CP932 at byte 2");
    refuses("BIG5-HKSCS", "ab\x80", 3, "not BIG5-HKSCS at byte 2");
    refuses("UHC", "ab\xFF\xFF", 4, "not UHC at byte 2");
    refuses("NO-SUCH", "a", 1, "this machine cannot decode NO-SUCH");
}
END_TEST

SUITE("charset", charsets_are_found_by_the_labels_of_whatwg, a_byte_order_mark_tells_utf_16,
      json_tells_utf_16_and_utf_32_without_a_mark, texts_become_utf_8, tables_are_those_of_whatwg,
      charset_errors_give_the_place_of_the_bad_character)
