#include "engine/base/utf8.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static size_t head(const char *text)
{
    return utf8_character_bytes(text, strlen(text));
}

START_TEST(utf8_measures_characters_of_every_length)
{
    ck_assert_uint_eq(head("a"), 1);
    ck_assert_uint_eq(head("\xC2\x80"), 2);
    ck_assert_uint_eq(head("\xE0\xA0\x80"), 3);
    ck_assert_uint_eq(head("\xED\x9F\xBF"), 3);
    ck_assert_uint_eq(head("\xF0\x90\x80\x80"), 4);
    ck_assert_uint_eq(head("\xF4\x8F\xBF\xBF"), 4);
    ck_assert_uint_eq(utf8_character_bytes("\0", 1), 1);
    ck_assert_uint_eq(head(""), 0);
}
END_TEST

START_TEST(utf8_judges_whole_texts)
{
    ck_assert(utf8_is_valid("", 0));
    ck_assert(utf8_is_valid("a\0\xC2\x80z", 5));
    ck_assert(!utf8_is_valid("a\xC2", 2));
    ck_assert(!utf8_is_valid("\x80z", 2));
}
END_TEST

START_TEST(utf8_refuses_what_rfc_3629_refuses)
{
    const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2\x41",
        "\xE0\x9F\xBF",
        "\xE2\x82",
        "\xE2\x82\x41",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF0\x90\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(head(bad[i]) == 0, "case %zu", i);
}
END_TEST

START_TEST(utf8_escape_spells_out_what_is_not_utf_8)
{
    static const char good[] = "maps/w\xC3\xA4"
                               "fer.png";
    static char name[UTF8_ESCAPED_BYTES], room[UTF8_ESCAPED_BYTES];
    ck_assert_ptr_eq(utf8_escape(good, room), good);
    ck_assert_str_eq(UTF8_SHOWN("caf\xE9/\xC3\xA4\xFF.png"), "caf\\xE9/\xC3\xA4\\xFF.png");
    memset(name, '\xFF', sizeof name - 1);
    ck_assert_str_eq(utf8_escape(name, room) + UTF8_ESCAPED_BYTES - 8, "\\xFF...");
    ck_assert(utf8_is_valid(room, strlen(room)));
}
END_TEST

START_TEST(utf8_names_what_an_editor_made_of_a_file)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *fault; /* its beginning */
    } rows[] = {{"\xEF\xBB\xBF{", 4, "begins with a byte order mark"},
                {"\xFF\xFE{\0", 4, "is UTF-16"},
                {"\xFE\xFF\0{", 4, "is UTF-16"},
                {"{\0", 2, "is UTF-16"},
                {"\0{", 2, "is UTF-16"},
                {"\xEF\xBB", 2, NULL},
                {"\xFF", 1, NULL},
                {"\0\0", 2, NULL},
                {"{}", 2, NULL},
                {"", 0, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *fault = utf8_fault_of_mark(rows[i].bytes, rows[i].len);
        ck_assert_msg((fault == NULL) == (rows[i].fault == NULL), "row %zu", i);
        if (fault != NULL)
            ck_assert_ptr_eq(strstr(fault, rows[i].fault), fault);
    }
}
END_TEST

START_TEST(utf8_moves_to_characters_in_any_order)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t bytes[] = {0, 1, 3, 6, 10, 11, 11, 11};
    const uint32_t count = sizeof bytes / sizeof *bytes;
    struct utf8_place place = {0, 0};
    for (uint32_t from = 0; from < count; from++)
        for (uint32_t to = 0; to < count; to++) {
            ck_assert_uint_eq(utf8_move(&place, text, sizeof text - 1, from), bytes[from]);
            ck_assert_uint_eq(utf8_move(&place, text, sizeof text - 1, to), bytes[to]);
        }
}
END_TEST

START_TEST(utf8_width_pads_to_characters)
{
    char row[32];
    snprintf(row, sizeof row, "%-*s|", utf8_width("K\xC3\xBChlung", 9), "K\xC3\xBChlung");
    ck_assert_str_eq(row, "K\xC3\xBChlung  |");
    ck_assert_int_eq(utf8_width("Handler", 9), 9);
}
END_TEST

SUITE("utf8", utf8_names_what_an_editor_made_of_a_file, utf8_escape_spells_out_what_is_not_utf_8,
      utf8_judges_whole_texts, utf8_measures_characters_of_every_length,
      utf8_refuses_what_rfc_3629_refuses, utf8_moves_to_characters_in_any_order,
      utf8_width_pads_to_characters)
