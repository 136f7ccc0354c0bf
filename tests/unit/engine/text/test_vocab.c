#include "engine/text/vocab.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <string.h>

enum { PIECES = 2000 };

static int32_t longest(const struct vocab *vocab, const char *text, size_t *taken)
{
    *taken = 0;
    return vocab_longest(vocab, text, strlen(text), taken);
}

START_TEST(vocab_finds_the_longest_piece)
{
    static const char *const pieces[] = {"un", "u", "unwant", "ed", "want"};
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    size_t taken;
    arena_init(&arena);
    ck_assert(!vocab_init(&vocab, 5, &arena, &err));
    for (int32_t i = 0; i < 5; i++)
        ck_assert(!vocab_add(&vocab, pieces[i], strlen(pieces[i]), i, &err));
    ck_assert_int_eq(longest(&vocab, "unwanted", &taken), 2);
    ck_assert_uint_eq(taken, 6);
    ck_assert_int_eq(longest(&vocab, "unwan", &taken), 0);
    ck_assert_int_eq(longest(&vocab, "u", &taken), 1);
    ck_assert_int_eq(longest(&vocab, "running", &taken), VOCAB_NONE);
    ck_assert_int_eq(longest(&vocab, "", &taken), VOCAB_NONE);
    ck_assert_int_eq(vocab_find(&vocab, "want", 4), 4);
    ck_assert_int_eq(vocab_find(&vocab, "wan", 3), VOCAB_NONE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_a_piece_twice_has_its_last_id)
{
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    arena_init(&arena);
    ck_assert(!vocab_init(&vocab, 2, &arena, &err));
    ck_assert(!vocab_add(&vocab, "a", 1, 7, &err));
    ck_assert(!vocab_add(&vocab, "a", 1, 3, &err));
    ck_assert_int_eq(vocab_find(&vocab, "a", 1), 3);
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_agrees_with_a_search_through_all_pieces)
{
    static char text[PIECES][8];
    unsigned long long state = 1;
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    arena_init(&arena);
    ck_assert(!vocab_init(&vocab, PIECES, &arena, &err));
    for (int32_t i = 0; i < PIECES; i++) {
        size_t len = 1 + fixture_random(&state, 6);
        for (size_t k = 0; k < len; k++)
            text[i][k] = (char)('a' + fixture_random(&state, 4));
        ck_assert(!vocab_add(&vocab, text[i], len, i, &err));
    }
    for (int round = 0; round < 2000; round++) {
        char word[10] = {0};
        for (size_t k = 0; k < 9; k++)
            word[k] = (char)('a' + fixture_random(&state, 5));
        size_t taken, best = 0;
        int32_t expected = VOCAB_NONE;
        for (int32_t i = 0; i < PIECES; i++)
            if (strlen(text[i]) >= best && strncmp(word, text[i], strlen(text[i])) == 0) {
                best = strlen(text[i]);
                expected = i;
            }
        ck_assert_int_eq(longest(&vocab, word, &taken), expected);
        ck_assert_uint_eq(taken, best);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_refuses_what_is_too_long_or_too_much)
{
    static char text[VOCAB_PIECE_BYTES_MAX + 1];
    memset(text, 'x', sizeof text);
    struct arena arena;
    struct vocab vocab;
    arena_init(&arena);
    struct err err = {0};
    ck_assert_int_eq(vocab_init(&vocab, (size_t)1 << 40, &arena, &err), ERR_UNSUPPORTED);
    err = (struct err){0};
    ck_assert(!vocab_init(&vocab, 1, &arena, &err));
    ck_assert_int_eq(vocab_add(&vocab, text, sizeof text, 0, &err), ERR_UNSUPPORTED);
    err = (struct err){0};
    ck_assert(!vocab_add(&vocab, text, sizeof text - 1, 0, &err));
    size_t taken;
    ck_assert_int_eq(vocab_longest(&vocab, text, sizeof text, &taken), 0);
    ck_assert_uint_eq(taken, VOCAB_PIECE_BYTES_MAX);
    ck_assert_int_eq(vocab_add(&vocab, "y", 1, 0, &err), ERR_INTERNAL);
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_of_more_pieces_than_are_supported_is_refused)
{
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    arena_init(&arena);
    ck_assert_int_eq(vocab_init(&vocab, (1 << 24) + 1, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "16777217 pieces; at most 16777216 are supported");
    ck_assert_uint_eq(arena.bytes, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_takes_as_many_pieces_as_were_announced)
{
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    arena_init(&arena);
    ck_assert(!vocab_init(&vocab, 2, &arena, &err));
    ck_assert(!vocab_add(&vocab, "", 0, 9, &err)); /* no piece */
    ck_assert(!vocab_add(&vocab, "a", 1, 0, &err));
    ck_assert(!vocab_add(&vocab, "b", 1, 1, &err));
    ck_assert(!vocab_add(&vocab, "a", 1, 2, &err)); /* known already */
    ck_assert_int_eq(vocab_add(&vocab, "c", 1, 3, &err), ERR_INTERNAL);
    ck_assert_str_eq(err.text, "more pieces than announced");
    ck_assert_int_eq(vocab_find(&vocab, "a", 1), 2);
    ck_assert_int_eq(vocab_find(&vocab, "b", 1), 1);
    ck_assert_int_eq(vocab_find(&vocab, "c", 1), VOCAB_NONE);
    ck_assert_int_eq(vocab_find(&vocab, "", 0), VOCAB_NONE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(vocab_takes_pieces_up_to_their_longest)
{
    char piece[VOCAB_PIECE_BYTES_MAX + 2], expected[80];
    struct arena arena;
    struct err err = {0};
    struct vocab vocab;
    size_t taken = 99;
    memset(piece, 'a', sizeof piece);
    arena_init(&arena);
    ck_assert(!vocab_init(&vocab, 3, &arena, &err));
    ck_assert(!vocab_add(&vocab, piece, VOCAB_PIECE_BYTES_MAX, 7, &err));
    ck_assert_int_eq(vocab_longest(&vocab, piece, sizeof piece, &taken), 7);
    ck_assert_uint_eq(taken, VOCAB_PIECE_BYTES_MAX);
    taken = 99;
    ck_assert_int_eq(vocab_longest(&vocab, piece, VOCAB_PIECE_BYTES_MAX - 1, &taken), VOCAB_NONE);
    ck_assert_int_eq(vocab_longest(&vocab, piece, 0, &taken), VOCAB_NONE);
    ck_assert_int_eq(vocab_longest(&vocab, "b", 1, &taken), VOCAB_NONE);
    ck_assert_uint_eq(taken, 99);
    ck_assert_int_eq(vocab_add(&vocab, piece, VOCAB_PIECE_BYTES_MAX + 1, 8, &err), ERR_UNSUPPORTED);
    snprintf(expected, sizeof expected, "piece 8 is longer than %d bytes", VOCAB_PIECE_BYTES_MAX);
    ck_assert_str_eq(err.text, expected);
    arena_deinit(&arena);
}
END_TEST

SUITE("vocab", vocab_finds_the_longest_piece, vocab_a_piece_twice_has_its_last_id,
      vocab_agrees_with_a_search_through_all_pieces, vocab_refuses_what_is_too_long_or_too_much,
      vocab_of_more_pieces_than_are_supported_is_refused,
      vocab_takes_as_many_pieces_as_were_announced, vocab_takes_pieces_up_to_their_longest)
