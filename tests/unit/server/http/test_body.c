#include "server/http/http_request.h"
#include "tests/support/suite.h"

#include <string.h>

static char piece[100000];

START_TEST(body_holds_what_was_appended_and_a_nul)
{
    struct memory memory = {.pool_bytes = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &memory);
    for (int i = 0; i < 5000; i++) {
        char byte = (char)('a' + i % 26);
        ck_assert_int_eq(body_append(&body, &byte, 1, 0, &err), ERR_OK);
    }
    ck_assert_uint_eq(body.len, 5000);
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(body.bytes[i], 'a' + i % 26);
    ck_assert_int_eq(body.bytes[5000], '\0');
    body_deinit(&body);
}
END_TEST

START_TEST(body_reserves_nothing_for_an_announcement)
{
    struct memory memory = {.pool_bytes = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &memory);
    ck_assert_int_eq(body_append(&body, "a", 1, 32 * 1024 * 1024, &err), ERR_OK);
    ck_assert_uint_le(body.capacity, 4096);
    ck_assert_uint_eq(memory_taken(&memory), body.capacity);
    body_deinit(&body);
}
END_TEST

START_TEST(body_of_an_announced_length_wastes_nothing_in_the_end)
{
    struct memory memory = {.pool_bytes = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &memory);
    ck_assert_int_eq(body_append(&body, piece, 70000, 100000, &err), ERR_OK);
    ck_assert_int_eq(body_append(&body, piece, 30000, 100000, &err), ERR_OK);
    ck_assert_uint_eq(body.capacity, 100000);
    body_deinit(&body);
}
END_TEST

START_TEST(body_stops_at_the_budget_and_gives_back_what_it_held)
{
    struct memory memory = {.pool_bytes = 150000};
    struct body first, second;
    struct err err = {0};
    body_init(&first, &memory);
    body_init(&second, &memory);
    ck_assert_int_eq(body_append(&first, piece, 100000, 100000, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 100000);
    ck_assert_int_eq(body_append(&second, piece, 30000, 0, &err), ERR_OK);
    ck_assert_int_eq(body_append(&second, piece, 60000, 90000, &err), ERR_QUEUE_FULL);
    ck_assert_ptr_nonnull(strstr(err.text, "memory_max"));
    ck_assert_uint_eq(second.len, 30000);
    body_deinit(&first);
    body_deinit(&second);
    ck_assert_uint_eq(memory_taken(&memory), 0);
}
END_TEST

START_TEST(body_larger_than_all_that_there_is_is_too_large)
{
    struct memory memory = {.pool_bytes = 99999};
    struct body body;
    struct err err = {0};
    body_init(&body, &memory);
    ck_assert_int_eq(body_append(&body, piece, 50000, 100000, &err), ERR_OK);
    ck_assert_int_eq(body_append(&body, piece, 50000, 100000, &err), ERR_TOO_LARGE);
    body_deinit(&body);
    ck_assert_uint_eq(memory_taken(&memory), 0);
}
END_TEST

START_TEST(body_that_is_small_may_use_the_memory_reserved_for_small_ones)
{
    struct memory memory = {.pool_bytes = 100000, .small_bytes = 64000};
    struct body large, small;
    struct err err = {0};
    body_init(&large, &memory);
    body_init(&small, &memory);
    ck_assert_int_eq(body_append(&large, piece, 70000, 70000, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(body_append(&small, piece, 64000, 64000, &err), ERR_OK);
    body_deinit(&large);
    body_deinit(&small);
}
END_TEST

SUITE("body", body_holds_what_was_appended_and_a_nul, body_reserves_nothing_for_an_announcement,
      body_of_an_announced_length_wastes_nothing_in_the_end,
      body_stops_at_the_budget_and_gives_back_what_it_held,
      body_larger_than_all_that_there_is_is_too_large,
      body_that_is_small_may_use_the_memory_reserved_for_small_ones)
