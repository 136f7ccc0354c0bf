#include "server/body.h"
#include "tests/support/suite.h"

#include <string.h>

static char piece[100000];

START_TEST(body_holds_what_was_appended_and_a_nul)
{
    struct body_budget budget = {.bytes_max = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &budget);
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
    struct body_budget budget = {.bytes_max = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &budget);
    ck_assert_int_eq(body_append(&body, "a", 1, 32 * 1024 * 1024, &err), ERR_OK);
    ck_assert_uint_le(body.capacity, BODY_FREE_BYTES);
    ck_assert_uint_eq(budget.bytes, 0);
    body_deinit(&body);
}
END_TEST

START_TEST(body_of_an_announced_length_wastes_nothing_in_the_end)
{
    struct body_budget budget = {.bytes_max = 1 << 20};
    struct body body;
    struct err err = {0};
    body_init(&body, &budget);
    ck_assert_int_eq(body_append(&body, piece, 70000, 100000, &err), ERR_OK);
    ck_assert_int_eq(body_append(&body, piece, 30000, 100000, &err), ERR_OK);
    ck_assert_uint_eq(body.capacity, 100000);
    body_deinit(&body);
}
END_TEST

START_TEST(body_stops_at_the_budget_and_gives_the_loan_back)
{
    struct body_budget budget = {.bytes_max = 100000};
    struct body first, second;
    struct err err = {0};
    body_init(&first, &budget);
    body_init(&second, &budget);
    ck_assert_int_eq(body_append(&first, piece, 100000, 100000, &err), ERR_OK);
    ck_assert_uint_eq(budget.bytes, 100000 - BODY_FREE_BYTES);
    ck_assert_int_eq(body_append(&second, piece, 60000, 0, &err), ERR_OK);
    ck_assert_int_eq(body_append(&second, piece, 100000, 0, &err), ERR_NOT_READY);
    ck_assert_ptr_nonnull(strstr(err.text, "100000 bytes"));
    ck_assert_uint_eq(second.len, 60000);
    body_deinit(&first);
    body_deinit(&second);
    ck_assert_uint_eq(budget.bytes, 0);
}
END_TEST

SUITE("body", body_holds_what_was_appended_and_a_nul, body_reserves_nothing_for_an_announcement,
      body_of_an_announced_length_wastes_nothing_in_the_end,
      body_stops_at_the_budget_and_gives_the_loan_back)
