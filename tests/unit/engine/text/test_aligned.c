#include "tests/unit/engine/text/aligned_fixture.h"

static struct arena arena;

static void begin(struct aligned_builder *builder, struct aligned *from, const char *text)
{
    arena_init(&arena);
    *from = aligned_fixture(text, strlen(text), &arena);
    aligned_builder_init(builder, from, &arena);
}

START_TEST(aligned_text_counts_characters_from_the_first)
{
    struct aligned text;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!aligned_of_text(&text, "a\xC3\xA9z", 4, 7, &arena, &err));
    aligned_fixture_check(&text, "a\xC3\xA9z", "7-8 8-9 9-10", &arena);
    struct aligned part = aligned_part(&text, 1, 2), none = aligned_part(&text, 4, 0);
    aligned_fixture_check(&part, "\xC3\xA9", "8-9", &arena);
    ck_assert_uint_eq(none.len, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(aligned_text_of_nothing_is_empty)
{
    arena_init(&arena);
    struct aligned text = aligned_fixture("", 0, &arena), part = aligned_part(&text, 0, 0);
    ck_assert(text.len == 0 && part.len == 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(aligned_put_replaces_inserts_and_takes_away)
{
    struct aligned_builder builder;
    struct aligned from;
    struct err err = {0};
    begin(&builder, &from, "a\xC3\xA9zyx");
    ck_assert_uint_eq(aligned_peek(&builder), 'a');
    ck_assert(aligned_put(&builder, 0x1F600, 0, &err)); /* for a */
    ck_assert(aligned_put(&builder, 'i', 1, &err));     /* behind it */
    ck_assert_uint_eq(aligned_peek(&builder), 0xE9);
    ck_assert(aligned_put(&builder, 'e', -2, &err)); /* for three */
    ck_assert_uint_eq(aligned_peek(&builder), 'x');
    ck_assert(aligned_put(&builder, 'j', 1, &err)); /* behind the last of the three */
    ck_assert(aligned_keep(&builder, 1, &err));
    aligned_fixture_check(&builder.out,
                          "\xF0\x9F\x98\x80"
                          "iejx",
                          "0-1 0-1 1-2 3-4 4-5", &arena);
    arena_deinit(&arena);
}
END_TEST

START_TEST(aligned_builder_grows_and_drops)
{
    struct aligned_builder builder;
    struct aligned from;
    struct err err = {0};
    begin(&builder, &from, "abc");
    aligned_drop(&builder, 1);
    ck_assert(aligned_put(&builder, 'b', 0, &err));
    for (int i = 0; i < 1000; i++)
        ck_assert(aligned_put(&builder, '+', 1, &err));
    aligned_drop(&builder, 1);
    ck_assert_uint_eq(builder.out.len, 1001);
    for (size_t i = 0; i < builder.out.len; i++)
        ck_assert(builder.out.starts[i] == 1 && builder.out.ends[i] == 2);
    ck_assert(builder.out.bytes[0] == 'b' && builder.out.bytes[1000] == '+');
    arena_deinit(&arena);
}
END_TEST

START_TEST(aligned_builder_leaves_its_source_alone)
{
    struct aligned_builder builder;
    struct aligned from;
    struct err err = {0};
    begin(&builder, &from, "abc");
    while (builder.at < from.len)
        ck_assert(aligned_put(&builder, 'x', 0, &err));
    aligned_fixture_check(&from, "abc", "0-1 1-2 2-3", &arena);
    arena_deinit(&arena);
}
END_TEST

SUITE("aligned", aligned_text_counts_characters_from_the_first, aligned_text_of_nothing_is_empty,
      aligned_put_replaces_inserts_and_takes_away, aligned_builder_grows_and_drops,
      aligned_builder_leaves_its_source_alone)
