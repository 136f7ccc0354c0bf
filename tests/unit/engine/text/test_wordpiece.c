#include "engine/text/tokenizer.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>
#include <string.h>

/*                           0      1      2      3      4       5   6     7    8  9  10    11 */
static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\nwant\n##want\n##ed\nrunn\n"
                            "##ing\n,\na\n##a\n\xE4\xB8\xAD\n";
enum { PAD, UNK, CLS, SEP, MASK, UN, WANT, C_WANT, C_ED, RUNN, C_ING, COMMA, A, C_A, ZHONG };

static const char bert_dir[] = "tests/data/tokenizer/bert-base-uncased";

START_TEST(wordpiece_splits_words_greedily_with_offsets)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    fixture_check(t,
                  "UNwant\xC3\xA9"
                  "d,running",
                  "2[0,0) 5[0,2) 7[2,6) 8[6,8) 11[8,9) 9[9,13) 10[13,16) 3[0,0)");
    fixture_check(t, " unwantedX a ", "2[0,0) 1[1,10) 12[11,12) 3[0,0)");
    fixture_check(t,
                  "a\xE4\xB8\xAD"
                  "a",
                  "2[0,0) 12[0,1) 14[1,2) 12[2,3) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_of_nothing_is_two_tokens)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    fixture_check(t, "", "2[0,0) 3[0,0)");
    fixture_check(t, " \t\n\xE2\x80\x8E", "2[0,0) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_cuts_special_tokens_out_before_anything_else)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    fixture_check(t, "a[MASK]a", "2[0,0) 12[0,1) 4[1,7) 12[7,8) 3[0,0)");
    fixture_check(t, "\xC3\x84[CLS] [SEP][PAD][UNK]",
                  "2[0,0) 12[0,1) 2[1,6) 3[7,12) 0[12,17) 1[17,22) 3[0,0)");
    fixture_check(t, "[mask]", "2[0,0) 1[0,1) 1[1,5) 1[5,6) 3[0,0)");
    fixture_check(t, "a[MASK", "2[0,0) 12[0,1) 1[1,2) 1[2,6) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_knows_a_special_token_of_one_byte)
{
    struct tokenizer *t =
        fixture_open("[PAD]\n[UNK]\n[CLS]\n[SEP]\n~\na\n##a\n", NULL, "{\"mask_token\": \"~\"}");
    fixture_check(t, "aa~a ~", "2[0,0) 5[0,1) 6[1,2) 4[2,3) 5[3,4) 4[5,6) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_removes_nul)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    fixture_check_bytes(t, "u\0n\0\0 a", 7, "2[0,0) 5[0,3) 12[6,7) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_words_over_100_characters_are_unknown)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    char text[256];
    memset(text, 'a', sizeof text);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert(!tokenizer_encode(t, 0, text, 100, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, 102);
    ck_assert_int_eq(encoding.ids[1], A);
    ck_assert_int_eq(encoding.ids[100], C_A);
    fixture_check_bytes(t, text, 101, "2[0,0) 1[0,101) 3[0,0)");
    memcpy(text + 100, "\xCC\x81\xCC\x81", 4); /* stripped, so still 100 */
    ck_assert(!tokenizer_encode(t, 0, text, 104, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, 102);
    arena_deinit(&arena);
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_cuts_to_the_limit_and_says_so)
{
    struct err err = {0};
    struct tokenizer *t;
    ck_assert(!fixture_try(&t, vocab, NULL, NULL, 5, &err));
    ck_assert_uint_eq(t->limit, 5);
    fixture_check(t, "a a a", "2[0,0) 12[0,1) 12[2,3) 12[4,5) 3[0,0)");
    fixture_check(t, "a a a \t\x01", "2[0,0) 12[0,1) 12[2,3) 12[4,5) 3[0,0)");
    fixture_check(t, "a a a ,", "2[0,0) 12[0,1) 12[2,3) 12[4,5) 3[0,0) truncated");
    fixture_check(t, "a a unwanted", "2[0,0) 12[0,1) 12[2,3) 5[4,6) 3[0,0) truncated");
    fixture_check(t, "a a unwantedX", "2[0,0) 12[0,1) 12[2,3) 1[4,13) 3[0,0)");
    fixture_check(t, "a a a[MASK]", "2[0,0) 12[0,1) 12[2,3) 12[4,5) 3[0,0) truncated");
    tokenizer_close(t);
}
END_TEST

static void check_invalid(const struct tokenizer *tokenizer, const char *text, size_t len,
                          const char *expected)
{
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert_int_eq(tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, expected);
    arena_deinit(&arena);
}

START_TEST(wordpiece_refuses_invalid_utf8_even_behind_the_limit)
{
    struct err err = {0};
    struct tokenizer *t;
    ck_assert(!fixture_try(&t, vocab, NULL, NULL, 3, &err));
    check_invalid(
        t, "\xFF", 1,
        "invalid UTF-8 at byte 0 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    check_invalid(
        t, "a a a a a \xC3", 11,
        "invalid UTF-8 at byte 10 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    check_invalid(
        t, "a\xED\xA0\x80", 4,
        "invalid UTF-8 at byte 1 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    tokenizer_close(t);
}
END_TEST

/* ---- hostile texts ---- */

static void check_repeated(const struct tokenizer *tokenizer, const char *unit, size_t total)
{
    size_t len = strlen(unit), count = total / len;
    char *text = malloc(count * len);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, unit, len);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert(!tokenizer_encode(tokenizer, 0, text, count * len, NULL, &arena, &encoding, &err));
    ck_assert_uint_ge(encoding.count, 2);
    ck_assert_uint_le(arena.bytes, 16 * total + (1 << 20));
    ck_assert_uint_le(arena.bytes, tokenizer_encode_bytes(tokenizer, 0, text, count * len));
    arena_deinit(&arena);
    free(text);
}

/* A quadratic step would take ten minutes and more, not the minute that a test is given. */
START_TEST(wordpiece_takes_linear_time_for_a_megabyte_of_anything)
{
    static const char *const units[] = {"a",
                                        " ",
                                        "[",
                                        "[MASK",
                                        "\xCC\x81",
                                        "\xE3\x80\xAE", /* marks that go, marks that stay */
                                        "\xE3\x80\xAE\xCC\x96",
                                        "a\xCC\x81",
                                        "a\xE3\x80\xAE",
                                        "\xE4\xB8\xAD",
                                        "\x01",
                                        "\xC4\xB0",
                                        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
                                        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz "};
    struct err err = {0};
    struct tokenizer *t;
    ck_assert_msg(!tokenizer_open(&t, bert_dir, UINT_MAX, &err), "%s", err.text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        check_repeated(t, units[i], 1000 * 1000);
    tokenizer_close(t);
}
END_TEST

/* Invariants of any encoding. */
static void check_invariants(const struct encoding *encoding, size_t len, unsigned vocab_size)
{
    ck_assert_uint_ge(encoding->count, 2);
    uint32_t last = 0;
    for (unsigned i = 1; i + 1 < encoding->count; i++) {
        ck_assert_uint_lt((unsigned)encoding->ids[i], vocab_size);
        ck_assert_uint_lt(encoding->starts[i], encoding->ends[i]);
        ck_assert_uint_le(encoding->ends[i], len);
        ck_assert_uint_ge(encoding->starts[i], last);
        last = encoding->starts[i];
    }
}

static void mutate(char *text, size_t len, unsigned long long *state)
{
    for (unsigned i = 1 + fixture_random(state, 3); i-- > 0;)
        text[fixture_random(state, (unsigned)len)] = (char)fixture_random(state, 256);
}

/* Exactly sized copies, so that a sanitizer sees any read behind the end. */
static void encode_copy(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, len);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    enum err_code code = tokenizer_encode(tokenizer, 0, copy, len, NULL, &arena, &encoding, &err);
    ck_assert(code == ERR_OK || code == ERR_UNUSABLE);
    if (code == ERR_OK)
        check_invariants(&encoding, len, tokenizer->vocab_size);
    arena_deinit(&arena);
    free(copy);
}

START_TEST(wordpiece_survives_truncated_and_mutated_texts)
{
    static const char good[] =
        "1130 Ref [MASK] \xC3\xA9\xCC\x96\xE3\x80\xAE\xE4\xB8\xAD\xF0\x9D\x85\x9F"
        "\xEA\xB0\x81 v [3.178, 3.564] \xC4\xB0[SEP] fail\xE1\xBB\x98!";
    struct err err = {0};
    struct tokenizer *t;
    ck_assert(!tokenizer_open(&t, bert_dir, 512, &err));
    for (size_t len = 0; len < sizeof good; len++)
        encode_copy(t, good, len);
    unsigned long long state = 11;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        mutate(text, sizeof text, &state);
        encode_copy(t, text, sizeof text);
    }
    tokenizer_close(t);
}
END_TEST

/* The third word is unknown, the last one cut off; special tokens begin a word. */
START_TEST(wordpiece_says_which_tokens_go_on_with_a_word)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    char found[16] = "";
    arena_init(&arena);
    ck_assert(
        !tokenizer_encode(t, 11, "running,unwanted xx[MASK]aa", 27, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, 11);
    ck_assert(encoding.truncated);
    for (unsigned i = 0; i < encoding.count; i++)
        found[i] = encoding.continued[i] ? '+' : '-';
    ck_assert_str_eq(found, "--+--++----");
    ck_assert_str_eq(fixture_print(&encoding, &arena),
                     "2[0,0) 9[0,4) 10[4,7) 11[7,8) 5[8,10) 7[10,14) 8[14,16) 1[17,19) 4[19,25) "
                     "12[25,26) 3[0,0) truncated");
    arena_deinit(&arena);
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_takes_a_limit_of_the_callers)
{
    static const struct {
        unsigned limit, count;
        bool truncated;
    } cases[] = {{3, 3, true}, {4, 4, true}, {5, 5, false}, {6, 5, false}, {1000, 5, false}};
    struct err err = {0};
    struct tokenizer *t;
    ck_assert(!fixture_try(&t, vocab, NULL, NULL, 4, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct encoding encoding;
        arena_init(&arena);
        ck_assert(!tokenizer_encode(t, cases[i].limit, "a,a", 3, NULL, &arena, &encoding, &err));
        ck_assert_uint_eq(encoding.count, cases[i].count);
        ck_assert_int_eq(encoding.truncated, cases[i].truncated);
        ck_assert_int_eq(encoding.ids[encoding.count - 1], SEP);
        arena_deinit(&arena);
    }
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_refuses_texts_whose_characters_it_cannot_number)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert_int_eq(tokenizer_encode(t, 0, "", UINT32_MAX, NULL, &arena, &encoding, &err),
                     ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "a text of 4294967295 bytes; the limit is 4294967294");
    ck_assert_uint_eq(arena.bytes, 0);
    tokenizer_close(t);
}
END_TEST

/* Each token takes 13 bytes, as many tokens as the limit at most; each byte of what is not ASCII 32
 * more. */
START_TEST(wordpiece_tells_what_an_encoding_takes)
{
    struct err err = {0};
    struct tokenizer *t;
    struct arena arena;
    struct encoding encoding;
    ck_assert(!fixture_try(&t, vocab, NULL, NULL, 5, &err));
    arena_init(&arena);
    ck_assert(!tokenizer_encode(t, 0, "", 0, NULL, &arena, &encoding, &err));
    size_t none = tokenizer_encode_bytes(t, 0, "", 0);
    ck_assert_uint_ge(none, arena.bytes);
    ck_assert_uint_le(none, arena.bytes + 4 * ARENA_ALIGNMENT);
    arena_deinit(&arena);
    ck_assert_uint_eq(tokenizer_encode_bytes(t, 0, "aa", 2), none + 2 * 13);
    ck_assert_uint_eq(tokenizer_encode_bytes(t, 0, "aaaa", 4), none + 3 * 13);
    ck_assert_uint_eq(tokenizer_encode_bytes(t, 0, "aaaaa", 5), none + 3 * 13);
    ck_assert_uint_eq(tokenizer_encode_bytes(t, 0, "a\x7F\x80\xFF", 4), none + 3 * 13 + 2 * 32);
    ck_assert_uint_eq(tokenizer_encode_bytes(t, 0, "\x80", 1), none + 13 + 32);
    ck_assert_uint_gt(tokenizer_bytes(t), 36);
    tokenizer_close(t);
}
END_TEST

START_TEST(wordpiece_tells_its_special_tokens)
{
    struct tokenizer *t = fixture_open(vocab, NULL, NULL);
    struct tokenizer_specials specials = t->specials;
    ck_assert(specials.cls == CLS && specials.sep == SEP && specials.unk == UNK);
    ck_assert(specials.pad == PAD && specials.mask == MASK);
    tokenizer_close(t);
    t = fixture_open("[UNK]\n[SEP]\n[CLS]\n", NULL, NULL);
    tokenizer_fit(t, 3);
    specials = t->specials;
    ck_assert(specials.cls == 2 && specials.sep == 1 && specials.unk == 0);
    ck_assert(specials.pad < 0 && specials.mask < 0);
    tokenizer_close(t);
}
END_TEST

SUITE("wordpiece", wordpiece_splits_words_greedily_with_offsets, wordpiece_of_nothing_is_two_tokens,
      wordpiece_cuts_special_tokens_out_before_anything_else,
      wordpiece_knows_a_special_token_of_one_byte, wordpiece_removes_nul,
      wordpiece_words_over_100_characters_are_unknown, wordpiece_cuts_to_the_limit_and_says_so,
      wordpiece_refuses_invalid_utf8_even_behind_the_limit,
      wordpiece_takes_linear_time_for_a_megabyte_of_anything,
      wordpiece_survives_truncated_and_mutated_texts, wordpiece_says_which_tokens_go_on_with_a_word,
      wordpiece_takes_a_limit_of_the_callers,
      wordpiece_refuses_texts_whose_characters_it_cannot_number,
      wordpiece_tells_what_an_encoding_takes, wordpiece_tells_its_special_tokens)
