#include "server/cache/store.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LIFE_NS = 1000 };

static struct memory memory;
static struct store *store;
static struct err err;

static void opened(size_t bytes_max)
{
    err = (struct err){0};
    memory = (struct memory){.max_bytes = 1 << 30, .pool_bytes = 1 << 30};
    ck_assert_msg(store_open(&store, bytes_max, LIFE_NS, &memory, &err) == ERR_OK, "%s", err.text);
}

static void closed(void)
{
    store_close(store);
    ck_assert_uint_eq(memory_taken(&memory), 0);
}

static void make_key(const char *name, char key[SHA256_HEX_BYTES])
{
    struct sha256_pieces pieces;
    store_key_begin(store, &pieces);
    store_key_add(&pieces, name, strlen(name));
    sha256_pieces_end(&pieces, key);
}

static void put(const char *name, const char *value, uint64_t now_ns)
{
    char key[SHA256_HEX_BYTES];
    const struct store_part parts[] = {{value, strlen(value)}, {NULL, 0}, {"", 1}};
    make_key(name, key);
    store_keep(store, key, parts, 3, now_ns);
}

static const struct store_entry *get(const char *name, uint64_t now_ns)
{
    char key[SHA256_HEX_BYTES];
    make_key(name, key);
    return store_find(store, key, now_ns);
}

static bool has(const char *name, uint64_t now_ns)
{
    const struct store_entry *entry = get(name, now_ns);
    if (entry != NULL)
        store_release(store, entry);
    return entry != NULL;
}

START_TEST(store_keeps_parts_one_behind_the_other_under_a_key)
{
    opened(1 << 20);
    ck_assert(!has("a", 0));
    put("a", "one", 0);
    put("b", "two", 0);
    const struct store_entry *entry = get("a", 1);
    ck_assert_str_eq(entry->bytes, "one");
    ck_assert_uint_eq(entry->len, 4);
    put("a", "three", 2);
    ck_assert_str_eq(entry->bytes, "one"); /* it is held */
    store_release(store, entry);
    entry = get("a", 3);
    ck_assert_str_eq(entry->bytes, "three");
    store_release(store, entry);
    const struct store_figures figures = store_figures(store);
    ck_assert_uint_eq(figures.hits, 2);
    ck_assert_uint_eq(figures.misses, 1);
    ck_assert_uint_eq(figures.evictions, 0);
    closed();
}
END_TEST

START_TEST(store_forgets_an_entry_when_its_time_is_over)
{
    opened(1 << 20);
    put("a", "one", 0);
    put("b", "two", 500);
    ck_assert(has("a", LIFE_NS - 1));
    ck_assert(!has("a", LIFE_NS));
    ck_assert(has("b", LIFE_NS));
    ck_assert(!has("b", LIFE_NS + 500));
    ck_assert_uint_eq(store_figures(store).bytes, 0);
    ck_assert_uint_eq(memory_taken(&memory), 0);
    closed();
}
END_TEST

START_TEST(store_drops_the_oldest_for_want_of_room_and_never_exceeds_its_bound)
{
    enum { ROOM = 4096, ENTRIES = 500 };
    char name[16];
    opened(ROOM);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        put(name, "value", 0);
        ck_assert(has(name, 0));
        ck_assert_uint_le(store_figures(store).bytes, ROOM);
        ck_assert_uint_eq(memory_taken(&memory), store_figures(store).bytes);
    }
    ck_assert(!has("n0", 0));
    snprintf(name, sizeof name, "n%d", ENTRIES - 2);
    ck_assert(has(name, 0));
    ck_assert_uint_gt(store_figures(store).evictions, ENTRIES / 2);
    closed();
}
END_TEST

START_TEST(store_keeps_nothing_too_large_or_beyond_the_memory)
{
    char large[2048];
    opened(4096);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    put("large", large, 0);
    ck_assert(!has("large", 0));
    memory.pool_bytes = 64;
    put("small", "x", 0);
    ck_assert(!has("small", 0));
    memory.pool_bytes = 1 << 30;
    closed();
}
END_TEST

START_TEST(store_tells_lists_of_parts_apart)
{
    char one[SHA256_HEX_BYTES], other[SHA256_HEX_BYTES];
    struct sha256_pieces pieces;
    opened(4096);
    const struct store_part lists[][2] = {{{"ab", 2}, {"c", 1}},
                                          {{"a", 1}, {"bc", 2}},
                                          {{"abc", 3}, {"", 0}},
                                          {{"abc", 3}, {NULL, 0}}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            store_key_begin(store, &pieces);
            for (int k = 0; k < 2; k++)
                store_key_add(&pieces, lists[i][k].bytes, lists[i][k].len);
            sha256_pieces_end(&pieces, one);
            store_key_begin(store, &pieces);
            for (int k = 0; k < 2; k++)
                store_key_add(&pieces, lists[j][k].bytes, lists[j][k].len);
            sha256_pieces_end(&pieces, other);
            ck_assert_str_ne(one, other);
        }
    closed();
}
END_TEST

/* Each thread puts and gets the same names; what it gets is what some thread has put. */
static void *use(void *argument)
{
    char name[16], value[16];
    (void)argument;
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%d", i % 40);
        snprintf(value, sizeof value, "v%d", i % 40);
        put(name, value, (uint64_t)i);
        const struct store_entry *entry = get(name, (uint64_t)i);
        if (entry == NULL)
            continue;
        ck_assert_str_eq(entry->bytes, value);
        store_release(store, entry);
    }
    return NULL;
}

START_TEST(store_is_used_by_many_threads_at_once)
{
    pthread_t threads[4];
    opened(4096);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    closed();
}
END_TEST

SUITE("store", store_keeps_parts_one_behind_the_other_under_a_key,
      store_forgets_an_entry_when_its_time_is_over,
      store_drops_the_oldest_for_want_of_room_and_never_exceeds_its_bound,
      store_keeps_nothing_too_large_or_beyond_the_memory, store_tells_lists_of_parts_apart,
      store_is_used_by_many_threads_at_once)
