#include "engine/base/nearest.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const known[] = {"queue_limit", "inputs_max", "listen", "models", "id"};
enum { KNOWN = sizeof known / sizeof known[0] };

START_TEST(nearest_finds_a_name_with_a_slip)
{
    ck_assert_str_eq(nearest_name("queue_limt", known, KNOWN), "queue_limit");
    ck_assert_str_eq(nearest_name("queu_limti", known, KNOWN), "queue_limit");
    ck_assert_str_eq(nearest_name("input_max", known, KNOWN), "inputs_max");
    ck_assert_str_eq(nearest_name("model", known, KNOWN), "models");
    ck_assert_str_eq(nearest_name("ir", known, KNOWN), "id");
}
END_TEST

START_TEST(nearest_finds_nothing_for_a_stranger)
{
    ck_assert_ptr_null(nearest_name("temperature", known, KNOWN));
    ck_assert_ptr_null(nearest_name("", known, KNOWN));
    ck_assert_ptr_null(nearest_name("xy", known, KNOWN));
    ck_assert_ptr_null(nearest_name("listen", NULL, 0));
}
END_TEST

START_TEST(nearest_bounds_its_work_on_long_names)
{
    char name[200];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_ptr_null(nearest_name(name, known, KNOWN));
    const char *const long_known[] = {name, "aaaa"};
    ck_assert_str_eq(nearest_name("aaab", long_known, 2), "aaaa");
    name[64] = '\0';
    ck_assert_str_eq(nearest_name(name, long_known, 2), name);
}
END_TEST

START_TEST(nearest_prefers_the_first_of_equals)
{
    const char *const twins[] = {"port_a", "port_b"};
    ck_assert_str_eq(nearest_name("port_c", twins, 2), "port_a");
}
END_TEST

/* A third of a name's letters may differ, and one more; never all of the other's. */
START_TEST(nearest_ends_at_its_distance)
{
    static const char *const cases[][3] = {
        {"abcdef", "abcxyz", "near"}, {"abcdef", "abwxyz", NULL},   {"abcde", "abcxy", "near"},
        {"abcde", "abxyz", NULL},     {"ab", "ax", "near"},         {"ab", "xy", NULL},
        {"abc", "axy", "near"},       {"abc", "abcde", "near"},     {"abc", "abcdef", NULL},
        {"abc", "a", NULL},           {"abcdefg", "bcdefg", "near"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = nearest_name(cases[i][0], &cases[i][1], 1);
        ck_assert_msg((found != NULL) == (cases[i][2] != NULL), "case %zu", i);
    }
}
END_TEST

START_TEST(nearest_passes_over_names_that_are_too_long)
{
    char name[65], longer[66];
    memset(name, 'a', sizeof name);
    memset(longer, 'a', sizeof longer);
    name[64] = longer[65] = '\0';
    const char *const known_names[] = {longer, "a"};
    ck_assert_ptr_null(nearest_name(name, known_names, 2));
    ck_assert_ptr_null(nearest_name(longer, known_names, 1));
    ck_assert_ptr_null(nearest_name(longer, (const char *const[]){name}, 1));
    ck_assert_ptr_eq(nearest_name(name, (const char *const[]){name + 1}, 1), name + 1);
    name[63] = '\0';
    longer[64] = '\0';
    ck_assert_ptr_eq(nearest_name(name, known_names, 2), longer);
}
END_TEST

/* The list fits any room, and no byte is written beyond it. */
START_TEST(a_list_of_names_ends_where_its_room_does)
{
    char list[12] = "";
    ck_assert(nearest_list(list, sizeof list, "ab"));
    ck_assert(nearest_list(list, sizeof list, ""));
    ck_assert_str_eq(list, "ab, ");
    ck_assert(!nearest_list(list, sizeof list, "cdefgh"));
    ck_assert_str_eq(list, "ab, , ...");
    list[0] = '\0';
    ck_assert(nearest_list(list, sizeof list, "\033[1m\n\x7f"));
    ck_assert_str_eq(list, "?[1m??");
    for (size_t size = 8; size < 40; size++) {
        char *room = malloc(size); /* a sanitizer sees what lies behind */
        room[0] = '\0';
        while (nearest_list(room, size, "n"))
            continue;
        ck_assert_str_eq(room + strlen(room) - 3, "...");
        free(room);
    }
}
END_TEST

START_TEST(nearest_gives_up_where_comparing_takes_too_long)
{
    enum { NAMES = 20000 };
    static char texts[NAMES][64];
    static const char *names[NAMES];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(texts[i], sizeof texts[i], "a class of the catalogue that is long enough %06u", i);
        names[i] = texts[i];
    }
    ck_assert_ptr_null(
        nearest_name("a class of the catalogue that is long enough 0199xx", names, NAMES));
    ck_assert_ptr_eq(
        nearest_name("a class of the catalogue that is long enough 000x7", names, 100), texts[7]);
    for (unsigned i = 0; i < 3000; i++)
        snprintf(texts[i], sizeof texts[i], "n%05u", i * 31);
    ck_assert_str_eq(nearest_name("n9x969", names, 3000), "n92969");
}
END_TEST

SUITE("nearest", nearest_gives_up_where_comparing_takes_too_long,
      a_list_of_names_ends_where_its_room_does, nearest_finds_a_name_with_a_slip,
      nearest_finds_nothing_for_a_stranger, nearest_bounds_its_work_on_long_names,
      nearest_prefers_the_first_of_equals, nearest_ends_at_its_distance,
      nearest_passes_over_names_that_are_too_long)
