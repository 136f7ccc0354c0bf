#include "engine/base/utf8.h"
#include "engine/text/normalizer.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct normalizer_flags all = {true, true, true, true};
static const struct normalizer_flags cased = {.clean_text = true, .space_cjk = true};

/* The result as UTF-8, then a bar, then each character's source as a digit. */
static void check(struct normalizer_flags flags, const char *text, const char *expected)
{
    struct arena arena;
    struct err err = {0};
    struct normalizer normalizer;
    char out[256] = {0}, sources[64] = {0};
    size_t len = 0, count = 0;
    arena_init(&arena);
    normalizer_init(&normalizer, flags, text, strlen(text), 0, &arena);
    for (struct normalized next; normalizer_next(&normalizer, &next, &err);) {
        len += utf8_encode(next.character, out + len);
        sources[count++] = (char)('0' + next.source);
    }
    ck_assert_int_eq(err.code, ERR_OK);
    out[len++] = '|';
    memcpy(out + len, sources, count);
    ck_assert_str_eq(out, expected);
    arena_deinit(&arena);
}

START_TEST(normalizer_cleans)
{
    check(cased,
          "a\tb\nc\rd\xC2\xA0"
          "e",
          "a b c d e|012345678");
    check(cased,
          "a\x01\xC2\xAD\xEF\xBF\xBD\x7F\xE2\x80\x8B"
          "b",
          "ab|06");
    check((struct normalizer_flags){0}, "a\tB\x01", "a\tB\x01|0123");
}
END_TEST

START_TEST(normalizer_spaces_ideographs)
{
    check(cased,
          "a\xE4\xB8\xAD"
          "b",
          "a \xE4\xB8\xAD b|01112");
    check((struct normalizer_flags){.clean_text = true}, "a\xE4\xB8\xAD", "a\xE4\xB8\xAD|01");
    check(all, "\xEF\xA4\x80", " \xE8\xB1\x88 |000"); /* U+F900 decomposes */
}
END_TEST

START_TEST(normalizer_strips_accents_and_lower_cases)
{
    check(all, "H\xC3\x89llo\xCC\x81", "hello|01234");
    check(cased, "H\xC3\x89", "H\xC3\x89|01");
    check((struct normalizer_flags){.lower_case = true},
          "\xC3\x89\xC4\xB0"
          "A",
          "\xC3\xA9i\xCC\x87"
          "a|0112");
    check((struct normalizer_flags){.strip_accents = true}, "\xC3\x89\xC4\xB0", "EI|01");
}
END_TEST

/* U+302E (class 224, survives), U+0316 (220, a mark), acute (230, a mark, second half of U+00E9).
 * Sorted: e 0316 302E acute; the firsts e, 0316, 302E take the sources in order. */
START_TEST(normalizer_reorders_and_counts_sources_as_the_reference)
{
    check(all,
          "\xC3\xA9\xE3\x80\xAE\xCC\x96"
          "x",
          "e\xE3\x80\xAEx|023");
    check(all, "\xE3\x80\xAE\xCC\x96", "\xE3\x80\xAE|1");
    check(all, "\xE3\x80\xAE\x01\xCC\x96", "\xE3\x80\xAE|2"); /* a removed character between */
}
END_TEST

/* ---- the oracle: whole-text passes over arrays ---- */

struct letter {
    uint32_t character, source;
    bool first;
};

static size_t oracle(const uint32_t *text, size_t len, struct letter *out)
{
    size_t count = 0, run = 0, source = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t parts[UNICODE_DECOMPOSITION_MAX];
        unsigned n = unicode_decompose(text[i], parts);
        for (unsigned k = 0; k < n; k++) {
            out[count] = (struct letter){parts[k], 0, k == 0};
            unsigned class = unicode_properties(parts[k])->combining_class;
            run = class == 0 ? count + 1 : run;
            for (size_t at = count++; at > run; at--) {
                if (unicode_properties(out[at - 1].character)->combining_class <= class)
                    break;
                struct letter swap = out[at];
                out[at] = out[at - 1];
                out[at - 1] = swap;
            }
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        source += out[i].first;
        if (unicode_properties(out[i].character)->flags & UNICODE_MARK)
            continue;
        out[kept++] = (struct letter){out[i].character, (uint32_t)source - 1, true};
    }
    return kept;
}

START_TEST(normalizer_agrees_with_whole_text_passes_on_random_runs)
{
    static const uint32_t from[] = {
        'a',   0xE9,  0x301,   0x316,  0x302E, 0x302F, 0x1D165, 0x1D15F, 0x1ED8, 0x16FF0, 0x8D4,
        0x344, 0xF81, 0x1133C, 0x1B44, 0xAC01, 0x345,  0x1D16D, 0x9FE,   0x0F75, 0x0CC0,  0x929};
    unsigned long long state = 3;
    for (int round = 0; round < 5000; round++) {
        uint32_t text[40];
        char bytes[4 * 40];
        struct letter expected[4 * 40];
        size_t len = 0, count = fixture_random(&state, 40);
        for (size_t i = 0; i < count; i++) {
            text[i] = from[fixture_random(&state, sizeof from / sizeof from[0])];
            len += utf8_encode(text[i], bytes + len);
        }
        size_t kept = oracle(text, count, expected), at = 0;
        struct arena arena;
        struct err err = {0};
        struct normalizer normalizer;
        struct normalized next;
        arena_init(&arena);
        normalizer_init(&normalizer, (struct normalizer_flags){.strip_accents = true}, bytes, len,
                        0, &arena);
        for (; normalizer_next(&normalizer, &next, &err); at++) {
            if (at >= kept || next.character != expected[at].character ||
                next.source != expected[at].source)
                ck_abort_msg("round %d, character %zu", round, at);
        }
        ck_assert_msg(at == kept, "round %d", round);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(normalizer_needs_no_memory_for_marks_and_little_for_survivors)
{
    enum { COUNT = 1000000 };
    char *text = malloc(3 * COUNT);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + 2 * i, i % 2 != 0 ? "\xCC\x81" : "\xCC\x96", 2);
    struct arena arena;
    struct err err = {0};
    struct normalizer normalizer;
    struct normalized next;
    arena_init(&arena);
    normalizer_init(&normalizer, all, text, 2 * COUNT, 0, &arena);
    ck_assert(!normalizer_next(&normalizer, &next, &err));
    ck_assert_uint_eq(arena.bytes, 0);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + 3 * i, i % 2 != 0 ? "\xE3\x80\xAE" : "\xE3\x80\xAF", 3);
    normalizer_init(&normalizer, all, text, 3 * COUNT, 0, &arena);
    size_t count = 0;
    while (normalizer_next(&normalizer, &next, &err))
        count++;
    ck_assert_uint_eq(count, COUNT);
    ck_assert_uint_le(arena.bytes, 8 * COUNT + ARENA_ALIGNMENT);
    arena_deinit(&arena);
    free(text);
}
END_TEST

/* A thousand runs of one survivor take its room once, runs of twice as many twice and no more. */
START_TEST(normalizer_uses_the_room_of_a_run_again)
{
    enum { RUNS = 1000 };
    char text[RUNS * 4 + 1] = "";
    struct arena arena;
    struct err err = {0};
    struct normalizer normalizer;
    struct normalized next;
    size_t count = 0;
    for (size_t i = 0; i < RUNS; i++)
        memcpy(text + 4 * i, "a\xE3\x80\xAE", 4);
    arena_init(&arena);
    normalizer_init(&normalizer, all, text, 4 * RUNS, 7, &arena);
    while (normalizer_next(&normalizer, &next, &err)) {
        ck_assert_uint_eq(next.source, 7 + count);
        ck_assert_uint_eq(next.character, count % 2 == 0 ? 'a' : 0x302E);
        count++;
    }
    ck_assert_uint_eq(count, 2 * RUNS);
    ck_assert_uint_eq(arena.bytes, ARENA_ALIGNMENT);
    arena_deinit(&arena);
}
END_TEST

START_TEST(normalizer_keeps_ascii_but_for_its_controls_and_capitals)
{
    for (unsigned char c = 1; c < 128; c++) {
        const char text[] = {(char)c, '\0'};
        char expected[8];
        bool control = (c < 32 && c != '\t' && c != '\n' && c != '\r') || c == 127;
        int blank = c < 32 ? ' ' : c;
        snprintf(expected, sizeof expected, control ? "|" : "%c|0", blank);
        check(cased, text, expected);
        snprintf(expected, sizeof expected, control ? "|" : "%c|0",
                 c >= 'A' && c <= 'Z' ? c + 32 : blank);
        check(all, text, expected);
        snprintf(expected, sizeof expected, "%c|0", c);
        check((struct normalizer_flags){0}, text, expected);
    }
}
END_TEST

SUITE("normalizer", normalizer_cleans, normalizer_spaces_ideographs,
      normalizer_strips_accents_and_lower_cases,
      normalizer_reorders_and_counts_sources_as_the_reference,
      normalizer_agrees_with_whole_text_passes_on_random_runs,
      normalizer_needs_no_memory_for_marks_and_little_for_survivors,
      normalizer_uses_the_room_of_a_run_again,
      normalizer_keeps_ascii_but_for_its_controls_and_capitals)
