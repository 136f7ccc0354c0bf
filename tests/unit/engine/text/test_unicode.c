#include "engine/base/utf8.h"
#include "engine/text/unicode.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <string.h>

enum { CHARACTERS = 0x110000 };

/* The flags that rules of BERT name. */
static unsigned flags(uint32_t character)
{
    return unicode_properties(character)->flags &
           (UNICODE_CONTROL | UNICODE_SPACE | UNICODE_PUNCTUATION | UNICODE_MARK | UNICODE_CJK |
            UNICODE_DECOMPOSES);
}

START_TEST(unicode_tells_ascii_apart_as_bert_does)
{
    for (uint32_t c = 0; c < 128; c++) {
        bool alphanumeric =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        bool space = c == ' ' || (c >= 9 && c <= 13);
        bool control = (c < 32 && c != 9 && c != 10 && c != 13) || c == 127;
        ck_assert_int_eq((flags(c) & UNICODE_SPACE) != 0, space);
        ck_assert_int_eq((flags(c) & UNICODE_CONTROL) != 0, control);
        ck_assert_int_eq((flags(c) & UNICODE_PUNCTUATION) != 0, c > 32 && c < 127 && !alphanumeric);
    }
}
END_TEST

START_TEST(unicode_knows_white_space_controls_and_ideographs)
{
    ck_assert_uint_eq(flags(0x3000), UNICODE_SPACE);
    ck_assert_uint_eq(flags(0x2028), UNICODE_SPACE);
    ck_assert_uint_eq(flags(0x85), UNICODE_SPACE | UNICODE_CONTROL);
    ck_assert_uint_eq(flags(0xFFFD), UNICODE_CONTROL);
    ck_assert_uint_eq(flags(0x200B), UNICODE_CONTROL);
    ck_assert_uint_eq(flags(0xE000), UNICODE_CONTROL);
    ck_assert_uint_eq(flags(0x378), 0); /* unassigned: kept */
    ck_assert_uint_eq(flags(0x4E2D), UNICODE_CJK);
    ck_assert_uint_eq(flags(0x2B820), 0); /* the reference's range begins at U+2B920 */
    ck_assert_uint_eq(flags(0x2B920), UNICODE_CJK);
    ck_assert_uint_eq(flags(0x3042), 0); /* hiragana are letters */
}
END_TEST

START_TEST(unicode_has_the_categories_of_version_8)
{
    ck_assert_uint_eq(flags(0x2E42), UNICODE_PUNCTUATION);
    ck_assert_uint_eq(flags(0x2E43), 0);                   /* punctuation since 9.0 */
    ck_assert_uint_eq(flags(0x166D), UNICODE_PUNCTUATION); /* a symbol since 12.0 */
    ck_assert_uint_eq(flags(0x8E3), UNICODE_MARK);
    ck_assert_uint_eq(flags(0x8D4), 0); /* a mark since 9.0 */
    ck_assert_uint_eq(unicode_properties(0x8D4)->combining_class, 230);
    ck_assert_uint_eq(unicode_properties(0x1DF6)->combining_class, 0); /* 232 since 10.0 */
}
END_TEST

START_TEST(unicode_decomposes_fully)
{
    uint32_t out[UNICODE_DECOMPOSITION_MAX], again[UNICODE_DECOMPOSITION_MAX];
    ck_assert_uint_eq(unicode_decompose(0x1ED8, out), 3); /* O, dot below, circumflex */
    ck_assert_uint_eq(out[0], 'O');
    ck_assert_uint_eq(out[1], 0x323);
    ck_assert_uint_eq(out[2], 0x302);
    ck_assert_uint_eq(unicode_decompose(0x212B, out), 2); /* Angstrom sign */
    ck_assert_uint_eq(unicode_decompose(0x1F82, out), 4);
    for (uint32_t c = 0; c < CHARACTERS; c++) {
        unsigned count = unicode_decompose(c, out);
        if (count < 1)
            ck_abort_msg("U+%04X is nothing", c);
        for (unsigned i = 0; i < count; i++)
            if (unicode_decompose(out[i], again) != 1 || again[0] != out[i])
                ck_abort_msg("U+%04X", c);
    }
}
END_TEST

START_TEST(unicode_decomposes_hangul_by_arithmetic)
{
    uint32_t out[UNICODE_DECOMPOSITION_MAX];
    ck_assert_uint_eq(unicode_decompose(0xAC00, out), 2);
    ck_assert_uint_eq(out[0], 0x1100);
    ck_assert_uint_eq(out[1], 0x1161);
    ck_assert_uint_eq(unicode_decompose(0xD4DB, out), 3); /* the standard's example */
    ck_assert_uint_eq(out[0], 0x1111);
    ck_assert_uint_eq(out[1], 0x1171);
    ck_assert_uint_eq(out[2], 0x11B6);
    ck_assert_uint_eq(unicode_decompose(0xD7A4, out), 1); /* one behind the last syllable */
}
END_TEST

START_TEST(unicode_lower_cases_without_context)
{
    static const uint32_t pairs[][2] = {{'A', 'a'},         {'z', 'z'},         {0xC4, 0xE4},
                                        {0x3A3, 0x3C3},     {0x1E9E, 0xDF},     {0x212A, 'k'},
                                        {0x10400, 0x10428}, {0x10D50, 0x10D70}, {0x16EA0, 0x16EBB}};
    uint32_t out[UNICODE_LOWER_MAX];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        ck_assert_uint_eq(unicode_lower(pairs[i][0], out), 1);
        ck_assert_uint_eq(out[0], pairs[i][1]);
    }
    ck_assert_uint_eq(unicode_lower(0x130, out), 2);
    ck_assert_uint_eq(out[0], 'i');
    ck_assert_uint_eq(out[1], 0x307);
    for (uint32_t c = 0; c < CHARACTERS; c++)
        for (unsigned i = unicode_lower(c, out); i-- > 0;) {
            uint32_t again[UNICODE_LOWER_MAX];
            if (unicode_lower(out[i], again) != 1 || again[0] != out[i])
                ck_abort_msg("U+%04X", c);
        }
}
END_TEST

/* wordpiece.c sizes its output by this. */
START_TEST(unicode_no_character_becomes_more_characters_than_it_has_bytes)
{
    for (uint32_t c = 0; c < CHARACTERS; c++) {
        char bytes[UTF8_BYTES_MAX];
        uint32_t out[UNICODE_DECOMPOSITION_MAX], lower[UNICODE_LOWER_MAX];
        unsigned kept = 0, room = utf8_encode(c, bytes);
        for (unsigned i = unicode_decompose(c, out); i-- > 0;)
            if (!(flags(out[i]) & UNICODE_MARK))
                kept += unicode_lower(out[i], lower);
        if (kept > room || unicode_lower(c, lower) > room)
            ck_abort_msg("U+%04X", c);
    }
}
END_TEST

SUITE("unicode", unicode_tells_ascii_apart_as_bert_does,
      unicode_knows_white_space_controls_and_ideographs, unicode_has_the_categories_of_version_8,
      unicode_decomposes_fully, unicode_decomposes_hangul_by_arithmetic,
      unicode_lower_cases_without_context,
      unicode_no_character_becomes_more_characters_than_it_has_bytes)
