/* Texts as Hugging Face tokenizers 0.22.2 normalises them by the rules of nmt_nfkc that stand
 * below, and tables that were not written by SentencePiece. */
#include "engine/text/precompiled.h"

#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/aligned_fixture.h"
#include "tests/unit/engine/text/charsmap_fixture.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

static const struct charsmap_rule rules[] = {
    /* clang-format off */
    {"\xEF\xBC\xA1", "A"}, {"\xEF\xBC\x91", "1"}, {"\xEF\xBC\x92", "2"}, {"\r", " "}, {"\n", " "},
    {"\t", " "}, {"\x01", ""}, {"\x02", ""}, {"\x1E", ""}, {"\xE2\x84\xA2", "TM"},
    {"\xEF\xB7\xBA", "\xD8\xB5\xD9\x84\xD9\x89 \xD8\xA7\xD9\x84\xD9\x84\xD9\x87 \xD8\xB9\xD9"
     "\x84\xD9\x8A\xD9\x87 \xD9\x88\xD8\xB3\xD9\x84\xD9\x85"}, {"\xEF\xBD\xB6", "\xE3\x82"
     "\xAB"}, {"\xEF\xBE\x9E", "\xE3\x82\x99"},
    {"e\xCC\x81", "\xC3\xA9"}, {"\xE2\x91\xA0", "1"}, {"\xE2\x91\xA1", "2"},
    {"\xEF\xAC\x81", "fi"},
    /* clang-format on */
};

static const struct {
    const char *text, *expected, *extents;
} cases[] = {
    /* clang-format off */
    {"\xEF\xBC\xA1\xCC\x81""b", "Ab", "0-1 2-3"},
    {"\x0D\x0Ax", " x", "0-1 2-3"},
    {"\xE2\x84\xA2\x1Eg", "TMg", "0-1 1-2 2-3"},
    {"\x01""abc", "abc", "0-1 1-2 2-3"},
    {"a\x01\x02""b", "ab", "0-1 3-4"},
    {"\xEF\xB7\xBA", "\xD8\xB5\xD9\x84\xD9\x89 \xD8\xA7\xD9\x84\xD9\x84\xD9\x87 \xD8\xB9\xD9"
     "\x84\xD9\x8A\xD9\x87 \xD9\x88\xD8\xB3\xD9\x84\xD9\x85", "0-1 0-1 0-1 0-1 0-1 0-1 0-1"
     " 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1"},
    {"\xEF\xBD\xB6\xEF\xBE\x9E", "\xE3\x82\xAB\xE3\x82\x99", "0-1 1-2"},
    {"e\xCC\x81", "\xC3\xA9", "0-1"},
    {"\xE2\x91\xA0\xE2\x91\xA1", "12", "0-1 1-2"},
    {"a\xCC\x80\xCC\x81\xCC\x82""b", "a\xCC\x80\xCC\x81\xCC\x82""b", "0-1 1-2 2-3 3-4 4-5"},
    {"x\x09y", "x y", "0-1 1-2 2-3"},
    {"\xE1\x84\x80\xE1\x85\xA1", "\xE1\x84\x80\xE1\x85\xA1", "0-1 1-2"},
    {"\x01", "", ""},
    {"\xEF\xAC\x81\x01\xC3\xA9", "fi\xC3\xA9", "0-1 1-2 2-3"},
    {"\xEF\xBC\x91\xEF\xBC\x92", "12", "0-1 1-2"},
    /* clang-format on */
};

static struct arena arena;

static struct precompiled *read_rules(const struct charsmap_rule *some, size_t count)
{
    size_t len;
    struct err err = {0};
    struct precompiled *table;
    struct charsmap *map = charsmap_make(some, count, &arena);
    char *bytes = charsmap_bytes(map, CHARSMAP_UNITS, &len, &arena);
    char *text = charsmap_base64(bytes, len, &arena);
    ck_assert_msg(!precompiled_read(&table, text, strlen(text), &arena, &err), "%s", err.text);
    return table;
}

static struct precompiled *read_usual(void)
{
    return read_rules(rules, sizeof rules / sizeof rules[0]);
}

static struct aligned apply(const struct precompiled *table, const char *text, size_t len)
{
    struct err err = {0};
    struct aligned in = aligned_fixture(text, len, &arena), out;
    ck_assert_msg(!precompiled_apply(table, &in, &out, &arena, NULL, &err), "%s", err.text);
    return out;
}

START_TEST(precompiled_gives_what_the_reference_gives)
{
    arena_init(&arena);
    struct precompiled *table = read_usual();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct aligned out = apply(table, cases[i].text, strlen(cases[i].text));
        aligned_fixture_check(&out, cases[i].expected, cases[i].extents, &arena);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_takes_the_shortest_entry_for_the_whole_cluster)
{
    static const struct charsmap_rule some[] = {
        {"a", "S"}, {"a\xCC\x81", "L"}, {"b\xCC\x81", "B"}, {"\xCC\x82", "^"}};
    arena_init(&arena);
    struct precompiled *table = read_rules(some, 4);
    struct aligned out =
        apply(table, "a\xCC\x81|b\xCC\x81|b\xCC\x82|b\xCC\x82\xCC\x82\xCC\x82", 19);
    aligned_fixture_check(&out, "S|B|b^|b^^^", "0-1 2-3 3-4 5-6 6-7 7-8 8-9 9-10 10-11 11-12 12-13",
                          &arena);
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_keeps_what_no_rule_changes_without_copying)
{
    arena_init(&arena);
    struct precompiled *table = read_usual();
    struct err err = {0};
    struct aligned in = aligned_fixture("plain \xC3\xA4 text", 13, &arena), out, empty = {0};
    ck_assert(!precompiled_apply(table, &in, &out, &arena, NULL, &err));
    ck_assert_ptr_eq(out.bytes, in.bytes);
    ck_assert(!precompiled_apply(table, &empty, &out, &arena, NULL, &err));
    ck_assert_uint_eq(out.len, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_stops_a_key_at_a_nul)
{
    arena_init(&arena);
    struct aligned out = apply(read_usual(), "a\0\x01\0b", 5);
    ck_assert_uint_eq(out.len, 4);
    ck_assert_mem_eq(out.bytes, "a\0\0b", 4);
    ck_assert_str_eq(aligned_fixture_extents(&out, &arena), "0-1 1-2 3-4 4-5");
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_knows_how_much_a_text_can_grow)
{
    static const struct charsmap_rule some[] = {{"a", "1234"}, {"\xC3\xA9", "12345"}};
    arena_init(&arena);
    struct precompiled_growth growth = precompiled_growth(read_rules(some, 2));
    ck_assert(growth.ascii == 4 && growth.other == 3);
    growth = precompiled_growth(read_usual());
    ck_assert(growth.ascii == 1 && growth.other == 11);
    arena_deinit(&arena);
}
END_TEST

/* The text is read with and without plain stretches: a cluster at a time, each alone. */
START_TEST(precompiled_of_parts_is_the_part_of_the_whole)
{
    static const char *const parts[] = {"a",    "b",           " ", "\x01", "\xEF\xBC\xA1",
                                        "\r\n", "\xE4\xB8\xAD"};
    unsigned long long seed = 1;
    arena_init(&arena);
    struct precompiled *table = read_usual();
    for (int i = 0; i < 3000; i++) {
        char text[64] = "", expected[64] = "";
        for (unsigned k = fixture_random(&seed, 12); k > 0; k--) {
            const char *part = parts[fixture_random(&seed, sizeof parts / sizeof parts[0])];
            strcat(text, part);
            struct aligned one = apply(table, part, strlen(part));
            if (one.len > 0)
                strncat(expected, one.bytes, one.len);
        }
        struct aligned out = apply(table, text, strlen(text));
        ck_assert_uint_eq(out.len, strlen(expected));
        if (out.len > 0)
            ck_assert_mem_eq(out.bytes, expected, out.len);
    }
    arena_deinit(&arena);
}
END_TEST

/* ---- tables of other hands ---- */

static void refuse(const char *text, enum err_code code, const char *says)
{
    struct err err = {0};
    struct precompiled *table;
    ck_assert_int_eq(precompiled_read(&table, text, strlen(text), &arena, &err), code);
    ck_assert_ptr_null(table);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "precompiled_charsmap: "));
}

static void refuse_map(const struct charsmap *map, size_t units, enum err_code code,
                       const char *says)
{
    size_t len;
    char *bytes = charsmap_bytes(map, units, &len, &arena);
    refuse(charsmap_base64(bytes, len, &arena), code, says);
}

START_TEST(precompiled_refuses_what_is_cut_short)
{
    arena_init(&arena);
    refuse("", ERR_UNUSABLE, "a trie of 0 bytes in 0");
    refuse("AAA", ERR_UNUSABLE, "not a multiple of 4");
    refuse("AAAA", ERR_UNUSABLE, "a trie of 0 bytes in 3");
    refuse("AAAAAA==", ERR_UNUSABLE, "a trie of 0 bytes in 4");
    refuse("/////wAAAAA=", ERR_UNUSABLE, "a trie of 4294967295 bytes in 8");
    refuse("AwAAAAAAAAA=", ERR_UNUSABLE, "a trie of 3 bytes in 8");
    refuse("BQAAAAAAAAA=", ERR_UNUSABLE, "a trie of 5 bytes in 8");
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_refuses_leaves_that_point_outside)
{
    static const struct charsmap_rule some[] = {{"a", "\xC3\xA9"}};
    arena_init(&arena);
    struct charsmap *map = charsmap_make(some, 1, &arena);
    size_t leaf = 512;
    map->units[leaf] = 1u << 31 | 4; /* behind the NUL: nothing, but not outside */
    size_t len;
    struct err err = {0};
    struct precompiled *table;
    char *bytes = charsmap_bytes(map, CHARSMAP_UNITS, &len, &arena);
    map->strings_len = 4;
    map->strings[3] = 'x';
    bytes = charsmap_bytes(map, CHARSMAP_UNITS, &len, &arena);
    char *text = charsmap_base64(bytes, len, &arena);
    ck_assert(!precompiled_read(&table, text, strlen(text), &arena, &err));
    ck_assert_uint_eq(apply(table, "a", 1).len, 0);
    map->units[leaf] = 1u << 31 | 5;
    refuse_map(map, CHARSMAP_UNITS, ERR_UNUSABLE, "no replacement begins at byte 5 of 4");
    map->units[leaf] = 0x7FFFFFFF;
    refuse_map(map, CHARSMAP_UNITS, ERR_UNUSABLE, "no replacement begins at byte 2147483647 of 4");
    map->units[leaf] = 1u << 31 | 1;
    refuse_map(map, CHARSMAP_UNITS, ERR_UNUSABLE, "no replacement begins at byte 1 of 4");
    refuse_map(map, 512, ERR_UNUSABLE, "a leaf at unit 512 of 512");
    map->units[leaf] = 1u << 31;
    map->strings[0] = 'x';
    refuse_map(map, CHARSMAP_UNITS, ERR_UNUSABLE, "invalid UTF-8 at byte 1");
    arena_deinit(&arena);
}
END_TEST

/* A trie that ends between the children of a node still has some of them. */
START_TEST(precompiled_checks_children_whose_place_is_outside)
{
    arena_init(&arena);
    static const struct charsmap_rule some[] = {{"a", "x"}};
    struct charsmap *map = charsmap_make(some, 1, &arena);
    size_t a = 511 ^ 'a';
    map->units[0] = charsmap_unit(0, 511, false, 0);
    map->units[a] = charsmap_unit(a, 600, true, 'a');
    refuse_map(map, 500, ERR_UNUSABLE, "a leaf at unit 600 of 500");
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_reads_a_last_replacement_without_its_nul)
{
    static const struct charsmap_rule some[] = {{"a", "xyz"}};
    arena_init(&arena);
    size_t len;
    struct err err = {0};
    struct precompiled *table;
    char *bytes = charsmap_bytes(charsmap_make(some, 1, &arena), CHARSMAP_UNITS, &len, &arena);
    char *text = charsmap_base64(bytes, len - 1, &arena);
    ck_assert_msg(!precompiled_read(&table, text, strlen(text), &arena, &err), "%s", err.text);
    struct aligned out = apply(table, "a", 1);
    aligned_fixture_check(&out, "xyz", "0-1 0-1 0-1", &arena);
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_refuses_a_replacement_without_end)
{
    arena_init(&arena);
    size_t len, long_len = PRECOMPILED_REPLACEMENT_BYTES_MAX + 1;
    static const struct charsmap_rule some[] = {{"a", ""}};
    struct charsmap *map = charsmap_make(some, 1, &arena);
    char *bytes = charsmap_bytes(map, CHARSMAP_UNITS, &len, &arena);
    char *more = arena_alloc(&arena, len + long_len);
    memcpy(more, bytes, len - 1);
    memset(more + len - 1, 'x', long_len);
    refuse(charsmap_base64(more, len - 1 + long_len, &arena), ERR_UNSUPPORTED,
           "a replacement of 1025 bytes; supported are 1024");
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_survives_a_trie_that_leads_round_or_outside)
{
    arena_init(&arena);
    static const struct charsmap_rule some[] = {{"b", "x"}};
    struct charsmap *map = charsmap_make(some, 1, &arena);
    size_t a = 256 ^ 'a', c = 256 ^ 'c', len;
    map->units[a] = charsmap_unit(a, 256, false, 'a'); /* its children are its siblings */
    map->units[c] = 0x3FFFFFu << 10 | 1u << 9 | 'c';   /* its children are far away */
    struct err err = {0};
    struct precompiled *table;
    char *bytes = charsmap_bytes(map, CHARSMAP_UNITS, &len, &arena);
    char *text = charsmap_base64(bytes, len, &arena);
    ck_assert_msg(!precompiled_read(&table, text, strlen(text), &arena, &err), "%s", err.text);
    struct aligned out = apply(table, "aab\xCC\x81 c\xCC\x81", 9);
    aligned_fixture_check(&out, "aax c\xCC\x81", "0-1 1-2 2-3 4-5 5-6 6-7", &arena);
    arena_deinit(&arena);
}
END_TEST

START_TEST(precompiled_survives_random_tries)
{
    unsigned long long seed = 3;
    unsigned read = 0;
    for (int i = 0; i < 4000; i++) {
        arena_init(&arena);
        char bytes[4 + 4 * 256 + 8] = {0, 4};
        for (size_t k = 4; k < sizeof bytes - 8; k++)
            bytes[k] = (char)(fixture_random(&seed, 4) == 0 ? fixture_random(&seed, 256) : 0);
        for (size_t k = 0; k < 256; k++)
            bytes[4 + 4 * k] = (char)(fixture_random(&seed, 2) ? k ^ fixture_random(&seed, 3) : 0);
        char *text = charsmap_base64(bytes, sizeof bytes, &arena);
        struct err err = {0};
        struct precompiled *table;
        if (!precompiled_read(&table, text, strlen(text), &arena, &err)) {
            read++;
            struct precompiled_growth growth = precompiled_growth(table);
            struct aligned out = apply(table, "abc \x01\x02 xyz 0123456789 \xC3\xA9", 25);
            ck_assert_uint_le(out.len, 23 * growth.ascii + 2 * growth.other);
        }
        arena_deinit(&arena);
    }
    ck_assert_uint_gt(read, 100);
    ck_assert_uint_lt(read, 4000);
}
END_TEST

START_TEST(precompiled_ends_when_interrupted)
{
    enum { LEN = 1 << 15 };
    arena_init(&arena);
    struct precompiled *table = read_usual();
    char *text = arena_alloc(&arena, LEN);
    memset(text, '\t', LEN);
    struct aligned in = aligned_fixture(text, LEN, &arena), out;
    for (unsigned last = 1; last <= 8; last++) {
        struct look_counter counter;
        struct err err = {0};
        ck_assert_int_eq(
            precompiled_apply(table, &in, &out, &arena, look_counter_init(&counter, last), &err),
            ERR_DEADLINE);
        ck_assert_uint_eq(counter.looks, last);
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("precompiled", precompiled_gives_what_the_reference_gives,
      precompiled_takes_the_shortest_entry_for_the_whole_cluster,
      precompiled_keeps_what_no_rule_changes_without_copying, precompiled_stops_a_key_at_a_nul,
      precompiled_knows_how_much_a_text_can_grow, precompiled_of_parts_is_the_part_of_the_whole,
      precompiled_refuses_what_is_cut_short, precompiled_refuses_leaves_that_point_outside,
      precompiled_checks_children_whose_place_is_outside,
      precompiled_reads_a_last_replacement_without_its_nul,
      precompiled_refuses_a_replacement_without_end,
      precompiled_survives_a_trie_that_leads_round_or_outside, precompiled_survives_random_tries,
      precompiled_ends_when_interrupted)
