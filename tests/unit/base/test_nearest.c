#include "engine/base/nearest.h"
#include "tests/support/suite.h"

#include <string.h>

static const char *const known[] = {"text", "image",       "inputs",  "model", "top_k",
                                    "id",   "deadline_ms", "context", "die_x", "die_y"};
enum { KNOWN = sizeof known / sizeof known[0] };

START_TEST(nearest_finds_each_kind_of_slip)
{
    static const char *const cases[][2] = {
        {"modle", "model"}, {"imgae", "image"},    {"topk", "top_k"},
        {"top-k", "top_k"}, {"texts", "text"},     {"deadline", "deadline_ms"},
        {"MODEL", "model"}, {"img", "image"},      {"input", "inputs"},
        {"idd", "id"},      {"contxet", "context"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = nearest_name(cases[i][0], known, KNOWN);
        ck_assert_msg(found != NULL && strcmp(found, cases[i][1]) == 0, "%s -> %s", cases[i][0],
                      found != NULL ? found : "nothing");
    }
}
END_TEST

START_TEST(nearest_offers_nothing_when_nothing_is_near)
{
    static const char *const far[] = {"", "x", "frequency", "zzzzzzzz", "qwertyuiopasdf"};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        ck_assert_ptr_null(nearest_name(far[i], known, KNOWN));
    ck_assert_ptr_null(nearest_name("model", known, 0));
}
END_TEST

START_TEST(nearest_prefers_the_smaller_distance_and_the_earlier_of_equals)
{
    ck_assert_str_eq(nearest_name("die_y", known, KNOWN), "die_y");
    ck_assert_str_eq(nearest_name("die_z", known, KNOWN), "die_x");
}
END_TEST

START_TEST(nearest_bounds_the_length_of_names)
{
    char name[4096];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_ptr_null(nearest_name(name, known, KNOWN));
    const char *const longest[] = {name, "model"};
    ck_assert_str_eq(nearest_name("mode", longest, 2), "model");
    name[NEAREST_LENGTH_MAX] = '\0';
    ck_assert_ptr_eq(nearest_name(name, longest, 2), name);
}
END_TEST

SUITE("nearest", nearest_finds_each_kind_of_slip, nearest_offers_nothing_when_nothing_is_near,
      nearest_prefers_the_smaller_distance_and_the_earlier_of_equals,
      nearest_bounds_the_length_of_names)
