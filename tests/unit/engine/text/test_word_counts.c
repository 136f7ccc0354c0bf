#include "engine/text/word_counts.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static const struct normalizer_flags uncased = {true, true, true, true};
static const struct normalizer_flags cased = {.clean_text = true, .space_cjk = true};

/* "word=count " for each word. */
static void expect(struct normalizer_flags flags, const char *text, const char *expected)
{
    struct word_counts words;
    struct err err = {0};
    char found[512];
    size_t used = 0;
    word_counts_init(&words, flags);
    ck_assert_msg(!word_counts_add(&words, text, strlen(text), &err), "%s", err.text);
    found[0] = '\0';
    for (size_t i = 0; i < words.count; i++)
        used += (size_t)snprintf(found + used, sizeof found - used, "%.*s=%llu ",
                                 (int)words.items[i].len, word_counts_text(&words, i),
                                 (unsigned long long)words.items[i].count);
    ck_assert_str_eq(found, expected);
    word_counts_deinit(&words);
}

START_TEST(word_counts_cuts_as_wordpiece_does)
{
    expect(uncased, "Vdd fail, VDD\tpass\nvdd_core", "vdd=3 fail=1 ,=1 pass=1 _=1 core=1 ");
    expect(cased, "Vdd VDD Vdd", "Vdd=2 VDD=1 ");
    expect(uncased, "\xC3\x89t\xC3\xA9 ete", "ete=2 ");
    expect(cased,
           "a\xE6\x99\xB6\xE5\x9C\x86"
           "b",
           "a=1 \xE6\x99\xB6=1 \xE5\x9C\x86=1 b=1 ");
    expect(uncased, " \n", "");
}
END_TEST

START_TEST(word_counts_leaves_out_words_that_are_never_matched)
{
    char text[203];
    memset(text, 'a', sizeof text);
    text[100] = ' ';
    text[202] = '\0';
    struct word_counts words;
    struct err err = {0};
    word_counts_init(&words, cased);
    ck_assert_int_eq(word_counts_add(&words, text, 202, &err), ERR_OK);
    ck_assert_uint_eq(words.count, 1);
    ck_assert_uint_eq(words.items[0].len, 100);
    word_counts_deinit(&words);
}
END_TEST

START_TEST(word_counts_refuses_invalid_utf8_whole)
{
    struct word_counts words;
    struct err err = {0};
    word_counts_init(&words, cased);
    ck_assert_int_eq(word_counts_add(&words, "ab \xFF", 4, &err), ERR_UNUSABLE);
    ck_assert_str_eq(
        err.text,
        "invalid UTF-8 at byte 3 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    ck_assert_uint_eq(words.count, 0);
    word_counts_deinit(&words);
}
END_TEST

START_TEST(word_counts_grows_and_still_finds_every_word)
{
    enum { WORDS = 20000 };
    struct word_counts words;
    struct err err = {0};
    char text[16];
    word_counts_init(&words, cased);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < WORDS; i++) {
            int len = snprintf(text, sizeof text, "w%u", i);
            ck_assert_int_eq(word_counts_add(&words, text, (size_t)len, &err), ERR_OK);
        }
    ck_assert_uint_eq(words.count, WORDS);
    for (unsigned i = 0; i < WORDS; i++) {
        snprintf(text, sizeof text, "w%u", i);
        ck_assert_uint_eq(words.items[i].count, 2);
        ck_assert_uint_eq(words.items[i].len, strlen(text));
        ck_assert_mem_eq(word_counts_text(&words, i), text, strlen(text));
    }
    word_counts_deinit(&words);
}
END_TEST

/* 99 to 101 characters of up to four bytes: the longest that is counted has a hundred. */
START_TEST(word_counts_bounds_words_by_characters_and_not_by_bytes)
{
    static const char *const characters[] = {"a", "\xC3\xA9", "\xE0\xB8\x81", "\xF0\x90\x90\x80"};
    for (size_t bytes = 1; bytes <= 4; bytes++)
        for (size_t count = 99; count <= 101; count++) {
            struct word_counts words;
            struct err err = {0};
            char text[4 * 101 + 4];
            size_t len = count * bytes;
            for (size_t i = 0; i < count; i++)
                memcpy(text + i * bytes, characters[bytes - 1], bytes);
            memcpy(text + len, " b,", 3);
            word_counts_init(&words, cased);
            ck_assert_int_eq(word_counts_add(&words, text, len + 3, &err), ERR_OK);
            bool counted = count <= 100;
            ck_assert_uint_eq(words.count, counted ? 3 : 2);
            ck_assert_uint_eq(words.bytes_used, counted ? len + 2 : 2);
            if (counted)
                ck_assert_uint_eq(words.items[0].len, len);
            ck_assert_mem_eq(word_counts_text(&words, words.count - 2), "b,", 2);
            ck_assert_uint_eq(words.items[words.count - 1].len, 1);
            word_counts_deinit(&words);
            ck_assert_ptr_null(words.items);
            ck_assert_uint_eq(words.count, 0);
        }
}
END_TEST

START_TEST(word_counts_adds_up_over_texts)
{
    struct word_counts words;
    struct err err = {0};
    word_counts_init(&words, cased);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(word_counts_add(&words, "ab ba ab", 8, &err), ERR_OK);
        ck_assert_int_eq(word_counts_add(&words, "", 0, &err), ERR_OK);
    }
    ck_assert_uint_eq(words.count, 2);
    ck_assert_uint_eq(words.items[0].count, 6);
    ck_assert_uint_eq(words.items[1].count, 3);
    word_counts_deinit(&words);
}
END_TEST

SUITE("word_counts", word_counts_cuts_as_wordpiece_does,
      word_counts_leaves_out_words_that_are_never_matched, word_counts_refuses_invalid_utf8_whole,
      word_counts_grows_and_still_finds_every_word,
      word_counts_bounds_words_by_characters_and_not_by_bytes, word_counts_adds_up_over_texts)
