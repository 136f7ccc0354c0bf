/* The window of predictions, against a list that is searched from its end. */
#include "engine/base/rng.h"
#include "server/feedback/siphash.h"
#include "server/feedback/window.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct window window;
static struct err err;

static void opened(unsigned size)
{
    err = (struct err){0};
    ck_assert_msg(window_open(&window, size, &err) == ERR_OK, "%s", err.text);
}

static struct window_entry entry_of(const char *id, unsigned index, unsigned predicted)
{
    struct window_entry entry = {.predicted = predicted, .label = WINDOW_NO_LABEL};
    window_key(&window, id, index, entry.key);
    return entry;
}

static void put(const char *id, unsigned index, unsigned predicted)
{
    const struct window_entry entry = entry_of(id, index, predicted);
    window_put(&window, &entry);
}

/* The predicted label; -1: it is not remembered. */
static int found(const char *id, unsigned index)
{
    const struct window_entry probe = entry_of(id, index, 0);
    const struct window_entry *entry = window_find(&window, probe.key);
    return entry != NULL ? (int)entry->predicted : -1;
}

static bool put_old(const char *id, uint64_t number, unsigned predicted)
{
    struct window_entry entry = entry_of(id, 0, predicted);
    entry.number = number;
    return window_put_old(&window, &entry);
}

/* The vectors of its authors, for the key 00 01 .. 0f and the texts "" and 00. */
START_TEST(siphash_gives_its_authors_numbers)
{
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    static const unsigned char wanted[2][16] = {{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                                 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
                                                {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                                 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}};
    for (unsigned len = 0; len < 2; len++) {
        uint64_t hash[2];
        unsigned char bytes[16];
        siphash(key, "", len, hash);
        for (unsigned i = 0; i < 16; i++)
            bytes[i] = (unsigned char)(hash[i / 8] >> (8 * (i % 8)));
        ck_assert_mem_eq(bytes, wanted[len], 16);
    }
}
END_TEST

START_TEST(an_id_is_found_with_its_index_only)
{
    opened(8);
    put("die-7", 0, 1);
    put("die-7", 3, 2);
    ck_assert_int_eq(found("die-7", 0), 1);
    ck_assert_int_eq(found("die-7", 3), 2);
    ck_assert_int_eq(found("die-7", 1), -1);
    ck_assert_int_eq(found("die-8", 0), -1);
    ck_assert_int_eq(found("", 0), -1);
    window_close(&window);
}
END_TEST

START_TEST(window_finds_the_latest_of_equal_ids)
{
    opened(3);
    put("a", 0, 1);
    put("a", 0, 2);
    put("b", 0, 3);
    ck_assert_int_eq(found("a", 0), 2);
    put("c", 0, 4); /* the first "a" leaves, which is not the one that is found */
    ck_assert_int_eq(found("a", 0), 2);
    put("d", 0, 5); /* and now the second */
    ck_assert_int_eq(found("a", 0), -1);
    ck_assert_int_eq(found("b", 0), 3);
    window_close(&window);
}
END_TEST

START_TEST(the_oldest_is_forgotten_first_around_the_ring_many_times)
{
    enum { SIZE = 7 };
    char id[16];
    opened(SIZE);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%d", i);
        put(id, 0, (unsigned)i);
        for (int j = 0; j <= i; j++) {
            snprintf(id, sizeof id, "%d", j);
            ck_assert_int_eq(found(id, 0), j > i - SIZE ? j : -1);
        }
    }
    window_close(&window);
}
END_TEST

START_TEST(window_of_size_zero_is_empty_and_of_size_one_has_the_last)
{
    opened(0);
    put("a", 0, 1);
    ck_assert_int_eq(found("a", 0), -1);
    window_close(&window);
    opened(1);
    put("a", 0, 1);
    put("b", 0, 2);
    ck_assert_int_eq(found("a", 0), -1);
    ck_assert_int_eq(found("b", 0), 2);
    window_close(&window);
}
END_TEST

/* Keys that all begin their walk at one of two places next to the end of the table. */
START_TEST(window_distinguishes_keys_that_collide)
{
    enum { SIZE = 32, ROUNDS = 20000, KEYS = 48 };
    uint64_t last[KEYS] = {0}; /* when it was put; 0: never */
    struct rng rng = rng_for(7, 1, 0);
    opened(SIZE);
    for (uint64_t now = 1; now <= ROUNDS; now++) {
        unsigned which = rng_below(&rng, KEYS), asked = rng_below(&rng, KEYS);
        struct window_entry entry = {.key = {window.mask - which % 2, which}, .predicted = which};
        window_put(&window, &entry);
        last[which] = now;
        const uint64_t key[2] = {window.mask - asked % 2, asked};
        const struct window_entry *kept = window_find(&window, key);
        bool is_kept = last[asked] != 0 && last[asked] + SIZE > now;
        ck_assert_msg((kept != NULL) == is_kept, "key %u at %llu", asked, (unsigned long long)now);
        ck_assert(kept == NULL || (kept->predicted == asked && kept->number == SIZE + last[asked]));
    }
    window_close(&window);
}
END_TEST

START_TEST(random_ids_are_found_as_in_a_list)
{
    enum { SIZE = 100, ROUNDS = 50000, IDS = 150 };
    static unsigned ids[ROUNDS];
    struct rng rng = rng_for(11, 1, 0);
    char id[16];
    opened(SIZE);
    for (int now = 0; now < ROUNDS; now++) {
        ids[now] = rng_below(&rng, IDS);
        snprintf(id, sizeof id, "id-%u", ids[now]);
        put(id, ids[now] % 3, (unsigned)now);
        unsigned asked = rng_below(&rng, IDS);
        int wanted = -1;
        for (int at = now; at >= 0 && at > now - SIZE && wanted < 0; at--)
            wanted = ids[at] == asked ? at : -1;
        snprintf(id, sizeof id, "id-%u", asked);
        ck_assert_int_eq(found(id, asked % 3), wanted);
    }
    window_close(&window);
}
END_TEST

/* ---- what was before the start ---- */

START_TEST(the_past_is_found_beside_what_came_meanwhile)
{
    opened(4);
    put("new", 0, 10);
    ck_assert(!put_old("old-1", 1, 1)); /* its place is taken by the new one */
    ck_assert(put_old("old-2", 2, 2));
    ck_assert(put_old("old-3", 3, 3));
    ck_assert(put_old("old-4", 4, 4));
    ck_assert_int_eq(found("old-1", 0), -1);
    ck_assert_int_eq(found("old-2", 0), 2);
    ck_assert_int_eq(found("old-4", 0), 4);
    ck_assert_int_eq(found("new", 0), 10);
    put("newer", 0, 11);
    ck_assert_int_eq(found("old-2", 0), -1);
    ck_assert_int_eq(found("old-3", 0), 3);
    const struct window_entry probe = entry_of("old-3", 0, 0), other = entry_of("new", 0, 0);
    ck_assert(window_is_old(&window, window_find(&window, probe.key)));
    ck_assert(!window_is_old(&window, window_find(&window, other.key)));
    window_close(&window);
}
END_TEST

START_TEST(the_past_never_hides_a_newer_prediction_with_its_id)
{
    opened(4);
    put("a", 0, 10);
    ck_assert(!put_old("a", 3, 3));
    ck_assert_int_eq(found("a", 0), 10);
    ck_assert(put_old("b", 2, 2));
    ck_assert(put_old("b", 4, 4));
    ck_assert_int_eq(found("b", 0), 4);
    ck_assert(!put_old("c", 0, 5)); /* there is no such number */
    window_close(&window);
}
END_TEST

START_TEST(window_bytes_are_the_memory_that_it_takes)
{
    ck_assert_uint_eq(sizeof(struct window_entry), 56);
    ck_assert_uint_eq(window_bytes(100000), 100000 * 56 + 262144 * 4);
    ck_assert_uint_ge(window_bytes(1), 56 + 8);
}
END_TEST

SUITE("window", siphash_gives_its_authors_numbers, an_id_is_found_with_its_index_only,
      window_finds_the_latest_of_equal_ids,
      the_oldest_is_forgotten_first_around_the_ring_many_times,
      window_of_size_zero_is_empty_and_of_size_one_has_the_last,
      window_distinguishes_keys_that_collide, random_ids_are_found_as_in_a_list,
      the_past_is_found_beside_what_came_meanwhile,
      the_past_never_hides_a_newer_prediction_with_its_id,
      window_bytes_are_the_memory_that_it_takes)
