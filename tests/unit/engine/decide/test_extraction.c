/* The rules of transformers' QuestionAnsweringPipeline, one by one. */
#include "engine/decide/extraction.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 9, FOUND_MAX = 256, TEXT = 4, TEXT_END = 8, NEVER = -60 };

/* [CLS] why not [SEP] a b C c [SEP], one letter each; "b" and "C" are one word. */
static const uint32_t letters[] = {'a', 'b', 'c', 'c'};
static const uint32_t starts[TOKENS] = {0, 0, 4, 0, 0, 1, 2, 3, 0},
                      ends[TOKENS] = {0, 3, 7, 0, 1, 2, 3, 4, 0};
static const bool continued[TOKENS] = {[6] = true},
                  asked[TOKENS] = {true, false, false, false, true, true, true, true, false};

static float logits[TOKENS][2];
static struct extract found[FOUND_MAX];
static uint32_t places[1024];
static float scratch[4096];

static struct extraction begin(unsigned top, bool keeps_tokens)
{
    for (unsigned t = 0; t < TOKENS; t++)
        logits[t][0] = logits[t][1] = NEVER;
    struct extraction out = {
        .options = {.top = top, .length_max = 15, .keeps_tokens = keeps_tokens},
        .letters = letters,
        .found = found,
        .places = places,
        .found_max = FOUND_MAX - 1,
        .scratch = scratch};
    extraction_begin(&out);
    return out;
}

static void add(struct extraction *extraction)
{
    ck_assert_uint_le(extraction_places(extraction->found_max), 1024);
    ck_assert_uint_le(extraction_scratch(&extraction->options, TOKENS), 4096);
    extraction_add(extraction, &(struct extraction_window){.logits = logits[0],
                                                           .starts = starts,
                                                           .ends = ends,
                                                           .continued = continued,
                                                           .asked = asked,
                                                           .tokens = TOKENS,
                                                           .text = TEXT,
                                                           .text_end = TEXT_END});
}

static void expect(unsigned i, unsigned start, unsigned end, double score)
{
    ck_assert_uint_eq(found[i].start, start);
    ck_assert_uint_eq(found[i].end, end);
    ck_assert_double_eq_tol((double)found[i].score, score, 1e-6);
}

START_TEST(extraction_multiplies_the_shares_of_start_and_end)
{
    struct extraction extraction = begin(1, true);
    logits[4][0] = logits[5][0] = 0; /* a half each */
    logits[1][0] = 50;               /* of the question: it does not count */
    logits[5][1] = 0;
    logits[7][1] = logf(3);
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 1);
    expect(0, 0, 4, 0.5 * 0.75);
}
END_TEST

START_TEST(extraction_ends_no_answer_before_its_start_nor_too_far)
{
    struct extraction extraction = begin(3, true);
    extraction.options.length_max = 2;
    logits[5][0] = 0;
    logits[4][1] = logits[5][1] = logits[6][1] = logits[7][1] = 0;
    add(&extraction);
    ck_assert_uint_ge(extraction_end(&extraction), 2);
    expect(0, 1, 2, 0.25);
    expect(1, 1, 3, 0.25);
    ck_assert_double_lt((double)found[2].score, 1e-9); /* too far, or before */
}
END_TEST

START_TEST(extraction_widens_answers_to_whole_words)
{
    struct extraction extraction = begin(1, false);
    logits[6][0] = 0;
    logits[6][1] = 0;
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 1);
    expect(0, 1, 3, 1);
    extraction = begin(1, true);
    logits[6][0] = 0;
    logits[6][1] = 0;
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 1);
    expect(0, 2, 3, 1);
}
END_TEST

/* "C" and "c" are the same text, in the same window and in two. */
START_TEST(extraction_adds_scores_of_the_same_text)
{
    struct extraction extraction = begin(1, true);
    extraction.options.top = 2;
    logits[6][0] = logits[7][0] = 0;
    logits[6][1] = logits[7][1] = 0;
    add(&extraction);
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 2);
    expect(0, 2, 3, 0.5); /* first in a window: each of its three candidates has a quarter */
    expect(1, 2, 4, 0.5);
}
END_TEST

START_TEST(extraction_takes_the_least_score_of_the_empty_answer)
{
    struct extraction extraction = begin(5, true);
    extraction.options.may_be_empty = true;
    logits[0][0] = logits[0][1] = logits[4][0] = logits[4][1] = 0;
    add(&extraction);
    logits[0][0] = logf(3);
    logits[4][1] = NEVER;
    add(&extraction);
    ck_assert_double_eq_tol((double)extraction.least, 0.25, 1e-6);
    const unsigned count = extraction_end(&extraction);
    unsigned empty = 0;
    for (unsigned i = 0; i < count; i++)
        empty += found[i].end == 0 && fabsf(found[i].score - 0.25f) < 1e-6f;
    ck_assert_uint_eq(empty, 1);
}
END_TEST

START_TEST(extraction_gives_cls_no_answer_of_its_own)
{
    struct extraction extraction = begin(1, false);
    logits[0][0] = logits[0][1] = 5;
    logits[4][0] = logits[4][1] = 0;
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 1);
    const double share = 1 / (1 + exp(5));
    expect(0, 0, 1, share * share);
}
END_TEST

START_TEST(extraction_never_gives_more_than_asked_and_sorts_them)
{
    struct extraction extraction = begin(4, true);
    for (unsigned t = TEXT; t < TEXT_END; t++) {
        logits[t][0] = (float)t;
        logits[t][1] = (float)(t % 3);
    }
    add(&extraction);
    add(&extraction);
    ck_assert_uint_eq(extraction_end(&extraction), 4);
    for (unsigned i = 1; i < 4; i++)
        ck_assert(found[i].score <= found[i - 1].score);
}
END_TEST

SUITE("extraction", extraction_multiplies_the_shares_of_start_and_end,
      extraction_ends_no_answer_before_its_start_nor_too_far,
      extraction_widens_answers_to_whole_words, extraction_adds_scores_of_the_same_text,
      extraction_takes_the_least_score_of_the_empty_answer,
      extraction_gives_cls_no_answer_of_its_own,
      extraction_never_gives_more_than_asked_and_sorts_them)
