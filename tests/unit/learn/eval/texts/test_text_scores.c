/* Measures of written texts: figures of sacrebleu 2.6 (tests/reference/compare_text_scores.py holds
 * 2000 random sets beside it), edits counted by hand, and intervals. */
#include "learn/eval/texts/bleu_tokens.h"
#include "learn/eval/texts/writing_assessment.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 5, WORDS_BYTES = 256 };

struct pair {
    const char *written, *right;
};

static struct text_counts counts_of(const char *written, const char *right)
{
    struct text_counts counts;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(
        !text_counts_take(&counts, written, strlen(written), right, strlen(right), &arena, &err));
    arena_deinit(&arena);
    return counts;
}

START_TEST(chrf_and_bleu_are_those_of_sacrebleu)
{
    static const struct {
        struct pair pairs[PAIRS_MAX];
        double chrf, bleu;
    } sets[] = {
        {{{"the die failed at 3.97 V", "the die failed at 3.97 V"}}, 100, 100},
        {{{"the die failed", "the wafer passed"}}, 15.2091378543, 0},
        {{{"the die failed at 3.97 V.", "the die failed the scan test at 3.97 V."}},
         56.4359235738,
         38.7347981103},
        {{{"die Zelle ist kaputt, Lot 12", "the cell is broken, lot 12"},
          {"leakage at 1.2 V", "leakage at 1.2 V"},
          {"", "no text"},
          {"something", ""},
          {"a b c d e", "a b c d e f g"}},
         44.5192797726,
         43.8159986907},
        {{{"W1AB-07A2", "W1A8-07A2"},
          {"Gr\xC3\xB6\xC3\x9F"
           "e 5 \xC2\xB5m",
           "Gr\xC3\xB6\xC3\x9F"
           "e 5 \xC2\xB5m (ca.)"}},
         52.6874174592,
         0},
        {{{"", ""}}, 0, 0},
        {{{"abcdefg", "x"}}, 0, 0},
    };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        struct text_counts sum = {0};
        for (int p = 0; p < PAIRS_MAX && sets[s].pairs[p].written != NULL; p++) {
            const struct text_counts one =
                counts_of(sets[s].pairs[p].written, sets[s].pairs[p].right);
            text_counts_add(&sum, &one);
        }
        const struct text_scores scores = text_scores_of(&sum);
        ck_assert_double_eq_tol(scores.chrf, sets[s].chrf, 1e-8);
        ck_assert_double_eq_tol(scores.bleu, sets[s].bleu, 1e-8);
    }
}
END_TEST

START_TEST(words_are_those_of_13a)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"V=3.97, 1,000 (ok). -5-3 a.b", "V = 3.97 , 1,000 ( ok ) . -5 - 3 a . b"},
        {"&quot;x&quot; &amp;lt; <skipped>y", "\" x \" < y"},
        {"it's 5-\n6\n7", "it's 56 7"},
        {"a..b ...", "a . . b . . ."},
        {"\xC3\xA9. .\xE4\xB8\xAD \xC2\xA0x\xE3\x80\x80y", "\xC3\xA9 . . \xE4\xB8\xAD x y"},
        {"[a]{b}~`^_|", "[ a ] { b } ~ ` ^ _ |"},
        {"12. .5 1.\xE3\x80\x80\n", "12 . . 5 1 ."},
        {"A/B:C;D@E#F", "A / B : C ; D @ E # F"},
        {"", ""},
        {" \t\n", ""},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char words[WORDS_BYTES];
        struct bleu_tokens tokens;
        struct arena arena;
        struct err err = {0};
        size_t len = 0;
        arena_init(&arena);
        ck_assert(!bleu_tokens_split(&tokens, rows[r].text, strlen(rows[r].text), &arena, &err));
        for (size_t w = 0; w < tokens.count; w++) {
            ck_assert_uint_lt(len + tokens.words[w].len + 1, WORDS_BYTES);
            memcpy(words + len, tokens.words[w].text, tokens.words[w].len);
            len += tokens.words[w].len;
            words[len++] = ' ';
        }
        words[len > 0 ? len - 1 : 0] = '\0';
        ck_assert_str_eq(words, rows[r].words);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(edits_are_characters_put_in_taken_out_or_replaced)
{
    static const struct {
        const char *written, *right;
        size_t edits, characters;
    } rows[] = {
        {"", "", 0, 0},
        {"abc", "", 3, 0},
        {"", "abc", 3, 3},
        {"kitten", "sitting", 3, 7},
        {"W1AB-07A2", "W1A8-07A2", 1, 9},
        {"ab", "ba", 2, 2},
        {"\xC3\xA9t\xC3\xA9", "ete", 2, 3}, /* characters, not bytes */
        {"aXXb", "ab", 2, 2},
        {"flaw", "lawn", 2, 4},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct text_counts there = counts_of(rows[r].written, rows[r].right);
        const struct text_counts back = counts_of(rows[r].right, rows[r].written);
        ck_assert_uint_eq(there.edits, rows[r].edits);
        ck_assert_uint_eq(there.characters, rows[r].characters);
        ck_assert_uint_eq(back.edits, rows[r].edits);
        ck_assert_uint_eq(there.exact, strcmp(rows[r].written, rows[r].right) == 0);
    }
    struct text_counts sum = counts_of("kitten", "sitting");
    const struct text_counts one = counts_of("abc", "abc");
    text_counts_add(&sum, &one);
    const struct text_scores scores = text_scores_of(&sum);
    ck_assert_double_eq_tol(scores.exact, 0.5, 1e-12);
    ck_assert_double_eq_tol(scores.edit_distance, 1.5, 1e-12);
    ck_assert_double_eq_tol(scores.error_rate, 0.3, 1e-12);
    const struct text_counts empty = counts_of("", "");
    ck_assert(isnan(text_scores_of(&empty).error_rate));
}
END_TEST

/* Nine in ten texts are right, and each other one has an edit in ten characters. */
START_TEST(intervals_hold_the_figures_and_are_the_same_each_time)
{
    enum { TEXTS = 400 };
    struct text_counts *counts = calloc(TEXTS, sizeof *counts), sum = {0};
    struct text_intervals first, second;
    struct err err = {0};
    for (size_t i = 0; i < TEXTS; i++) {
        counts[i] = counts_of(i % 10 == 0 ? "a b c d e " : "a b c d e.", "a b c d e.");
        text_counts_add(&sum, &counts[i]);
    }
    const struct text_scores scores = text_scores_of(&sum);
    ck_assert(!text_scores_intervals(&first, counts, TEXTS, 1, &err));
    ck_assert(!text_scores_intervals(&second, counts, TEXTS, 1, &err));
    ck_assert_mem_eq(&first, &second, sizeof first);
    const struct interval wilson = wilson_interval(TEXTS * 9 / 10, TEXTS);
    ck_assert(first.exact.low == wilson.low && first.exact.high == wilson.high);
    const double deviation = sqrt(0.1 * 0.9 / TEXTS); /* of the share of edited texts */
    ck_assert_double_eq_tol(first.edit_distance.low, 0.1 - 1.96 * deviation, 0.006);
    ck_assert_double_eq_tol(first.edit_distance.high, 0.1 + 1.96 * deviation, 0.006);
    ck_assert_double_eq_tol(first.error_rate.low, first.edit_distance.low / 10, 1e-6);
    ck_assert(first.chrf.low < scores.chrf && scores.chrf < first.chrf.high);
    ck_assert(first.bleu.low < scores.bleu && scores.bleu < first.bleu.high);
    ck_assert(first.chrf.high <= 100 && first.bleu.high <= 100.0001);
    free(counts);
}
END_TEST

SUITE("text_scores", chrf_and_bleu_are_those_of_sacrebleu, words_are_those_of_13a,
      edits_are_characters_put_in_taken_out_or_replaced,
      intervals_hold_the_figures_and_are_the_same_each_time)
