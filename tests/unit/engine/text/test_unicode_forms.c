/* Characters and extents of Hugging Face tokenizers 0.22.2, and what must hold of every text. */
#include "engine/text/unicode.h"

#include "engine/text/unicode.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/aligned_fixture.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

enum { CHARACTERS = 0x110000, TEXT_MAX = 40, MARKS = 1 << 20 };

static const struct {
    enum unicode_form form;
    const char *text, *expected, *extents;
} cases[] = {
    /* clang-format off */
    {UNICODE_NFC, "e\xCC\x81", "\xC3\xA9", "0-1"},
    {UNICODE_NFC, "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81", "0-1"},
    {UNICODE_NFC, "\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81", "0-1"},
    {UNICODE_NFC, "a\xCC\x81\xCC\xA3x", "\xE1\xBA\xA1\xCC\x81x", "0-1 2-3 3-4"},
    {UNICODE_NFC, "\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC", "0-1 0-1"},
    {UNICODE_NFC, "\xCC\x81""a", "\xCC\x81""a", "0-1 1-2"},
    {UNICODE_NFC, "q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87", "0-1 1-2 2-3"},
    {UNICODE_NFC, "a\xCC\xA7\xCC\x81\xCC\xA7", "\xC3\xA1\xCC\xA7\xCC\xA7", "0-1 2-3 3-4"},
    {UNICODE_NFC, "\xE2\x84\xAB\xCC\x81", "\xC7\xBA", "0-1"},
    {UNICODE_NFC, "\xE0\xAD\x87\xCC\x80\xE0\xAC\xBE", "\xE0\xAD\x87\xCC\x80\xE0\xAC\xBE",
     "0-1 1-2 2-3"},
    {UNICODE_NFC, "e\xCC\x81""f\xCC\x80", "\xC3\xA9""f\xCC\x80", "0-1 2-3 3-4"},
    {UNICODE_NFD, "\xC3\xA9", "e\xCC\x81", "0-1 0-1"},
    {UNICODE_NFD, "\xE1\xBB\x98x", "O\xCC\xA3\xCC\x82x", "0-1 0-1 0-1 1-2"},
    {UNICODE_NFD, "\xEA\xB0\x81", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "0-1 0-1 0-1"},
    {UNICODE_NFD, "q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87", "0-1 1-2 2-3"},
    {UNICODE_NFD, "\xCD\x84", "\xCC\x88\xCC\x81", "0-1 0-1"},
    {UNICODE_NFD, "\xE0\xBD\xB3\xCC\xA7", "\xE0\xBD\xB1\xE0\xBD\xB2\xCC\xA7", "0-1 0-1 1-2"},
    {UNICODE_NFD, "\xEF\xAC\x81", "\xEF\xAC\x81", "0-1"},
    {UNICODE_NFKC, "\xEF\xAC\x81x", "fix", "0-1 0-1 1-2"},
    {UNICODE_NFKC, "\xEF\xBD\xB6\xEF\xBE\x9E", "\xE3\x82\xAC", "0-1"},
    {UNICODE_NFKC, "\xE2\x91\xA0", "1", "0-1"},
    {UNICODE_NFKC, "\xEF\xB7\xBA", "\xD8\xB5\xD9\x84\xD9\x89 \xD8\xA7\xD9\x84\xD9\x84\xD9\x87"
     " \xD8\xB9\xD9\x84\xD9\x8A\xD9\x87 \xD9\x88\xD8\xB3\xD9\x84\xD9\x85", "0-1 0-1 0-1 0-1"
     " 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1"},
    {UNICODE_NFKC, "\xE3\x80\x80""a", " a", "0-1 1-2"},
    {UNICODE_NFKC, "\xC5\xBF\xCC\xA3\xCC\x87", "\xE1\xB9\xA9", "0-1"},
    {UNICODE_NFKC, "\xC7\x84", "D\xC5\xBD", "0-1 0-1"},
    {UNICODE_NFKD, "\xEF\xAC\x81", "fi", "0-1 0-1"},
    {UNICODE_NFKD, "\xC2\xBD", "1\xE2\x81\x84""2", "0-1 0-1 0-1"},
    {UNICODE_NFKD, "\xEF\xBE\x9E", "\xE3\x82\x99", "0-1"},
    {UNICODE_NFKD, "\xE1\xBA\x9B\xCC\xA3", "s\xCC\xA3\xCC\x87", "0-1 1-2 1-2"},
    {UNICODE_NFKD, "\xEA\xB0\x81", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "0-1 0-1 0-1"},
    {UNICODE_NFKD, "\xE2\x80\xA6\xC3\xA9", "...e\xCC\x81", "0-1 0-1 0-1 1-2 1-2"},
    {UNICODE_NFKD, "\xE2\x91\xA0\xCC\x81", "1\xCC\x81", "0-1 1-2"},
    /* clang-format on */
};

static struct aligned apply(enum unicode_form form, const struct aligned *in, struct arena *arena)
{
    struct aligned out;
    struct err err = {0};
    ck_assert_msg(!unicode_forms_apply(form, in, &out, arena, NULL, &err), "%s", err.text);
    return out;
}

START_TEST(forms_give_what_the_reference_gives)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena;
        arena_init(&arena);
        struct aligned in = aligned_fixture(cases[i].text, strlen(cases[i].text), &arena);
        struct aligned out = apply(cases[i].form, &in, &arena);
        aligned_fixture_check(&out, cases[i].expected, cases[i].extents, &arena);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(forms_of_a_text_do_not_depend_on_what_is_plain_around_it)
{
    static const char before[] = "plain \xC3\xA9 ", after[] = " plain";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if ((unsigned char)cases[i].text[0] == 0xCC) /* a mark would be the space's */
            continue;
        struct arena arena;
        char text[256], expected[256];
        arena_init(&arena);
        snprintf(text, sizeof text, "%s%s%s", before, cases[i].text, after);
        struct aligned in = aligned_fixture(text, strlen(text), &arena);
        struct aligned head = aligned_fixture(before, strlen(before), &arena);
        struct aligned out = apply(cases[i].form, &in, &arena);
        struct aligned out_head = apply(cases[i].form, &head, &arena);
        snprintf(expected, sizeof expected, "%.*s%s%s", (int)out_head.len, out_head.bytes,
                 cases[i].expected, after);
        ck_assert_uint_eq(out.len, strlen(expected));
        ck_assert_mem_eq(out.bytes, expected, out.len);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(forms_keep_ascii_without_copying)
{
    struct arena arena;
    arena_init(&arena);
    struct aligned in = aligned_fixture("a log line", 10, &arena), empty = {0};
    for (int form = UNICODE_NFC; form <= UNICODE_NFKD; form++) {
        ck_assert_ptr_eq(apply((enum unicode_form)form, &in, &arena).bytes, in.bytes);
        ck_assert_uint_eq(apply((enum unicode_form)form, &empty, &arena).len, 0);
    }
    arena_deinit(&arena);
}
END_TEST

/* A text of characters that compose, decompose and are sorted. */
static size_t random_text(unsigned long long *seed, char *out)
{
    static const uint32_t first[] = {'a',  0x300,  0x316, 0x1100, 0x1161, 0x11A8, 0xAC00,
                                     0xC0, 0x1E00, 0x900, 0xFB00, 0x3099, 0x30A0, 0xFF60};
    size_t len = 0;
    for (unsigned count = fixture_random(seed, TEXT_MAX / 4); count > 0; count--) {
        uint32_t base = first[fixture_random(seed, sizeof first / sizeof first[0])];
        len += utf8_encode(base + fixture_random(seed, 24), out + len);
    }
    return len;
}

START_TEST(forms_are_stable_and_agree_with_each_other)
{
    unsigned long long seed = 1;
    for (int i = 0; i < 20000; i++) {
        struct arena arena;
        arena_init(&arena);
        char text[TEXT_MAX];
        struct aligned in = aligned_fixture(text, random_text(&seed, text), &arena);
        struct aligned c = apply(UNICODE_NFC, &in, &arena), d = apply(UNICODE_NFD, &in, &arena);
        struct aligned dc = apply(UNICODE_NFC, &d, &arena), cd = apply(UNICODE_NFD, &c, &arena);
        struct aligned cc = apply(UNICODE_NFC, &c, &arena), kd = apply(UNICODE_NFKD, &c, &arena);
        struct aligned kd_in = apply(UNICODE_NFKD, &in, &arena);
        struct aligned kc = apply(UNICODE_NFC, &kd, &arena);
        struct aligned kc_in = apply(UNICODE_NFKC, &in, &arena);
        const struct aligned *same[][2] = {
            {&dc, &c}, {&cc, &c}, {&cd, &d}, {&kd, &kd_in}, {&kc, &kc_in}};
        for (size_t k = 0; k < sizeof same / sizeof same[0]; k++)
            if (same[k][0]->len != same[k][1]->len ||
                (in.len > 0 && memcmp(same[k][0]->bytes, same[k][1]->bytes, same[k][0]->len) != 0))
                ck_abort_msg("text %d, pair %zu", i, k);
        arena_deinit(&arena);
    }
}
END_TEST

/* The definition, slowly: decompose, then exchange neighbours that are out of order. */
static size_t decompose_slowly(const struct aligned *in, uint32_t *out)
{
    size_t count = 0;
    for (size_t at = 0; at < in->len;)
        count += unicode_decompose(utf8_decode(in->bytes, &at), out + count);
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0; k--) {
            unsigned right = unicode_properties(out[k])->combining_class;
            if (right == 0 || unicode_properties(out[k - 1])->combining_class <= right)
                break;
            uint32_t swap = out[k];
            out[k] = out[k - 1];
            out[k - 1] = swap;
        }
    return count;
}

START_TEST(form_d_is_the_sorted_decomposition)
{
    unsigned long long seed = 2;
    for (int i = 0; i < 20000; i++) {
        struct arena arena;
        arena_init(&arena);
        char text[TEXT_MAX];
        uint32_t expected[TEXT_MAX * UNICODE_DECOMPOSITION_MAX];
        struct aligned in = aligned_fixture(text, random_text(&seed, text), &arena);
        struct aligned out = apply(UNICODE_NFD, &in, &arena);
        size_t count = decompose_slowly(&in, expected), at = 0;
        for (size_t k = 0; k < count; k++)
            if (at >= out.len || utf8_decode(out.bytes, &at) != expected[k])
                ck_abort_msg("text %d, character %zu", i, k);
        ck_assert_uint_eq(at, out.len);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(forms_of_every_character_stay_within_the_bounds)
{
    for (uint32_t c = 0x80; c < CHARACTERS; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        struct arena arena;
        arena_init(&arena);
        char text[UTF8_BYTES_MAX];
        struct aligned in = aligned_fixture(text, utf8_encode(c, text), &arena);
        for (int form = UNICODE_NFC; form <= UNICODE_NFKD; form++)
            if (apply((enum unicode_form)form, &in, &arena).len > in.len * UNICODE_FORMS_GROWTH_MAX)
                ck_abort_msg("U+%04X grows", c);
        arena_deinit(&arena);
    }
}
END_TEST

/* The marks come in each order: a sort that compares all with all would take hours. */
START_TEST(forms_take_a_megabyte_of_marks)
{
    static const uint32_t marks[] = {0x316, 0x301, 0x327, 0x344};
    char *text = malloc(2 * MARKS);
    ck_assert_ptr_nonnull(text);
    for (int form = UNICODE_NFC; form <= UNICODE_NFKD; form++) {
        struct arena arena;
        arena_init(&arena);
        for (size_t i = 0; i < MARKS; i++)
            utf8_encode(marks[i % 4], text + 2 * i);
        struct aligned in = aligned_fixture(text, 2 * MARKS, &arena);
        size_t before = arena.bytes;
        struct aligned out = apply((enum unicode_form)form, &in, &arena);
        ck_assert_uint_le(arena.bytes - before, 1024 + 48 * in.len + 36 * out.len);
        ck_assert_uint_eq(out.len, 2 * MARKS / 4 * 5);
        for (size_t at = 0, last = 0; at < out.len;) {
            size_t class = unicode_properties(utf8_decode(out.bytes, &at))->combining_class;
            ck_assert_uint_le(last, class);
            last = class;
        }
        arena_deinit(&arena);
    }
    free(text);
}
END_TEST

START_TEST(forms_end_when_interrupted)
{
    enum { LEN = 1 << 16 };
    char *text = malloc(LEN);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < LEN; i += 2)
        utf8_encode(0x301, text + i);
    for (unsigned last = 1; last <= 8; last++) {
        struct arena arena;
        struct look_counter counter;
        struct err err = {0};
        struct aligned out;
        arena_init(&arena);
        struct aligned in = aligned_fixture(text, LEN, &arena);
        ck_assert_int_eq(unicode_forms_apply(UNICODE_NFKC, &in, &out, &arena,
                                             look_counter_init(&counter, last), &err),
                         ERR_DEADLINE);
        ck_assert_uint_eq(counter.looks, last);
        arena_deinit(&arena);
    }
    free(text);
}
END_TEST

START_TEST(marks_are_those_of_version_9)
{
    ck_assert(unicode_forms_is_mark(0x301));
    ck_assert(unicode_forms_is_mark(0x903));  /* Mc */
    ck_assert(unicode_forms_is_mark(0x20DD)); /* Me */
    ck_assert(unicode_forms_is_mark(0x1CF2)); /* a letter since 12.0 */
    ck_assert(!unicode_forms_is_mark(0x8D3)); /* a mark since 11.0 */
    ck_assert(!unicode_forms_is_mark('a'));
    ck_assert(!unicode_forms_is_mark(0x5E)); /* a spacing accent */
    unsigned count = 0;
    for (uint32_t c = 0; c < CHARACTERS; c++)
        count += unicode_forms_is_mark(c);
    ck_assert_uint_eq(count, 2097);
}
END_TEST

SUITE("unicode_forms", forms_give_what_the_reference_gives,
      forms_of_a_text_do_not_depend_on_what_is_plain_around_it, forms_keep_ascii_without_copying,
      forms_are_stable_and_agree_with_each_other, form_d_is_the_sorted_decomposition,
      forms_of_every_character_stay_within_the_bounds, forms_take_a_megabyte_of_marks,
      forms_end_when_interrupted, marks_are_those_of_version_9)
