#include "engine/fab/semi_check.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MARK_MAX = 18, DRAWN = 2000 };

static const char CHARACTERS[] = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Marks of real wafers. The first two are public examples; the others stand in the open source of
 * a test system, which names its wafers by what is scribed on them. */
static const char *const REAL[] = {
    "AM1664-24A2", "Q1P888-13-B4", "N25A67-01B6", "N25A67-04H2", "N25A67-05G5", "N25A67-12D4",
    "N25A67-13C7", "N25A67-22F7",  "N25A67-24E5", "N2GW02-01C4", "N2GW02-14D0", "N2GW02-19H2",
    "N2WX39-01G0", "N2WX39-04E1",  "N2WX39-09B0", "N34U61-03C0", "N34U61-06A1", "N34U61-25F4",
};

START_TEST(real_marks_hold)
{
    for (size_t i = 0; i < sizeof REAL / sizeof *REAL; i++) {
        const size_t len = strlen(REAL[i]) - SEMI_CHECK_LEN;
        char check[SEMI_CHECK_LEN];
        struct err err = {0};
        ck_assert_int_eq(semi_check_compute(REAL[i], len, check, &err), ERR_OK);
        ck_assert_mem_eq(check, REAL[i] + len, SEMI_CHECK_LEN);
        ck_assert_msg(semi_check_holds(REAL[i], len + SEMI_CHECK_LEN), "%s", REAL[i]);
    }
}
END_TEST

/* That test system also has two marks that were typed with an 8 for a 0. */
START_TEST(real_mistakes_are_found)
{
    ck_assert(!semi_check_holds("N25A67-16B8", 11));
    ck_assert(semi_check_holds("N25A67-16B0", 11));
    ck_assert(!semi_check_holds("N25A67-25E8", 11));
    ck_assert(semi_check_holds("N25A67-25E0", 11));
}
END_TEST

/* xorshift32 (Marsaglia 2003). */
static unsigned draw(unsigned *state, unsigned below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % below;
}

/* A mark of 3 to MARK_MAX characters with its check characters; returns its length. */
static size_t draw_mark(unsigned *state, char mark[MARK_MAX])
{
    const size_t len = 1 + draw(state, MARK_MAX - SEMI_CHECK_LEN);
    struct err err = {0};
    for (size_t i = 0; i < len; i++)
        mark[i] = CHARACTERS[draw(state, sizeof CHARACTERS - 1)];
    ck_assert_int_eq(semi_check_compute(mark, len, mark + len, &err), ERR_OK);
    return len + SEMI_CHECK_LEN;
}

START_TEST(every_single_mistake_and_every_swap_of_neighbours_is_found)
{
    unsigned state = 1;
    char mark[MARK_MAX];
    for (unsigned n = 0; n < DRAWN; n++) {
        const size_t len = draw_mark(&state, mark);
        ck_assert(semi_check_holds(mark, len));
        for (size_t i = 0; i < len; i++) {
            const char right = mark[i];
            for (const char *wrong = CHARACTERS; *wrong != '\0'; wrong++) {
                mark[i] = *wrong;
                ck_assert_msg(semi_check_holds(mark, len) == (*wrong == right), "%.*s", (int)len,
                              mark);
            }
            mark[i] = right;
        }
        for (size_t i = 0; i + 1 < len; i++) {
            const char left = mark[i], right = mark[i + 1];
            mark[i] = right;
            mark[i + 1] = left;
            ck_assert(semi_check_holds(mark, len) == (left == right));
            mark[i] = left;
            mark[i + 1] = right;
        }
    }
}
END_TEST

/* 0 modulo 59 has two spellings of a letter and a digit, and so have 1 to 4; marks have the first. */
START_TEST(only_one_pair_of_characters_holds)
{
    unsigned state = 2;
    char mark[MARK_MAX];
    for (unsigned n = 0; n < DRAWN; n++) {
        const size_t len = draw_mark(&state, mark);
        char *check = mark + len - SEMI_CHECK_LEN;
        unsigned holding = 0;
        for (int pair = 0; pair < 64; pair++) {
            check[0] = (char)('A' + pair / 8);
            check[1] = (char)('0' + pair % 8);
            holding += semi_check_holds(mark, len);
        }
        ck_assert_uint_eq(holding, 1);
    }
}
END_TEST

START_TEST(a_character_that_marks_do_not_have_is_told_with_its_place)
{
    for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
        const bool is_good = c != 0 && strchr(CHARACTERS, c) != NULL;
        const char text[] = {'A', 'M', (char)c, '1', 'A', '2'};
        char check[SEMI_CHECK_LEN] = {'?', '?'};
        struct err err = {0};
        ck_assert_int_eq(semi_check_compute(text, sizeof text, check, &err),
                         is_good ? ERR_OK : ERR_UNUSABLE);
        if (is_good)
            continue;
        ck_assert_ptr_nonnull(strstr(err.text, "character 3 of 6"));
        ck_assert_mem_eq(check, "??", SEMI_CHECK_LEN);
        ck_assert(!semi_check_holds(text, sizeof text));
    }
}
END_TEST

START_TEST(a_text_too_short_for_a_mark_does_not_hold)
{
    char check[SEMI_CHECK_LEN];
    struct err err = {0};
    ck_assert_int_eq(semi_check_compute("", 0, check, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "without characters"));
    ck_assert(!semi_check_holds("A0", 2));
    ck_assert(!semi_check_holds("A", 1));
    ck_assert(!semi_check_holds("", 0));
}
END_TEST

static bool holds_by_steps(const char *mark, size_t len)
{
    unsigned state = 0;
    for (size_t i = 0; i < len; i++) {
        if (!semi_check_step(&state, mark[i]))
            return false;
    }
    ck_assert_uint_lt(state, SEMI_CHECK_STATES);
    return semi_check_state_holds(state);
}

/* All texts of up to three characters, and marks with their last three changed in all ways. */
START_TEST(a_mark_holds_step_by_step_where_it_holds_as_a_whole)
{
    static const char all[] = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZa ";
    enum { ALL = sizeof all - 1, LAST = 3, MARKS = 4 };
    unsigned state = 3, holding = 0;
    char mark[MARK_MAX + LAST];
    for (unsigned n = 0; n < MARKS; n++) {
        const size_t len = n == 0 ? 0 : draw_mark(&state, mark) - SEMI_CHECK_LEN;
        for (unsigned i = 0; i < ALL * ALL * ALL; i++) {
            mark[len] = all[i % ALL];
            mark[len + 1] = all[i / ALL % ALL];
            mark[len + 2] = all[i / ALL / ALL];
            for (size_t last = 0; last <= LAST; last++) {
                const bool holds = semi_check_holds(mark, len + last);
                if (holds_by_steps(mark, len + last) != holds)
                    ck_abort_msg("%.*s", (int)(len + last), mark);
                holding += holds;
            }
        }
    }
    ck_assert_uint_gt(holding, MARKS * ALL);
}
END_TEST

SUITE("semi_check", real_marks_hold, real_mistakes_are_found,
      every_single_mistake_and_every_swap_of_neighbours_is_found, only_one_pair_of_characters_holds,
      a_character_that_marks_do_not_have_is_told_with_its_place,
      a_text_too_short_for_a_mark_does_not_hold,
      a_mark_holds_step_by_step_where_it_holds_as_a_whole)
