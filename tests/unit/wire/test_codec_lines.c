#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static struct predict_item read(const char *line)
{
    struct predict_item item;
    codec_parse_line(&item, line, strlen(line), NULL, &arena);
    return item;
}

static void expect_fault(const char *line, enum err_code code, const char *text)
{
    const struct predict_item item = read(line);
    ck_assert_int_eq(item.err.code, code);
    ck_assert_msg(strncmp(item.err.text, text, strlen(text)) == 0, "%s: %s", line, item.err.text);
}

START_TEST(line_is_an_element_of_inputs)
{
    arena_init(&arena);
    const struct predict_item item =
        read("{\"text\":\"scan\",\"text_pair\":\"chain\",\"id\":7,\"context\":{\"lot\":\"A1\"}}");
    ck_assert_int_eq(item.err.code, ERR_OK);
    ck_assert_int_eq(item.source.kind, ENGINE_TEXT);
    ck_assert_uint_eq(item.source.len, 4);
    ck_assert_str_eq(item.source.pair, "chain");
    ck_assert_str_eq(item.id, "7");
    ck_assert_str_eq(item.lot, "A1");
    ck_assert_int_eq(read("{\"image\":\"bm8=\"}").source.kind, ENGINE_IMAGE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(line_that_is_wrong_says_what_and_keeps_its_id)
{
    arena_init(&arena);
    ck_assert_str_eq(read("{\"text\":\"\",\"id\":\"x\"}").id, "x");
    expect_fault("", ERR_MALFORMED, "JSON ends too early");
    expect_fault("{\"text\":\"a\"}x", ERR_MALFORMED, "more bytes after the JSON value");
    expect_fault("7", ERR_UNUSABLE, "$: expected an object, found a number");
    expect_fault("{\"text\":\"\"}", ERR_UNUSABLE, "$.text: empty");
    expect_fault("{\"text\":\"a\",\"image\":\"\"}", ERR_UNUSABLE, "$: expected one of");
    expect_fault("{\"text\":\"a\",\"top_k\":2}", ERR_UNUSABLE,
                 "$.top_k: options are for all lines; put it into the query");
    expect_fault("{\"inputs\":[]}", ERR_UNUSABLE, "$.inputs: unknown member");
    expect_fault("{\"text\":\"a\",\"ids\":2}", ERR_UNUSABLE, "$.ids: unknown member");
    arena_deinit(&arena);
}
END_TEST

/* A line takes no more of the arena than its bound, whatever it is made of. */
START_TEST(line_keeps_no_more_than_its_bound)
{
    enum { LEN = 100000 };
    static const char *const units[] = {"a", "\\u00e9", "\\n", "\xC3\xA9"};
    char *line = malloc(LEN + 64);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (size_t len = 20; len < LEN; len *= 7) {
            size_t tree, at = (size_t)sprintf(line, "{\"text\":\"");
            while (at < len)
                at += (size_t)sprintf(line + at, "%s", units[u]);
            at += (size_t)sprintf(line + at, "\"}");
            struct predict_item item;
            arena_init(&arena);
            codec_parse_line(&item, line, at, NULL, &arena);
            ck_assert_int_eq(item.err.code, ERR_OK);
            ck_assert_uint_le(arena.bytes, codec_line_bytes(at, &tree));
            arena_deinit(&arena);
        }
    free(line);
}
END_TEST

SUITE("codec_lines", line_is_an_element_of_inputs, line_that_is_wrong_says_what_and_keeps_its_id,
      line_keeps_no_more_than_its_bound)
