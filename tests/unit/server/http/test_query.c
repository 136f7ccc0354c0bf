#include "server/http/framing.h"

#include "tests/support/suite.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

/* "a=b,c,=d": each argument, with its `=` if it has a value. */
static void list_arguments(const char *target, char *out, size_t size)
{
    struct arena arena;
    struct query query;
    struct err err = {0};
    arena_init(&arena);
    out[0] = '\0';
    ck_assert_int_eq(query_parse(&query, target, &arena, &err), ERR_OK);
    for (size_t i = 0; i < query.count; i++) {
        const struct query_argument *argument = &query.arguments[i];
        snprintf(out + strlen(out), size - strlen(out), "%s%s%s%s", i > 0 ? "," : "",
                 argument->name, argument->value != NULL ? "=" : "",
                 argument->value != NULL ? argument->value : "");
    }
    arena_deinit(&arena);
}

START_TEST(query_finds_arguments_as_forms_encode_them)
{
    static const char *const rows[][2] = {
        {"/a", ""},
        {"/a?", ""},
        {"/a?b", "b"},
        {"/a?b=c&d=e", "b=c,d=e"},
        {"/a?b&c=&=d", "b,c=,=d"},
        {"/a?b=c=d?e", "b=c=d?e"},
        {"/a?&&b&", ",,b"},
        {"/a?b+c=d%20e%2B%26%3d", "b c=d e+&="},
        {"/a%3Fb?c", "c"},
        {"http://h?x=%C3%A4", "x=\xC3\xA4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char got[64];
        list_arguments(rows[i][0], got, sizeof got);
        ck_assert_str_eq(got, rows[i][1]);
    }
}
END_TEST

START_TEST(query_keeps_equal_names_in_their_order)
{
    struct arena arena;
    struct query query;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(query_parse(&query, "/?a=1&b&a=2", &arena, &err), ERR_OK);
    ck_assert_uint_eq(query.count, 3);
    ck_assert_str_eq(query.arguments[0].value, "1");
    ck_assert_ptr_null(query.arguments[1].value);
    ck_assert_str_eq(query.arguments[2].value, "2");
    arena_deinit(&arena);
}
END_TEST

START_TEST(query_takes_no_more_arguments_than_its_limit)
{
    for (size_t more = 0; more < 2; more++) {
        struct arena arena;
        struct query query;
        struct err err = {0};
        char target[2 + 2 * (LIMIT_QUERY_ARGUMENTS + 1) + 1] = "/?";
        for (size_t i = 0; i < LIMIT_QUERY_ARGUMENTS + more; i++)
            memcpy(target + 2 + 2 * i, "a&", 3);
        arena_init(&arena);
        ck_assert_int_eq(query_parse(&query, target, &arena, &err), more ? ERR_TOO_LARGE : ERR_OK);
        ck_assert_uint_eq(query.count, more ? 0 : LIMIT_QUERY_ARGUMENTS);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("query", query_finds_arguments_as_forms_encode_them, query_keeps_equal_names_in_their_order,
      query_takes_no_more_arguments_than_its_limit)
