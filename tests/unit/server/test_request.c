#include "server/limits.h"
#include "server/request.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

START_TEST(request_ids_are_sixteen_hexadecimal_digits)
{
    struct request_ids ids;
    struct arena arena;
    arena_init(&arena);
    request_ids_init(&ids);
    for (int i = 0; i < 100; i++) {
        const char *id = request_ids_next(&ids, &arena);
        ck_assert_uint_eq(strlen(id), 16);
        ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 16);
        ck_assert(request_id_is_plain(id));
    }
    arena_deinit(&arena);
}
END_TEST

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

START_TEST(request_ids_do_not_repeat)
{
    enum { COUNT = 20000 };
    struct request_ids ids;
    struct arena arena;
    const char **all = calloc(COUNT, sizeof *all);
    arena_init(&arena);
    request_ids_init(&ids);
    for (int i = 0; i < COUNT; i++)
        all[i] = request_ids_next(&ids, &arena);
    qsort(all, COUNT, sizeof *all, compare);
    for (int i = 1; i < COUNT; i++)
        ck_assert_str_ne(all[i - 1], all[i]);
    free(all);
    arena_deinit(&arena);
}
END_TEST

START_TEST(request_ids_of_two_processes_differ)
{
    struct request_ids one, two;
    struct arena arena;
    arena_init(&arena);
    request_ids_init(&one);
    request_ids_init(&two);
    ck_assert_str_ne(request_ids_next(&one, &arena), request_ids_next(&two, &arena));
    arena_deinit(&arena);
}
END_TEST

START_TEST(request_id_is_plain_only_without_what_breaks_a_header)
{
    char longest[LIMIT_ID_BYTES + 2];
    memset(longest, 'x', sizeof longest);
    longest[LIMIT_ID_BYTES] = '\0';
    ck_assert(request_id_is_plain("lot-7/wafer:12"));
    ck_assert(request_id_is_plain(longest));
    longest[LIMIT_ID_BYTES] = 'x';
    longest[LIMIT_ID_BYTES + 1] = '\0';
    ck_assert(!request_id_is_plain(longest));
    ck_assert(!request_id_is_plain(""));
    ck_assert(!request_id_is_plain("a b"));
    ck_assert(!request_id_is_plain("a\r\nSet-Cookie:x"));
    ck_assert(!request_id_is_plain("caf\xC3\xA9"));
}
END_TEST

SUITE("request", request_ids_are_sixteen_hexadecimal_digits, request_ids_do_not_repeat,
      request_ids_of_two_processes_differ, request_id_is_plain_only_without_what_breaks_a_header)
