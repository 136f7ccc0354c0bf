/* A JSON tree as text, at every length around those of its pieces, against jansson's own. */
#include "tests/support/suite.h"
#include "wire/codec_dump.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static unsigned dumps;

int json_dump_callback(const json_t *json, json_dump_callback_t callback, void *data, size_t flags)
{
    union {
        void *found;
        int (*call)(const json_t *json, json_dump_callback_t callback, void *data, size_t flags);
    } real = {.found = dlsym(RTLD_NEXT, "json_dump_callback")};
    dumps++;
    return real.call(json, callback, data, flags);
}

/* An object whose compact text has so many bytes; at least 8. */
static json_t *object_of(size_t bytes)
{
    char *word = malloc(bytes);
    ck_assert_ptr_nonnull(word);
    memset(word, 'x', bytes - 8);
    word[bytes - 8] = '\0';
    json_t *object = json_pack("{s:s}", "a", word);
    ck_assert_ptr_nonnull(object);
    free(word);
    return object;
}

static void expect_text(size_t bytes, const char *tail)
{
    json_t *object = object_of(bytes);
    char *expected = json_dumps(object, JSON_COMPACT);
    struct arena arena;
    size_t len = 0;
    arena_init(&arena);
    dumps = 0;
    const char *text = codec_dump(object, tail, &arena, &len);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(dumps, 1);
    ck_assert_uint_eq(strlen(expected), bytes);
    ck_assert_uint_eq(len, bytes + strlen(tail));
    ck_assert_uint_eq(strlen(text), len);
    ck_assert_mem_eq(text, expected, bytes - 1);
    ck_assert_mem_eq(text + bytes - 1, tail, strlen(tail));
    ck_assert_int_eq(text[len - 1], '}');
    ck_assert_uint_le(arena.bytes, 2 * len + CODEC_DUMP_BYTES_BESIDE);
    arena_deinit(&arena);
    free(expected);
    json_decref(object);
}

START_TEST(a_text_of_any_length_is_dumped_once)
{
    static const size_t ends[] = {8, 2048, 2048 + 16384, 2048 + 2 * 16384, 300000};
    static const char *const tails[] = {"", ",\"b\":1"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t t = 0; t < 2; t++)
            for (size_t bytes = ends[i] > 20 ? ends[i] - 12 : 8; bytes < ends[i] + 12; bytes++)
                expect_text(bytes, tails[t]);
}
END_TEST

START_TEST(a_tail_may_be_longer_than_a_piece)
{
    char *tail = malloc(50001);
    ck_assert_ptr_nonnull(tail);
    memset(tail, ' ', 50000);
    tail[50000] = '\0';
    expect_text(100, tail);
    free(tail);
}
END_TEST

START_TEST(codec_dump_of_no_json_is_null)
{
    struct arena arena;
    size_t len;
    arena_init(&arena);
    ck_assert_ptr_null(codec_dump(NULL, "", &arena, &len));
    arena_deinit(&arena);
}
END_TEST

SUITE("codec_dump", a_text_of_any_length_is_dumped_once, a_tail_may_be_longer_than_a_piece,
      codec_dump_of_no_json_is_null)
