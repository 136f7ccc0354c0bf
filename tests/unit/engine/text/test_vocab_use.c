#include "engine/text/vocab_use.h"

#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

enum { IDS_MAX = 64 };

struct fixture {
    struct tempdir dir;
    struct vocab_use *use;
    struct err err;
};

static void setup(struct fixture *fixture, const char *vocab, const char *config)
{
    tempdir_open(&fixture->dir);
    fixture->err = (struct err){0};
    if (vocab != NULL)
        tempdir_write(&fixture->dir, "vocab.txt", vocab, strlen(vocab));
    if (config != NULL)
        tempdir_write(&fixture->dir, "tokenizer_config.json", config, strlen(config));
    enum err_code code = vocab_use_open(&fixture->use, fixture->dir.path, &fixture->err);
    ck_assert_int_eq(code, fixture->err.code);
}

static void drop(struct fixture *fixture)
{
    vocab_use_close(fixture->use);
    tempdir_close(&fixture->dir);
}

static void add(struct fixture *fixture, const char *text)
{
    ck_assert_msg(!vocab_use_add(fixture->use, text, strlen(text), &fixture->err), "%s",
                  fixture->err.text);
}

/* The kept pieces after the special tokens, each with a space behind it. */
static void expect_chosen(struct fixture *fixture, const struct vocab_choice *choice,
                          const char *expected)
{
    char found[512] = "";
    int32_t ids[IDS_MAX];
    ck_assert_uint_le(vocab_use_size(fixture->use), IDS_MAX);
    size_t count = vocab_use_choose(fixture->use, choice, ids);
    for (size_t i = 0; i < count; i++) {
        if (i < 5)
            ck_assert_int_eq(ids[i], (int)i);
        if (i < 5)
            continue;
        strcat(found, vocab_use_piece(fixture->use, (size_t)ids[i]));
        strcat(found, " ");
    }
    ck_assert_str_eq(found, expected);
}

static void expect(struct fixture *fixture, unsigned keep_min, const char *expected)
{
    expect_chosen(fixture, &(struct vocab_choice){.keep_min = keep_min}, expected);
}

START_TEST(vocab_use_keeps_what_the_texts_become)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "fail\npass\nvdd\n##core\n##s\nunused\n", NULL);
    expect(&fixture, 1, "##s ");
    add(&fixture, "VDDcore fail");
    add(&fixture, "fail");
    expect(&fixture, 1, "fail vdd ##core ##s ");
    expect(&fixture, 2, "fail ##s ");
    expect(&fixture, 3, "##s ");
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_drops_every_piece_with_a_digit)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "fail\n12\n##7\n7\nddr\n##3a\n##s\n", NULL);
    add(&fixture, "fail 127 ddr3a ddrs x3");
    expect(&fixture, 1, "fail 12 ##7 7 ddr ##3a ##s ");
    expect_chosen(&fixture, &(struct vocab_choice){.keep_min = 1, .without_numbers = true},
                  "fail ddr ##s ");
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_keeps_printable_ascii)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "a\n##a\n#\n##\n##\xC3\xA9\n\xC3\xA9\nab\n~\n", NULL);
    expect(&fixture, 1, "a ##a # ~ ");
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_looks_beyond_the_limit_of_the_model)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "fail\npass\n", "{\"model_max_length\": 4}");
    add(&fixture, "fail fail fail fail fail pass");
    expect(&fixture, 1, "fail pass ");
    drop(&fixture);
}
END_TEST

/* "abcd" begins with "ab", which leads nowhere, so it is unknown; without "ab" it would be "a",
 * "##bcd". "xyz" ends in the middle, "~" at once. */
START_TEST(vocab_use_keeps_the_way_to_nowhere_of_an_unknown_word)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "a\nab\n##bcd\nxy\n##q\nok\n\xC3\xA9t\n", NULL);
    add(&fixture, "ok \xC3\xA9 abcd\xC2\xA0xyzq ok");
    expect(&fixture, 1, "a ab xy ##q ok ");
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_reads_every_kind_of_line_end)
{
    struct fixture fixture;
    setup(&fixture, "[PAD]\r\n[UNK]\r[CLS]\n[SEP]\n[MASK]\n\nfail", NULL);
    add(&fixture, "fail");
    ck_assert_uint_eq(vocab_use_size(fixture.use), 7);
    expect(&fixture, 1, "fail ");
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_refuses_what_it_cannot_write_again)
{
    struct fixture fixture;
    setup(&fixture, NULL, NULL);
    ck_assert_ptr_null(fixture.use);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, ": vocab.txt: there is none"));
    drop(&fixture);
    setup(&fixture, SPECIALS,
          "{\"added_tokens_decoder\": {\"5\": {\"content\": \"[X]\", \"special\": true}}}");
    ck_assert_ptr_null(fixture.use);
    ck_assert_int_eq(fixture.err.code, ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(fixture.err.text, "an added token has id 5, but vocab.txt ends with id 4"));
    drop(&fixture);
}
END_TEST

START_TEST(vocab_use_refuses_invalid_utf8)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "fail\n", NULL);
    ck_assert_int_eq(vocab_use_add(fixture.use, "fail \xFF", 6, &fixture.err), ERR_UNUSABLE);
    expect(&fixture, 1, "");
    drop(&fixture);
}
END_TEST

static void expect_error(const struct fixture *fixture, enum err_code code, const char *text)
{
    char expected[200];
    snprintf(expected, sizeof expected, "%s: %s", fixture->dir.path, text);
    ck_assert_ptr_null(fixture->use);
    ck_assert_int_eq(fixture->err.code, code);
    ck_assert_str_eq(fixture->err.text, expected);
}

START_TEST(vocab_use_refuses_directories_in_these_words)
{
    struct fixture fixture;
    setup(&fixture, NULL, NULL);
    expect_error(&fixture, ERR_UNSUPPORTED,
                 "vocab.txt: there is none; only a vocabulary of WordPiece is trimmed");
    drop(&fixture);
    setup(&fixture, SPECIALS,
          "{\"added_tokens_decoder\": {\"5\": {\"content\": \"[X]\", \"special\": true}}}");
    expect_error(&fixture, ERR_UNSUPPORTED,
                 "an added token has id 5, but vocab.txt ends with id 4");
    drop(&fixture);
    setup(&fixture, SPECIALS "fail\n",
          "{\"added_tokens_decoder\": {\"5\": {\"content\": \"fail\", \"special\": true}}}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    drop(&fixture);
    setup(&fixture, "[PAD]\n[UNK]\n", NULL);
    expect_error(&fixture, ERR_UNSUPPORTED, "vocab.txt: the vocabulary has no cls_token '[CLS]'");
    drop(&fixture);
    char path[5000];
    struct err err = {0};
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(vocab_use_open(&fixture.use, path, &err), ERR_IO);
    ck_assert_ptr_null(fixture.use);
    vocab_use_close(NULL);
}
END_TEST

/* A piece that stands twice has the id of its last line: the first line is nobody's. */
START_TEST(vocab_use_keeps_the_line_of_a_special_token_that_counts)
{
    struct fixture fixture;
    int32_t ids[IDS_MAX];
    setup(&fixture, "[CLS]\n[UNK]\n[CLS]\n[SEP]\n\xC3\xA9\n", NULL);
    struct vocab_choice choice = {.keep_min = 0};
    ck_assert_uint_eq(vocab_use_choose(fixture.use, &choice, ids), 3);
    ck_assert(ids[0] == 1 && ids[1] == 2 && ids[2] == 3);
    drop(&fixture);
}
END_TEST

/* A word of a hundred characters is matched. A word of one more uses no piece, not even those on
 * its way. */
START_TEST(vocab_use_counts_nothing_of_words_that_are_too_long)
{
    for (size_t len = 100; len <= 101; len++) {
        struct fixture fixture;
        char text[102];
        memset(text, 'a', len);
        text[len] = '\0';
        setup(&fixture, SPECIALS "aa\n##aa\n##aab\n", NULL);
        add(&fixture, text);
        expect(&fixture, 1, len > 100 ? "" : "aa ##aa ");
        text[99] = 'b';
        add(&fixture, text);
        expect(&fixture, 50, len > 100 ? "" : "##aa ");
        drop(&fixture);
    }
}
END_TEST

/* "axx" twice: "a" leads nowhere each time; the second [UNK] begins where the first one ended. */
START_TEST(vocab_use_counts_the_way_of_every_unknown_word)
{
    struct fixture fixture;
    setup(&fixture, SPECIALS "\xC3\xA9\xC3\xA9\nbb\n##cc\nfail\n", "{\"strip_accents\": false}");
    add(&fixture, "\xC3\xA9\xC3\xA9xx fail bbccx \xC3\xA9\xC3\xA9x bbx");
    expect(&fixture, 1, "\xC3\xA9\xC3\xA9 bb ##cc fail ");
    expect(&fixture, 2, "\xC3\xA9\xC3\xA9 bb ");
    expect(&fixture, 3, "");
    drop(&fixture);
}
END_TEST

SUITE("vocab_use", vocab_use_keeps_what_the_texts_become, vocab_use_drops_every_piece_with_a_digit,
      vocab_use_keeps_printable_ascii, vocab_use_looks_beyond_the_limit_of_the_model,
      vocab_use_keeps_the_way_to_nowhere_of_an_unknown_word, vocab_use_reads_every_kind_of_line_end,
      vocab_use_refuses_what_it_cannot_write_again, vocab_use_refuses_invalid_utf8,
      vocab_use_refuses_directories_in_these_words,
      vocab_use_keeps_the_line_of_a_special_token_that_counts,
      vocab_use_counts_nothing_of_words_that_are_too_long,
      vocab_use_counts_the_way_of_every_unknown_word)
