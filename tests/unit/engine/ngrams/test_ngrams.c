/* ngrams.h: which words and rows a text has. Rows are those of a second implementation, in Python. */
#include "engine/ngrams/ngrams.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1 << 16, FOUND_MAX = 4096 };
enum {
    ROW_BUG = 10209,
    ROW_BUG_IN_LINE = 63553,
    ROW_NUMBER = 15398,
    ROW_BUG_AT = 39846,
    ROW_BUG_AT_NUMBER = 37288,
    ROW_UEBER = 3435
};

static const char *const key_words[] = {"BUG", "DATA RACE"};
static const struct ngram_reading head = {.characters = 1500, .rows = ROWS};
static const struct ngram_reading both = {
    .characters = 12, .key_lines = 2, .key_words = key_words, .key_word_count = 2, .rows = ROWS};

static struct ngram found[FOUND_MAX];
static unsigned count;

static void keep(void *context, const struct ngram *ngram)
{
    (void)context;
    ck_assert_uint_lt(count, FOUND_MAX);
    found[count++] = *ngram;
}

static void read_text(const struct ngram_reading *reading, const char *text)
{
    count = 0;
    ngrams_each(reading, text, strlen(text), keep, NULL);
}

/* The n-gram at an index is of this block, these words and this row. */
static void expect(unsigned index, const char *text, enum ngram_block block, unsigned words,
                   const char *first, uint32_t row)
{
    const struct ngram *ngram = &found[index];
    ck_assert_uint_lt(index, count);
    ck_assert_int_eq(ngram->block, block);
    ck_assert_uint_eq(ngram->words, words);
    ck_assert_uint_eq(ngram->end[0] - ngram->start[0], strlen(first));
    ck_assert_mem_eq(text + ngram->start[0], first, strlen(first));
    ck_assert_uint_eq(ngram->row, row);
}

START_TEST(one_to_three_words_end_at_each_word)
{
    const char text[] = "[BUG] at 0x12";
    read_text(&head, text);
    ck_assert_uint_eq(count, 6);
    expect(0, text, NGRAM_HEAD, 1, "BUG", ROW_BUG);
    expect(2, text, NGRAM_HEAD, 2, "BUG", ROW_BUG_AT);
    expect(3, text, NGRAM_HEAD, 1, "0x12", ROW_NUMBER);
    expect(5, text, NGRAM_HEAD, 3, "BUG", ROW_BUG_AT_NUMBER);
    read_text(&head, "a b c d");
    ck_assert_uint_eq(count, 1 + 2 + 3 + 3);
}
END_TEST

START_TEST(large_letters_numbers_and_signs_make_no_difference)
{
    static uint32_t rows[FOUND_MAX];
    read_text(&head, "Bug at 0x1f 77: foo_bar");
    const unsigned first = count;
    for (unsigned i = 0; i < first; i++)
        rows[i] = found[i].row;
    read_text(&head, "BUG (at) 9, FOO_BAR!");
    ck_assert_uint_eq(count, first);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_eq(found[i].row, rows[i]);
    const char letters[] = "\xc3\xbc"
                           "ber";
    read_text(&head, letters);
    expect(0, letters, NGRAM_HEAD, 1, letters, ROW_UEBER);
}
END_TEST

START_TEST(ngrams_limit_counts_characters_not_bytes)
{
    const struct ngram_reading four = {.characters = 4, .rows = ROWS};
    read_text(&four, "ab cd ef");
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(found[1].end[0] - found[1].start[0], 1);
    read_text(&four, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4");
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(found[0].end[0], 8);
    read_text(&four, "");
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(lines_with_key_words_are_a_block_of_their_own)
{
    const char text[] = "what ever\nno bug\nx DATA RACE y\n\nBUG z\nBUG again\n";
    read_text(&both, text);
    ck_assert_uint_eq(count, 6 * 3 - 3 + 6); /* six words of two lines; "what", "ever", "no" */
    expect(0, text, NGRAM_LINES, 1, "x", found[0].row);
    unsigned lines = 0;
    for (unsigned i = 0; i < count; i++)
        lines += found[i].block == NGRAM_LINES;
    ck_assert_uint_eq(lines, 15);
    ck_assert_uint_eq(found[12].words, 1); /* "BUG", in a line */
    ck_assert_uint_eq(found[9].row, ROW_BUG_IN_LINE);
    ck_assert_int_eq(found[15].block, NGRAM_HEAD);
    ck_assert_uint_eq(found[15].start[0], 0);
}
END_TEST

START_TEST(ngrams_search_a_bounded_part_of_each_line_and_text)
{
    static char text[NGRAM_SEARCH_BYTES + 64];
    const struct ngram_reading lines = {
        .key_lines = 2, .key_words = key_words, .key_word_count = 2, .rows = ROWS};
    memset(text, '.', sizeof text - 1);
    memcpy(text + NGRAM_LINE_BYTES - 2, "BUG", 3);
    read_text(&lines, text);
    ck_assert_uint_eq(count, 0);
    memcpy(text + NGRAM_LINE_BYTES - 5, "BUG x", 5);
    read_text(&lines, text);
    ck_assert_uint_eq(count, 3);
    memset(text, '.', sizeof text - 1);
    memcpy(text + NGRAM_SEARCH_BYTES + 1, "\nBUG", 4);
    read_text(&lines, text);
    ck_assert_uint_eq(count, 0);
    memcpy(text + NGRAM_SEARCH_BYTES - 8, "\nBUG", 4);
    read_text(&lines, text);
    ck_assert_uint_eq(count, 1);
}
END_TEST

/* ---- lists ---- */

static double squares(const struct ngram_list *list, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += (double)list->entries[i].value * (double)list->entries[i].value;
    return sum;
}

START_TEST(a_row_comes_once_with_a_value_by_how_often)
{
    struct ngram_list list;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!ngrams_list(&head, "a b a", 5, &arena, &list, &err));
    ck_assert_uint_eq(list.count, 5); /* a, b, a b, b a, a b a */
    for (size_t i = 0; i < list.count; i++) {
        const double often = list.entries[i].often;
        ck_assert(i == 0 || list.entries[i].row > list.entries[i - 1].row);
        ck_assert_double_eq_tol((double)list.entries[i].value,
                                (1 + log(often)) / sqrt(4 + pow(1 + log(2), 2)), 1e-6);
    }
    ck_assert_double_eq_tol(squares(&list, 0, list.count), 1, 1e-6);
    ck_assert(!ngrams_list(&head, "", 0, &arena, &list, &err));
    ck_assert_uint_eq(list.count, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(nuls_are_passed_over_in_words_and_in_key_words)
{
    static const char with[] = "\0one two\0\0 thr\0ee\nDATA\0 R\0ACE four\0";
    static const char without[] = "one two three\nDATA RACE four";
    struct ngram_list list, same;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!ngrams_list(&both, with, sizeof with - 1, &arena, &list, &err));
    ck_assert(!ngrams_list(&both, without, sizeof without - 1, &arena, &same, &err));
    ck_assert_uint_eq(list.count, same.count);
    ck_assert_uint_eq(list.first[NGRAM_HEAD], same.first[NGRAM_HEAD]);
    for (size_t i = 0; i < list.count; i++)
        ck_assert_uint_eq(list.entries[i].row, same.entries[i].row);
    ck_assert(!ngrams_list(&both, "\0\0", 2, &arena, &list, &err));
    ck_assert_uint_eq(list.count, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(two_blocks_weigh_alike)
{
    const char text[] = "one two three\nBUG four five six\n";
    struct ngram_list list;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!ngrams_list(&both, text, strlen(text), &arena, &list, &err));
    ck_assert_uint_eq(list.first[NGRAM_LINES], 0);
    ck_assert_double_eq_tol(squares(&list, 0, list.first[NGRAM_HEAD]), 0.5, 1e-6);
    ck_assert_double_eq_tol(squares(&list, list.first[NGRAM_HEAD], list.count), 0.5, 1e-6);
    arena_deinit(&arena);
}
END_TEST

START_TEST(the_bound_of_memory_holds_for_words_of_one_letter)
{
    static char text[3000];
    struct ngram_list list;
    struct arena arena;
    struct err err = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 > 0 ? ' ' : (char)('a' + i / 2 % 26);
    arena_init(&arena);
    for (size_t len = 0; len < sizeof text; len += 7) {
        ck_assert(!ngrams_list(&head, text, len, &arena, &list, &err));
        ck_assert_uint_le(list.count, ngrams_most(&head, len));
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("ngrams", one_to_three_words_end_at_each_word,
      large_letters_numbers_and_signs_make_no_difference, ngrams_limit_counts_characters_not_bytes,
      lines_with_key_words_are_a_block_of_their_own,
      ngrams_search_a_bounded_part_of_each_line_and_text,
      nuls_are_passed_over_in_words_and_in_key_words, a_row_comes_once_with_a_value_by_how_often,
      two_blocks_weigh_alike, the_bound_of_memory_holds_for_words_of_one_letter)
