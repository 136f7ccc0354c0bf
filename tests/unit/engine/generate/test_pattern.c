/* Regular expressions as automata: which texts they accept, and what they refuse. */
#include "engine/generate/pattern.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct automaton automaton;

static void compile(const char *pattern)
{
    struct err err = {0};
    arena_deinit(&arena);
    ck_assert_msg(!pattern_compile(&automaton, "pattern", pattern, strlen(pattern), &arena, &err),
                  "%s: %s", pattern, err.text);
}

static unsigned walk(const char *text)
{
    return automaton_walk(&automaton, AUTOMATON_START, text, strlen(text));
}

static bool matches(const char *text)
{
    return automaton_accepts(&automaton, walk(text));
}

static const struct {
    const char *pattern;
    const char *yes[8], *no[8];
} cases[] = {
    {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
    {"", {""}, {"a"}},
    {"^abc$", {"abc"}, {"^abc$", "ab"}},
    {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
    {"a*b+c?", {"b", "aab", "bbc", "abbc"}, {"", "ac", "bcc", "a"}},
    {"a{2}", {"aa"}, {"a", "aaa"}},
    {"a{2,}", {"aa", "aaaaa"}, {"a"}},
    {"a{1,3}b", {"ab", "aab", "aaab"}, {"b", "aaaab"}},
    {"a{0,2}", {"", "a", "aa"}, {"aaa"}},
    {".{0,100}x{3,}", {"xxx", "axxxx", "\xC3\xA9xxx"}, {"xx", "xxy"}},
    {"(a?b{1,2}){2,3}c", {"bbc", "abbabbabbc", "babc"}, {"abc", "abbbbbbbc", "bbaac"}},
    {"(ab){2,3}", {"abab", "ababab"}, {"ab", "abababab", "aba"}},
    {"(?:a|b)*c", {"c", "abbac"}, {"", "abd"}},
    {"(a*)*b", {"b", "aab"}, {"a", ""}},
    {"((a|)|b)+", {"", "abab"}, {"c"}},
    {"[A-F0-9]{2}", {"0F", "A9"}, {"0G", "0f", "A"}},
    {"[^A-F]", {"G", "\n", "\xC3\xA9", "\xF0\x9F\x99\x82"}, {"A", "", "GG", "\xC3"}},
    {"[a\\-\\]]+", {"a-]"}, {"\\"}},
    {"[-a]+[a-]", {"-a", "a-"}, {"b-"}},
    {"[[]", {"["}, {"]"}},
    {".",
     {"a", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x99\x82", "\xEE\x80\x80"},
     {"\n", "ab", "\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}},
    {"\\d+\\.\\d*", {"3.97", "10."}, {".5", "3,97", "\xD9\xA3."}},
    {"\\w+\\s\\w+", {"a_1 B", "x\ty"}, {"a-b c", "a"}},
    {"\\D\\W\\S", {"a b", "\xC3\xA9\xC3\xA9\xC3\xA9"}, {"1 b", "aab", "a  "}},
    {"\\t\\n\\r\\f\\v\\\\", {"\t\n\r\f\v\\"}, {"tnrfv\\"}},
    {"\\x41\\u00e9\\u4E2D", {"A\xC3\xA9\xE4\xB8\xAD"}, {"A"}},
    {"[\\u00e0-\\u00ff]", {"\xC3\xA0", "\xC3\xBF"}, {"\xC3\x9F", "\xC4\x80"}},
    {"[\\u0700-\\uFFFF]",
     {"\xDC\x80", "\xE0\xA0\x80", "\xEF\xBF\xBF", "\xED\x9F\xBF"},
     {"\xDB\xBF", "\xF0\x90\x80\x80", "\xED\xA0\x80"}},
    {"[\xC3\xA9\xE4\xB8\xAD]|\xF0\x9F\x99\x82",
     {"\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x99\x82"},
     {"\xC3\xA8"}},
    {"[\\d\\s]", {"7", " "}, {"a"}},
    {"[^\\d\\s]", {"a"}, {"7", " "}},
    {"a]b}", {"a]b}"}, {"ab"}},
    {"[A-Z]{3}[0-9]{2}(-[0-9]{2})?[A-H][0-7]", {"WAF12A0", "WAF12-07H7"}, {"WAF12-7H7", "WAF12I0"}},
};

START_TEST(pattern_accepts_what_the_expression_says)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        compile(cases[c].pattern);
        for (int i = 0; i < 8 && cases[c].yes[i] != NULL; i++)
            ck_assert_msg(matches(cases[c].yes[i]), "%s: %s", cases[c].pattern, cases[c].yes[i]);
        for (int i = 0; i < 8 && cases[c].no[i] != NULL; i++)
            ck_assert_msg(!matches(cases[c].no[i]), "%s: %s", cases[c].pattern, cases[c].no[i]);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(pattern_takes_a_nul_in_a_text)
{
    compile(".\\x00.");
    ck_assert(
        automaton_accepts(&automaton, automaton_walk(&automaton, AUTOMATON_START, "a\0b", 3)));
    arena_deinit(&arena);
}
END_TEST

START_TEST(pattern_is_dead_as_soon_as_no_text_goes_on)
{
    compile("(foo|bar)+baz");
    ck_assert_uint_ne(walk("foob"), AUTOMATON_DEAD);
    ck_assert_uint_eq(walk("fob"), AUTOMATON_DEAD);
    ck_assert_uint_eq(walk("bazx"), AUTOMATON_DEAD);
    compile("[\xC3\xA9]");
    ck_assert_uint_eq(walk("\xC3\xA8"), AUTOMATON_DEAD);
    arena_deinit(&arena);
}
END_TEST

/* From every state some bytes lead to an accepted text: found backwards. */
static void expect_all_live(void)
{
    static bool is_live[PATTERN_STATES_MAX];
    for (unsigned s = 0; s < automaton.states; s++)
        is_live[s] = s != AUTOMATON_DEAD && automaton_accepts(&automaton, s);
    for (bool grows = true; grows;) {
        grows = false;
        for (unsigned s = AUTOMATON_START; s < automaton.states; s++)
            for (unsigned c = 0; c < automaton.classes && !is_live[s]; c++)
                grows |= is_live[s] = is_live[automaton.next[s * automaton.classes + c]];
    }
    for (unsigned s = AUTOMATON_START; s < automaton.states; s++)
        ck_assert_msg(is_live[s], "state %u", s);
}

START_TEST(pattern_has_an_end_in_reach_of_every_state)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        compile(cases[c].pattern);
        expect_all_live();
    }
    arena_deinit(&arena);
}
END_TEST

static const struct {
    const char *pattern, *what;
} refused[] = {
    {"(", "byte 0: a group without its )"},
    {"a)", "byte 1: a ) without its ("},
    {"[", "byte 1: a set without its ]"},
    {"[a", "byte 2: a set without its ]"},
    {"[]", "byte 0: an empty set"},
    {"[^]", "byte 0: an empty set"},
    {"[z-a]", "byte 2: a range that ends"},
    {"[a-\\d]", "byte 2: a range that ends"},
    {"[[:alpha:]]", "byte 1: classes like [:alpha:]"},
    {"[^\\d\\D]", "byte 0: no character is in this set"},
    {"*", "byte 0: nothing to repeat"},
    {"a|+", "byte 2: nothing to repeat"},
    {"a**", "byte 2: a repetition of a repetition"},
    {"a+?", "byte 2: a repetition of a repetition"},
    {"a{2}{3}", "byte 4: a repetition of a repetition"},
    {"a{", "byte 2: expected a number"},
    {"a{,3}", "byte 2: expected a number"},
    {"a{2", "byte 1: a repetition without its }"},
    {"a{3,2}", "byte 1: a repetition of no times"},
    {"a{0}", "byte 1: a repetition of no times"},
    {"a{0,0}", "byte 1: a repetition of no times"},
    {"a{1001}", "more than 1000 times (limit)"},
    {"a{99999999999999999999}", "more than 1000 times (limit)"},
    {"\\", "byte 0: a backslash before no character"},
    {"\\\xC3\xA9", "byte 0: a backslash before no character"},
    {"(a)\\1", "byte 3: this escape is not supported"},
    {"\\bword", "byte 0: this escape is not supported"},
    {"\\pL", "byte 0: this escape is not supported"},
    {"\\x4", "expected hexadecimal digits"},
    {"\\ud800", "a surrogate is no character"},
    {"(?=a)", "byte 0: assertions, names and flags"},
    {"(?i)a", "byte 0: assertions, names and flags"},
    {"(?P<n>a)", "byte 0: assertions, names and flags"},
    {"a^b", "byte 1: ^ and $ are supported at the ends"},
    {"a$b", "byte 1: ^ and $ are supported at the ends"},
    {"(a$)", "byte 2: ^ and $ are supported at the ends"},
    {"\xC3", "byte 0: invalid UTF-8"},
    {"(a|b)*a(a|b){14}", "needs more than 4096 states (limit)"},
    {".{900}", "needs more than 4096 states (limit)"},
    {"((((((a{9}){9}){9}){9}){9}){9}){9}", "parts (limit)"},
    {"(((((){1000}){1000}){1000}){1000})", "parts (limit)"},
    {"(a*b*c*d*e*f*g*h*i*j*){400}", "(limit)"},
    {"([^aeiou]*x){200}(a|[b-y]){200}", "(limit)"},
};

START_TEST(pattern_refuses_by_place_and_limit)
{
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        struct err err = {0};
        const char *pattern = refused[r].pattern;
        ck_assert_msg(pattern_compile(&automaton, "pattern", pattern, strlen(pattern), &arena,
                                      &err) == ERR_UNUSABLE,
                      "%s: %s", pattern, err.text);
        ck_assert_msg(strncmp(err.text, "pattern: ", 9) == 0 &&
                          strstr(err.text, refused[r].what) != NULL,
                      "%s: %s", pattern, err.text);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(pattern_refuses_depth_and_length)
{
    enum { LONG = PATTERN_BYTES_MAX + 1 };
    static char text[LONG + 1];
    struct err err = {0};
    memset(text, 'a', LONG);
    ck_assert_int_eq(pattern_compile(&automaton, "pattern", text, LONG, &arena, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "pattern: 4097 bytes (limit 4096)");
    err = (struct err){0};
    memset(text, '(', LONG);
    ck_assert(pattern_compile(&automaton, "pattern", text, LONG - 1, &arena, &err));
    ck_assert_str_eq(err.text, "pattern: byte 64: more than 64 groups in each other (limit)");
    memset(text, 'a', LONG);
    err = (struct err){0}; /* 4096 states: one too many with the dead one and the start */
    ck_assert(pattern_compile(&automaton, "pattern", text, PATTERN_STATES_MAX - 1, &arena, &err));
    err = (struct err){0};
    ck_assert(!pattern_compile(&automaton, "pattern", text, PATTERN_STATES_MAX - 2, &arena, &err));
    ck_assert_uint_eq(automaton.states, PATTERN_STATES_MAX);
    arena_deinit(&arena);
}
END_TEST

SUITE("pattern", pattern_accepts_what_the_expression_says, pattern_takes_a_nul_in_a_text,
      pattern_is_dead_as_soon_as_no_text_goes_on, pattern_has_an_end_in_reach_of_every_state,
      pattern_refuses_by_place_and_limit, pattern_refuses_depth_and_length)
