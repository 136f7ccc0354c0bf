/* A long text is left within a few thousand characters of any kind, whatever they cost. */
#include "engine/text/normalizer.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

enum { PIECES = 24, CHARACTERS = PIECES * NORMALIZER_LOOK_CHARACTERS };

static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n";

/* CHARACTERS times `unit`; yours to free. */
static char *repeated(const char *unit, size_t *len)
{
    size_t bytes = strlen(unit);
    char *text = malloc(CHARACTERS * bytes);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < CHARACTERS; i++)
        memcpy(text + i * bytes, unit, bytes);
    *len = CHARACTERS * bytes;
    return text;
}

/* Encodes until look `last`; the looks. */
static unsigned encode(const struct tokenizer *tokenizer, const char *text, size_t len,
                       unsigned last, struct err *err)
{
    struct arena arena;
    struct look_counter counter;
    struct encoding encoding;
    arena_init(&arena);
    tokenizer_encode(tokenizer, 512, text, len, look_counter_init(&counter, last), &arena,
                     &encoding, err);
    arena_deinit(&arena);
    return counter.looks;
}

/* A text of nothing but `unit`, which ends no word that would fill the limit: it is looked at in
 * each of its `passes`, and left at any look. */
static void check_text(const char *unit, unsigned passes)
{
    struct tokenizer *tokenizer = fixture_open(vocab, NULL, NULL);
    struct err err = {0};
    size_t len;
    char *text = repeated(unit, &len);
    unsigned looks = encode(tokenizer, text, len, 0, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_msg(looks >= passes * PIECES, "%u looks in %s", looks, unit);
    for (unsigned last = 1; last <= looks; last++) {
        err = (struct err){0};
        ck_assert_uint_eq(encode(tokenizer, text, len, last, &err), last);
        ck_assert_int_eq(err.code, ERR_DEADLINE);
        ck_assert_str_eq(err.text, "enough");
    }
    free(text);
    tokenizer_close(tokenizer);
}

/* The search for special tokens goes over the text as well. */
START_TEST(a_long_word_and_long_white_space_are_left_anywhere)
{
    check_text("a", 2);
    check_text(" ", 2);
}
END_TEST

START_TEST(wordpiece_stops_at_any_character_that_it_removes)
{
    check_text("\x01", 2);
    check_text("\xC2\xAD", 2); /* a soft hyphen */
}
END_TEST

/* U+0301 is a mark and removed, U+1D16D a musical stem that stays and is sorted: a first walk, then
 * counting, sorting and finding its sources. */
START_TEST(a_long_run_of_combining_characters_is_left_in_any_of_its_passes)
{
    check_text("\xCC\x81", 2);
    check_text("\xF0\x9D\x85\xAD", 4);
}
END_TEST

SUITE("wordpiece_interrupt", a_long_word_and_long_white_space_are_left_anywhere,
      wordpiece_stops_at_any_character_that_it_removes,
      a_long_run_of_combining_characters_is_left_in_any_of_its_passes)
