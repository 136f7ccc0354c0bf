/* ngram_table.h: the evidence of a table for a text, against sums over its n-grams one by one. */
#include "engine/ngrams/ngram_table.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64, LABELS = 3, PHRASES = 3 };

static const char *const key_words[] = {"panic"};
static float weight[ROWS * LABELS];
static const float bias[LABELS] = {0.5f, -1, 0.25f};
static const struct ngram_table table = {.reading = {.characters = 58,
                                                     .key_lines = 1,
                                                     .key_words = key_words,
                                                     .key_word_count = 1,
                                                     .rows = ROWS},
                                         .labels = LABELS,
                                         .weight = weight,
                                         .bias = bias};
static struct arena arena;
static struct err err;

static void setup(void)
{
    err = (struct err){0};
    arena_init(&arena);
    for (unsigned i = 0; i < ROWS * LABELS; i++)
        weight[i] = sinf((float)i * 1.7f);
}

static void teardown(void)
{
    arena_deinit(&arena);
}

static const char text[] = "alpha beta gamma alpha, 12 beta\nkernel panic in alpha beta\nrest";

START_TEST(evidence_is_the_bias_and_each_rows_value_times_its_weight)
{
    float evidence[LABELS];
    struct ngram_list list;
    setup();
    ck_assert(!ngram_table_evidence(&table, text, strlen(text), &arena, evidence, &err));
    ck_assert(!ngrams_list(&table.reading, text, strlen(text), &arena, &list, &err));
    ck_assert_uint_gt(list.count, 20);
    for (unsigned c = 0; c < LABELS; c++) {
        double sum = (double)bias[c];
        for (size_t i = 0; i < list.count; i++)
            sum += (double)list.entries[i].value * (double)weight[list.entries[i].row * LABELS + c];
        ck_assert_double_eq_tol((double)evidence[c], sum, 1e-5);
    }
    ck_assert(!ngram_table_evidence(&table, "", 0, &arena, evidence, &err));
    ck_assert_mem_eq(evidence, bias, sizeof bias);
    teardown();
}
END_TEST

/* Every row speaks for label 1 alone: then all words are phrases, and share the evidence out. */
START_TEST(the_shares_of_all_words_are_the_evidence)
{
    struct ngram_phrase phrases[PHRASES];
    float evidence[LABELS];
    unsigned count;
    double sum = 0;
    setup();
    for (unsigned i = 0; i < ROWS * LABELS; i++)
        weight[i] = i % LABELS == 1 ? 1 + (float)(i % 5) : 0;
    ck_assert(!ngram_table_evidence(&table, text, strlen(text), &arena, evidence, &err));
    ck_assert(!ngram_table_phrases(&table, text, strlen(text), 1, &arena, phrases, PHRASES, &count,
                                   &err));
    ck_assert_uint_eq(count, 2); /* a line each; "rest" is behind the 58th character */
    for (unsigned i = 0; i < count; i++)
        sum += (double)phrases[i].evidence;
    ck_assert_double_eq_tol(sum, ((double)evidence[1] - (double)bias[1]) * 2 / 3, 1e-4);
    ck_assert(phrases[0].evidence >= phrases[1].evidence);
    const struct ngram_phrase *line = &phrases[phrases[0].start == 0 ? 1 : 0];
    ck_assert_uint_eq(line->start, strchr(text, '\n') + 1 - text);
    ck_assert_uint_eq(line->end, strrchr(text, '\n') - text);
    ck_assert(!ngram_table_phrases(&table, text, strlen(text), 0, &arena, phrases, PHRASES, &count,
                                   &err));
    ck_assert_uint_eq(count, 0); /* less than the average of all labels */
    teardown();
}
END_TEST

START_TEST(the_strongest_phrases_come_first_and_no_more_than_asked_for)
{
    const char many[] = "a\nb\nc\nd\ne\nf";
    struct ngram_phrase phrases[PHRASES];
    unsigned count;
    setup();
    for (unsigned label = 0; label < LABELS; label++) {
        ck_assert(!ngram_table_phrases(&table, many, strlen(many), label, &arena, phrases, PHRASES,
                                       &count, &err));
        ck_assert_uint_le(count, PHRASES);
        for (unsigned i = 0; i < count; i++) {
            ck_assert(phrases[i].evidence > 0);
            ck_assert(i == 0 || phrases[i].evidence <= phrases[i - 1].evidence);
            ck_assert_uint_eq(phrases[i].end - phrases[i].start, 1); /* lines are not joined */
        }
    }
    teardown();
}
END_TEST

START_TEST(phrases_of_a_text_with_nuls_are_those_of_the_text_without)
{
    static const char with[] = "\0x\0y z\0", without[] = "xy z";
    static const size_t place[] = {1, 3, 4, 5}; /* of the bytes without, in those with */
    struct ngram_phrase phrases[PHRASES], wanted[PHRASES];
    unsigned found = 0;
    setup();
    for (unsigned label = 0; label < LABELS; label++) {
        unsigned count, right;
        ck_assert(
            !ngram_table_phrases(&table, without, 4, label, &arena, wanted, PHRASES, &right, &err));
        ck_assert(!ngram_table_phrases(&table, with, sizeof with - 1, label, &arena, phrases,
                                       PHRASES, &count, &err));
        ck_assert_uint_eq(count, right);
        for (unsigned i = 0; i < count; i++, found++) {
            ck_assert_float_eq(phrases[i].evidence, wanted[i].evidence);
            ck_assert_uint_eq(phrases[i].start, place[wanted[i].start]);
            ck_assert_uint_eq(phrases[i].end, place[wanted[i].end - 1] + 1);
        }
    }
    ck_assert_uint_gt(found, 0);
    teardown();
}
END_TEST

SUITE("ngram_table", phrases_of_a_text_with_nuls_are_those_of_the_text_without,
      evidence_is_the_bias_and_each_rows_value_times_its_weight,
      the_shares_of_all_words_are_the_evidence,
      the_strongest_phrases_come_first_and_no_more_than_asked_for)
