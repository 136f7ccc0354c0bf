/* Rules GB3 to GB13 of UAX 29, a line each, and the borders of the reference. */
#include "engine/text/unicode.h"

#include "engine/base/utf8.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHARACTERS_MAX = 16, INDICATORS = 100001 };

/* Characters; a cluster ends behind each bar. */
enum { BAR = 0xFFFFFFFF };

static const uint32_t cases[][CHARACTERS_MAX] = {
    {'a', BAR, 'b'},
    {'\r', '\n', BAR, 'a'},                         /* GB3 */
    {'\n', BAR, '\r', BAR, 'a'},                    /* GB4 */
    {'\n', BAR, 0x301, BAR, 'a'},                   /* GB4 before GB9 */
    {'a', BAR, '\n', BAR, 0x301},                   /* GB5 */
    {0x1100, 0x1100, 0x1161, 0x11A8, 0x11A8},       /* GB6, GB7, GB8 */
    {0xAC00, 0x11A8, BAR, 0x1161},                  /* LV T, then V */
    {0xAC01, 0x11A8, BAR, 0x1161},                  /* LVT T */
    {0x1100, 0xAC00, 0x1161},                       /* L LV V */
    {0x1100, 0xAC01, BAR, 0xAC00},                  /* L LVT, LV */
    {0x1161, BAR, 0x1100},                          /* V, L */
    {'a', 0x301, 0x20DD, BAR, 'b'},                 /* GB9 */
    {'a', 0x200D, BAR, 'b'},                        /* GB9: ZWJ */
    {0x915, 0x93E, BAR, 'a'},                       /* GB9a */
    {0x600, 'a', BAR, 'b'},                         /* GB9b */
    {0x600, BAR, '\n'},                             /* GB5 before GB9b */
    {0x915, 0x94D, 0x937},                          /* GB9c: kssa */
    {0x915, 0x94D, 0x200D, 0x937},                  /* GB9c: with a joiner */
    {0x915, 0x93C, 0x94D, 0x94D, 0x937},            /* GB9c: extend around linkers */
    {0x915, 0x93C, BAR, 0x937},                     /* no linker */
    {0x915, 0x94D, 0x200C, BAR, 0x937},             /* a non-joiner parts */
    {'a', 0x94D, BAR, 0x937},                       /* no consonant before */
    {0x915, 0x93E, 0x94D, BAR, 0x937},              /* a spacing mark parts */
    {0x915, 0x94D, 0x937, 0x94D, 0x930},            /* three in a row */
    {0x1F468, 0x200D, 0x1F469, BAR, 0x1F467},       /* GB11 */
    {0x1F468, 0x1F3FD, 0x200D, 0x1F469},            /* GB11: with a skin tone */
    {0x1F468, 0xFE0F, 0x200D, 0x2764},              /* GB11: with a variation selector */
    {'a', 0x200D, BAR, 0x1F469},                    /* no pictograph before the joiner */
    {0x1F468, 0x200D, 0x200D, BAR, 0x1F469},        /* two joiners */
    {0x1F468, 0x200D, 0x301, BAR, 0x1F469},         /* something behind the joiner */
    {0x1F1E6, 0x1F1E7, BAR, 0x1F1E8, 0x1F1E9},      /* GB12, GB13 */
    {'a', BAR, 0x1F1E6, 0x1F1E7, BAR, 0x1F1E8},     /* GB13 */
    {0x1F1E6, 0x301, BAR, 0x1F1E7, 0x1F1E8},        /* an accent begins a new pair */
    {0x1F3F4, 0xE0067, 0xE0062, 0xE007F, BAR, 'a'}, /* tags extend */
};

static void check(const uint32_t *characters, size_t number)
{
    char text[CHARACTERS_MAX * UTF8_BYTES_MAX];
    size_t ends[CHARACTERS_MAX], len = 0, count = 0;
    for (size_t i = 0; i < CHARACTERS_MAX && characters[i] != 0; i++) {
        if (characters[i] == BAR)
            ends[count++] = len;
        else
            len += utf8_encode(characters[i], text + len);
    }
    ends[count++] = len;
    char *exact = malloc(len); /* so that a sanitizer sees a read behind it */
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    for (size_t i = 0, at = 0; i < count; i++) {
        size_t end = grapheme_end(exact, len, at);
        ck_assert_msg(end == ends[i], "case %zu: a cluster ends at %zu, not %zu", number, end,
                      ends[i]);
        at = end;
    }
    free(exact);
}

START_TEST(grapheme_borders_follow_the_rules)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(cases[i], i);
}
END_TEST

START_TEST(grapheme_of_one_character_is_that_character)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        char text[UTF8_BYTES_MAX];
        size_t len = utf8_encode(c, text);
        if (grapheme_end(text, len, 0) != len)
            ck_abort_msg("U+%04X", c);
    }
}
END_TEST

START_TEST(grapheme_pairs_a_long_row_of_indicators_in_linear_time)
{
    char *text = malloc(INDICATORS * 4);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < INDICATORS; i++)
        utf8_encode(0x1F1E6, text + 4 * i);
    for (size_t at = 0, len = INDICATORS * 4; at < len;) {
        size_t end = grapheme_end(text, len, at);
        ck_assert_uint_eq(end, at + 8 < len ? at + 8 : len);
        at = end;
    }
    free(text);
}
END_TEST

START_TEST(grapheme_may_be_a_whole_text)
{
    char *text = malloc(2 * INDICATORS + 1);
    ck_assert_ptr_nonnull(text);
    text[0] = 'a';
    for (size_t i = 0; i < INDICATORS; i++)
        utf8_encode(0x301, text + 1 + 2 * i);
    ck_assert_uint_eq(grapheme_end(text, 2 * INDICATORS + 1, 0), 2 * INDICATORS + 1);
    free(text);
}
END_TEST

SUITE("grapheme", grapheme_borders_follow_the_rules, grapheme_of_one_character_is_that_character,
      grapheme_pairs_a_long_row_of_indicators_in_linear_time, grapheme_may_be_a_whole_text)
