/* The ring of kept inputs: the oldest one, search, and lists. */
#include "server/review/kept_file.h"

#include "tests/support/suite.h"

static struct kept_list list;

static void add(uint64_t number, uint64_t key, enum decision decision)
{
    const struct kept_entry entry = {
        .key = {key, 7}, .number = number, .bytes = 10, .decision = decision};
    kept_list_add(&list, &entry);
}

static void opened(unsigned room)
{
    struct err err = {0};
    ck_assert_int_eq(kept_list_open(&list, room, &err), ERR_OK);
}

START_TEST(the_oldest_is_dropped_first_also_around_the_end)
{
    opened(3);
    ck_assert_ptr_null(kept_list_oldest(&list));
    for (uint64_t i = 1; i <= 10; i++) {
        if (list.count == list.room) {
            ck_assert_uint_eq(kept_list_oldest(&list)->number, i - 3);
            kept_list_drop(&list);
        }
        add(i, i, DECISION_AUTO);
        ck_assert_uint_eq(list.bytes, 10 * (i < 3 ? i : 3));
    }
    kept_list_close(&list);
}
END_TEST

START_TEST(the_newest_of_a_key_is_found)
{
    struct kept_entry found;
    opened(4);
    add(1, 5, DECISION_AUTO);
    add(2, 6, DECISION_AUTO);
    add(3, 5, DECISION_AUTO);
    ck_assert(kept_list_find(&list, (const uint64_t[]){5, 7}, &found));
    ck_assert_uint_eq(found.number, 3);
    ck_assert(!kept_list_find(&list, (const uint64_t[]){5, 8}, &found));
    kept_list_drop(&list);
    kept_list_drop(&list);
    ck_assert(!kept_list_find(&list, (const uint64_t[]){6, 7}, &found));
    kept_list_close(&list);
}
END_TEST

START_TEST(kept_list_gives_older_inputs_of_a_decision_newest_first)
{
    uint64_t out[8];
    opened(8);
    for (uint64_t i = 1; i <= 6; i++)
        add(i, i, i % 2 ? DECISION_REVIEW : DECISION_UNKNOWN);
    ck_assert_uint_eq(kept_list_before(&list, UINT64_MAX, DECISION_COUNT, NULL, out, 8), 6);
    ck_assert(out[0] == 6 && out[5] == 1);
    ck_assert_uint_eq(kept_list_before(&list, 5, DECISION_REVIEW, NULL, out, 8), 2);
    ck_assert(out[0] == 3 && out[1] == 1);
    ck_assert_uint_eq(kept_list_before(&list, 5, DECISION_REVIEW, NULL, out, 1), 1);
    ck_assert_uint_eq(out[0], 3);
    ck_assert_uint_eq(kept_list_before(&list, 7, DECISION_AUTO, NULL, out, 8), 0);
    kept_list_close(&list);
}
END_TEST

START_TEST(a_walk_goes_on_behind_a_number_also_one_that_is_gone)
{
    struct kept_entry out[4];
    opened(4);
    for (uint64_t i = 1; i <= 6; i++) {
        if (list.count == list.room)
            kept_list_drop(&list);
        add(10 * i, i, DECISION_AUTO);
    }
    ck_assert_uint_eq(kept_list_after(&list, 0, out, 3), 3);
    ck_assert(out[0].number == 30 && out[2].number == 50);
    ck_assert_uint_eq(kept_list_after(&list, 45, out, 4), 2);
    ck_assert(out[0].number == 50 && out[1].number == 60);
    ck_assert_uint_eq(kept_list_after(&list, 60, out, 4), 0);
    kept_list_close(&list);
}
END_TEST

SUITE("review/kept_list", the_oldest_is_dropped_first_also_around_the_end,
      the_newest_of_a_key_is_found, kept_list_gives_older_inputs_of_a_decision_newest_first,
      a_walk_goes_on_behind_a_number_also_one_that_is_gone)
