/* Tokens to words and spans, on inputs made by hand. */
#include "engine/explain/words.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

/* [CLS] un ##believ ##able , pin 7 [SEP] over "unbelievable, pin 7" */
enum { TOKENS = 8 };
static const uint32_t starts[TOKENS] = {0, 0, 2, 8, 12, 14, 18, 0};
static const uint32_t ends[TOKENS] = {0, 2, 8, 12, 13, 17, 19, 0};
static const bool continued[TOKENS] = {false, false, true, true, false, false, false, false};
static const struct engine_input input = {
    .kind = ENGINE_TEXT, .tokens = TOKENS, .starts = starts, .ends = ends, .continued = continued};

START_TEST(pieces_of_a_word_are_added_and_special_tokens_left_out)
{
    const float relevance[TOKENS] = {0.5f, 0.05f, 0.1f, 0.05f, 0.02f, 0.06f, 0.12f, 0.1f};
    struct excerpt words[TOKENS];
    ck_assert_uint_eq(words_fold(&input, relevance, words), 4);
    const struct excerpt expected[] = {{0, 12, 0.5f, false},
                                       {12, 13, 0.05f, false},
                                       {14, 17, 0.15f, false},
                                       {18, 19, 0.3f, false}};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(words[i].start, expected[i].start);
        ck_assert_uint_eq(words[i].end, expected[i].end);
        ck_assert_float_eq_tol(words[i].relevance, expected[i].relevance, 1e-6f);
    }
}
END_TEST

START_TEST(words_without_relevance_are_alike)
{
    const float relevance[TOKENS] = {1, 0, 0, 0, 0, 0, 0, 0};
    struct excerpt words[TOKENS];
    unsigned count = words_fold(&input, relevance, words);
    for (unsigned i = 0; i < count; i++)
        ck_assert_float_eq_tol(words[i].relevance, 0.25f, 1e-6f);
}
END_TEST

enum { WORDS = 20 };

/* Twenty words of two characters with a blank between; `heavy` get ten times as much as the others.
 */
static void make_words(struct excerpt words[WORDS], const unsigned *heavy, unsigned count)
{
    float total = 0;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = (struct excerpt){3 * i, 3 * i + 2, 1, false};
    for (unsigned i = 0; i < count; i++)
        words[heavy[i]].relevance = 10;
    for (unsigned i = 0; i < WORDS; i++)
        total += words[i].relevance;
    for (unsigned i = 0; i < WORDS; i++)
        words[i].relevance /= total;
}

START_TEST(spans_are_the_dense_stretches_with_the_most_relevant_first)
{
    struct excerpt words[WORDS], spans[5];
    make_words(words, (const unsigned[]){2, 10, 11, 12}, 4);
    ck_assert_uint_eq(words_spans(words, WORDS, 5, spans), 2);
    ck_assert_uint_eq(spans[0].start, 30);
    ck_assert_uint_eq(spans[0].end, 38);
    ck_assert_float_eq_tol(spans[0].relevance, 30.0f / 56, 1e-5f);
    ck_assert_uint_eq(spans[1].start, 6);
    ck_assert_uint_eq(spans[1].end, 8);
}
END_TEST

START_TEST(spans_bridge_a_weak_word_between_strong_ones)
{
    struct excerpt words[WORDS], spans[5];
    make_words(words, (const unsigned[]){4, 6}, 2);
    ck_assert_uint_eq(words_spans(words, WORDS, 5, spans), 1);
    ck_assert_uint_eq(spans[0].start, 12);
    ck_assert_uint_eq(spans[0].end, 20);
}
END_TEST

START_TEST(words_of_even_relevance_and_an_empty_text_have_no_span)
{
    struct excerpt words[WORDS], spans[5];
    make_words(words, NULL, 0);
    ck_assert_uint_eq(words_spans(words, WORDS, 5, spans), 0);
    ck_assert_uint_eq(words_spans(words, 0, 5, spans), 0);
}
END_TEST

START_TEST(words_give_at_most_the_spans_asked_for_and_none_overlap)
{
    struct excerpt words[WORDS], spans[3];
    make_words(words, (const unsigned[]){0, 5, 10, 15, 19}, 5);
    ck_assert_uint_eq(words_spans(words, WORDS, 3, spans), 3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert(spans[i].end <= spans[k].start || spans[k].end <= spans[i].start);
}
END_TEST

/* Oracle: takes at most `spans_max` times the best of all stretches that touch no earlier one,
 * tried one by one. The first one of two equal stretches is taken, and the shorter. */
static unsigned spans_by_trial(const struct excerpt *words, unsigned count, unsigned spans_max,
                               struct excerpt *out)
{
    bool taken[WORDS] = {false};
    unsigned found = 0;
    for (; found < spans_max; found++) {
        double best = 1e-6;
        unsigned first = count, end = count;
        for (unsigned i = 0; i < count; i++) {
            double excess = 0;
            for (unsigned k = i; k < count && !taken[k]; k++) {
                excess += (double)words[k].relevance - 2.0 / count;
                if (excess > best + 1e-6)
                    best = excess, first = i, end = k + 1;
            }
        }
        if (first == count)
            break;
        out[found] = (struct excerpt){words[first].start, words[end - 1].end, 0, false};
        for (unsigned k = first; k < end; k++)
            out[found].relevance += words[k].relevance, taken[k] = true;
    }
    return found;
}

static bool is_among(const struct excerpt *span, const struct excerpt *spans, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (spans[i].start == span->start && spans[i].end == span->end &&
            fabsf(spans[i].relevance - span->relevance) < 1e-5f)
            return true;
    return false;
}

START_TEST(spans_are_those_that_trying_every_stretch_finds)
{
    static const struct excerpt guard = {77, 78, -1, false};
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct excerpt words[WORDS], expected[5], spans[6];
        float numbers[WORDS], total = 0;
        unsigned count = 1 + seed % WORDS, spans_max = seed % 6;
        numbers_fill(numbers, count, 1, seed);
        for (unsigned i = 0; i < count; i++)
            total += numbers[i] = powf(fabsf(numbers[i]), 3);
        for (unsigned i = 0; i < count; i++)
            words[i] = (struct excerpt){5 * i, 5 * i + 4, numbers[i] / total, false};
        spans[spans_max] = guard;
        unsigned found = words_spans(words, count, spans_max, spans);
        ck_assert_uint_eq(found, spans_by_trial(words, count, spans_max, expected));
        for (unsigned i = 0; i < found; i++) {
            ck_assert_msg(is_among(&spans[i], expected, found), "seed %u, span %u", seed, i);
            ck_assert(i == 0 || spans[i].relevance <= spans[i - 1].relevance);
        }
        ck_assert_uint_eq(spans[spans_max].start, guard.start);
    }
}
END_TEST

/* Every third of 57 words is heavy: nineteen spans, of which no answer takes more than sixteen. */
START_TEST(words_give_at_most_sixteen_spans_and_the_first_of_equal_ones)
{
    enum { MANY = 57, LIMIT = 16 };
    static const struct excerpt guard = {77, 78, -1, false};
    struct excerpt words[MANY], spans[LIMIT + 2];
    for (unsigned i = 0; i < MANY; i++)
        words[i] = (struct excerpt){3 * i, 3 * i + 2, i % 3 == 1 ? 1.0f / 32 : 0, false};
    spans[LIMIT] = guard;
    ck_assert_uint_eq(words_spans(words, MANY, LIMIT + 1, spans), 0);
    for (unsigned i = 0; i < MANY; i++)
        words[i].relevance = i % 3 == 1 ? 1.0f / 16 : 0;
    ck_assert_uint_eq(words_spans(words, MANY, LIMIT + 1, spans), LIMIT);
    for (unsigned i = 0; i < LIMIT; i++)
        ck_assert_uint_eq(spans[i].start, 3 * (3 * i + 1));
    ck_assert_uint_eq(spans[LIMIT].start, guard.start);
}
END_TEST

/* A relevance of 0.25 is twice the average of eight words: just as dense as a span must be. A word
 * like that is taken in front of a dense word and left out behind it. */
START_TEST(words_at_the_limit_of_density_begin_a_span_and_end_no_span)
{
    static const float relevance[8] = {0, 0.25f, 0.5f, 0.25f};
    struct excerpt words[8], spans[2];
    for (unsigned i = 0; i < 8; i++)
        words[i] = (struct excerpt){3 * i, 3 * i + 2, relevance[i], false};
    ck_assert_uint_eq(words_spans(words, 8, 2, spans), 1);
    ck_assert_uint_eq(spans[0].start, 3);
    ck_assert_uint_eq(spans[0].end, 8);
    ck_assert_float_eq(spans[0].relevance, 0.75f);
}
END_TEST

START_TEST(words_take_the_first_of_two_equal_spans_beside_another)
{
    struct excerpt words[WORDS], spans[2];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = (struct excerpt){3 * i, 3 * i + 2, i == 10 ? 0.5f : 0, false};
    words[2].relevance = words[17].relevance = 0.25f;
    ck_assert_uint_eq(words_spans(words, WORDS, 2, spans), 2);
    ck_assert_uint_eq(spans[0].start, 30);
    ck_assert_uint_eq(spans[1].start, 6);
}
END_TEST

/* "a b" and "c d": the densest stretch is b and c, but they are of two texts. */
START_TEST(the_words_of_a_pair_tell_their_text_and_no_span_has_both)
{
    static const int32_t pair_ids[] = {1, 5, 6, 2, 7, 8, 2};
    static const uint32_t pair_starts[] = {0, 0, 2, 0, 0, 2, 0},
                          pair_ends[] = {0, 1, 3, 0, 1, 3, 0};
    static const bool goes_on[7];
    static const float relevance[] = {0, 0.02f, 0.5f, 0, 0.46f, 0.02f, 0};
    const struct engine_input pair = {.tokens = 7,
                                      .ids = pair_ids,
                                      .starts = pair_starts,
                                      .ends = pair_ends,
                                      .pair_at = 4,
                                      .continued = goes_on};
    struct excerpt words[7], spans[5];
    ck_assert_uint_eq(words_fold(&pair, relevance, words), 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(words[i].of_pair, i >= 2);
    words[0].relevance = words[3].relevance = 0.3f; /* so that each span could go on */
    words[1].relevance = words[2].relevance = 0.9f;
    unsigned count = words_spans(words, 4, 5, spans);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_le(spans[i].start, spans[i].end);
    ck_assert_uint_ge(count, 2);
    ck_assert(spans[0].of_pair != spans[1].of_pair);
}
END_TEST

SUITE("words", the_words_of_a_pair_tell_their_text_and_no_span_has_both,
      words_take_the_first_of_two_equal_spans_beside_another,
      words_at_the_limit_of_density_begin_a_span_and_end_no_span,
      spans_are_those_that_trying_every_stretch_finds,
      words_give_at_most_sixteen_spans_and_the_first_of_equal_ones,
      pieces_of_a_word_are_added_and_special_tokens_left_out, words_without_relevance_are_alike,
      spans_are_the_dense_stretches_with_the_most_relevant_first,
      spans_bridge_a_weak_word_between_strong_ones,
      words_of_even_relevance_and_an_empty_text_have_no_span,
      words_give_at_most_the_spans_asked_for_and_none_overlap)
