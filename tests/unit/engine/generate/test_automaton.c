/* Automata of listed texts and of a source's numbers, and the space that a decoder drops. */
#include "engine/generate/automaton.h"
#include "engine/generate/pattern.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct automaton automaton;
static struct err err;

static struct automaton_text text(const char *bytes)
{
    return (struct automaton_text){bytes, strlen(bytes)};
}

static bool accepts(const char *bytes)
{
    return automaton_accepts(&automaton,
                             automaton_walk(&automaton, AUTOMATON_START, bytes, strlen(bytes)));
}

static bool goes_on(const char *bytes)
{
    return automaton_walk(&automaton, AUTOMATON_START, bytes, strlen(bytes)) != AUTOMATON_DEAD;
}

static void begin(void)
{
    arena_deinit(&arena);
    err = (struct err){0};
}

START_TEST(automaton_words_accepts_the_texts_alone)
{
    const struct automaton_text words[] = {text("LOT"), text("LOTS"), text("WAF\xC3\x89R"),
                                           text("LOT")};
    begin();
    ck_assert(!automaton_words(&automaton, "allowed", words, 4, &arena, &err));
    ck_assert(accepts("LOT") && accepts("LOTS") && accepts("WAF\xC3\x89R"));
    ck_assert(!accepts("") && !accepts("LO") && !accepts("LOTSS") && !accepts("lot"));
    ck_assert(goes_on("WAF\xC3") && !goes_on("WAFE") && !goes_on("X") && !goes_on("LOTSX"));
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_words_takes_all_bytes)
{
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    const struct automaton_text words[] = {{all, 256}, {all + 255, 1}};
    begin();
    ck_assert(!automaton_words(&automaton, "allowed", words, 2, &arena, &err));
    ck_assert(automaton_accepts(&automaton, automaton_walk(&automaton, AUTOMATON_START, all, 256)));
    ck_assert(
        automaton_accepts(&automaton, automaton_walk(&automaton, AUTOMATON_START, all + 255, 1)));
    for (int i = 1; i < 255; i++)
        ck_assert_uint_eq(automaton_walk(&automaton, AUTOMATON_START, all + i, 1), AUTOMATON_DEAD);
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_words_refuses_by_number_and_limit)
{
    static char many[AUTOMATON_STATES_MAX];
    struct automaton_text words[AUTOMATON_WORDS_MAX + 1];
    for (int i = 0; i <= AUTOMATON_WORDS_MAX; i++)
        words[i] = text("a");
    begin();
    ck_assert_int_eq(automaton_words(&automaton, "allowed", words, 0, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "allowed: 0 texts (1 to 1000)");
    begin();
    ck_assert(automaton_words(&automaton, "allowed", words, AUTOMATON_WORDS_MAX + 1, &arena, &err));
    ck_assert_str_eq(err.text, "allowed: 1001 texts (1 to 1000)");
    words[2] = text("");
    begin();
    ck_assert(automaton_words(&automaton, "allowed", words, 3, &arena, &err));
    ck_assert_str_eq(err.text, "allowed[2]: empty");
    memset(many, 'a', sizeof many);
    words[1] = (struct automaton_text){many, AUTOMATON_STATES_MAX - 3};
    begin();
    ck_assert(!automaton_words(&automaton, "allowed", words, 2, &arena, &err));
    words[1].len++;
    begin();
    ck_assert(automaton_words(&automaton, "allowed", words, 2, &arena, &err));
    ck_assert_str_eq(err.text, "allowed[1]: the texts have more than 16382 bytes (limit)");
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (char)i; /* 16382 states of 256 classes: within the table's limit */
    begin();
    ck_assert(!automaton_words(&automaton, "allowed", words + 1, 1, &arena, &err) ||
              strstr(err.text, "(limit") != NULL);
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_numbers_accepts_whole_numbers_of_the_source)
{
    begin();
    ck_assert(!automaton_numbers(&automaton, "copy_numbers", text("1130 Ref_BE 3.97 v, 12 of 1975"),
                                 &arena, &err));
    ck_assert(accepts("") && accepts("no number") && accepts("3.97 V at 1130") && accepts("-12"));
    ck_assert(accepts("\xD9\xA3")); /* an Arabic digit is no digit here */
    ck_assert(!accepts("97 and 98") && !accepts("113") && !accepts("1130 4") && !accepts("9"));
    ck_assert(goes_on("x19") && !goes_on("x19x") && !goes_on("198"));
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_numbers_of_a_source_without_any_bans_digits)
{
    begin();
    ck_assert(!automaton_numbers(&automaton, "copy_numbers", text("none"), &arena, &err));
    ck_assert(accepts("all well") && !goes_on("0"));
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_numbers_refuses_a_source_of_too_many_digits)
{
    static char digits[AUTOMATON_STATES_MAX];
    memset(digits, '7', sizeof digits);
    begin();
    ck_assert_int_eq(automaton_numbers(&automaton, "copy_numbers",
                                       (struct automaton_text){digits, sizeof digits}, &arena,
                                       &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "copy_numbers: the source has 16384 digits (limit 16382)");
    arena_deinit(&arena);
}
END_TEST

/* Every text of the bytes up to a length: the trimmed automaton takes it if the automaton does and
 * no white space is at its ends. */
START_TEST(automaton_trim_takes_what_has_no_white_space_at_its_ends)
{
    static const char *const patterns[] = {"a( a)*",   "[^b]*a", " ?a|a",      "a",  "(a ?)*",
                                           "[ab ]{3}", "a |ab",  "|\\s*a\\s*", ".*", "a\\x1cb?"};
    static const char letters[] = "ab \n\x1C";
    enum { LETTERS = sizeof letters - 1, LONGEST = 5 };
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        struct automaton trimmed;
        begin();
        ck_assert(!pattern_compile(&automaton, "pattern", patterns[p], strlen(patterns[p]), &arena,
                                   &err));
        ck_assert_msg(!automaton_trim(&trimmed, &automaton, "pattern", 1000, &arena, &err), "%s",
                      err.text);
        for (unsigned number = 0, length = 0, all = 1; length <= LONGEST; number++) {
            char text[LONGEST];
            if (number == all)
                number = 0, length++, all *= LETTERS;
            if (length > LONGEST)
                break;
            for (unsigned i = 0, left = number; i < length; i++, left /= LETTERS)
                text[i] = letters[left % LETTERS];
            const bool has_space = length > 0 && (text[0] < 'a' || text[length - 1] < 'a');
            const unsigned state = automaton_walk(&automaton, AUTOMATON_START, text, length);
            const unsigned at = automaton_walk(&trimmed, AUTOMATON_START, text, length);
            ck_assert_msg(automaton_accepts(&trimmed, at) ==
                              (automaton_accepts(&automaton, state) && !has_space),
                          "%s: '%.*s'", patterns[p], (int)length, text);
        }
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(automaton_trim_is_dead_where_only_white_space_goes_on)
{
    struct automaton trimmed;
    begin();
    ck_assert(!pattern_compile(&automaton, "pattern", "ab( +|c)", 8, &arena, &err));
    ck_assert(!automaton_trim(&trimmed, &automaton, "pattern", 1000, &arena, &err));
    ck_assert_uint_ne(automaton_walk(&automaton, AUTOMATON_START, "ab ", 3), AUTOMATON_DEAD);
    ck_assert_uint_eq(automaton_walk(&trimmed, AUTOMATON_START, "ab ", 3), AUTOMATON_DEAD);
    ck_assert_uint_eq(automaton_walk(&trimmed, AUTOMATON_START, "abc", 3), trimmed.states - 1);
    begin();
    ck_assert(!pattern_compile(&automaton, "pattern", "a | b", 5, &arena, &err));
    ck_assert_int_eq(automaton_trim(&trimmed, &automaton, "pattern", 1000, &arena, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "pattern: each of its texts begins or ends with white space");
    begin();
    ck_assert(!pattern_compile(&automaton, "pattern", "[a ]{50}", 8, &arena, &err));
    ck_assert(automaton_trim(&trimmed, &automaton, "pattern", 100, &arena, &err));
    ck_assert_msg(strstr(err.text, "(limit 100)") != NULL, "%s", err.text);
    arena_deinit(&arena);
}
END_TEST

START_TEST(automata_take_the_memory_that_is_said)
{
    const struct automaton_text words[] = {text("LOT 12"), text("LOTS"), text("WAF\xC3\x89R")};
    const struct automaton_text source = text("1130 Ref_BE 3.97 v");
    begin();
    ck_assert(!automaton_words(&automaton, "allowed", words, 3, &arena, &err));
    ck_assert_uint_le(arena.bytes,
                      automaton_bytes(2 + 6 + 4 + 6, 1 + strlen("LOT 12SWAF\xC3\x89R")));
    begin();
    ck_assert(!automaton_numbers(&automaton, "copy_numbers", source, &arena, &err));
    ck_assert_uint_le(arena.bytes, automaton_numbers_bytes(source));
    arena_deinit(&arena);
}
END_TEST

SUITE("automaton", automaton_words_accepts_the_texts_alone, automaton_words_takes_all_bytes,
      automaton_words_refuses_by_number_and_limit,
      automaton_numbers_accepts_whole_numbers_of_the_source,
      automaton_numbers_of_a_source_without_any_bans_digits,
      automaton_numbers_refuses_a_source_of_too_many_digits,
      automaton_trim_takes_what_has_no_white_space_at_its_ends,
      automaton_trim_is_dead_where_only_white_space_goes_on, automata_take_the_memory_that_is_said)
