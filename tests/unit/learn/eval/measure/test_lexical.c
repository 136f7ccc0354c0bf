/* lexical.h against the formulas, summed over all words of a small language by hand. */
#include "learn/eval/measure/lexical.h"

#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENTS = 4, WORDS = 5 }; /* fail, scan_3, chain, 0x1f and one that is not ASCII */
/* Counts of each word in each document, and in the query. */
static const unsigned counts[DOCUMENTS][WORDS] = {
    {2, 1, 0, 0, 1}, {0, 0, 3, 1, 0}, {1, 1, 1, 1, 1}, {0, 0, 0, 4, 0}};
static const unsigned asked[WORDS] = {2, 1, 0, 0, 1};

static const char *const texts[DOCUMENTS] = {
    "FAIL: scan_3; fail \xC3\xBC", "chain chain 0x1F chain", "fail\nscan_3 chain(0x1f) \xC3\xBC",
    "0x1f 0X1F--0x1f,0x1f"};
static const char query[] = "fail Scan_3 fail unknown \xC3\xBC";

static struct lexical_text text_of(const char *bytes)
{
    return (struct lexical_text){bytes, strlen(bytes)};
}

static double frequency(unsigned word)
{
    double documents = 0;
    for (unsigned d = 0; d < DOCUMENTS; d++)
        documents += counts[d][word] > 0;
    return documents;
}

static double bm25_by_hand(unsigned d)
{
    double sum = 0, length = 0, mean = 0;
    for (unsigned w = 0; w < WORDS; w++) {
        length += counts[d][w];
        for (unsigned i = 0; i < DOCUMENTS; i++)
            mean += (double)counts[i][w] / DOCUMENTS;
    }
    for (unsigned w = 0; w < WORDS; w++) {
        const double df = frequency(w), tf = counts[d][w];
        const double idf = log(1 + (DOCUMENTS - df + 0.5) / (df + 0.5));
        sum += asked[w] * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean));
    }
    return sum;
}

static double tfidf_by_hand(unsigned d)
{
    double ab = 0, aa = 0, bb = 0;
    for (unsigned w = 0; w < WORDS; w++) {
        const double idf = log((1.0 + DOCUMENTS) / (1 + frequency(w))) + 1;
        ab += counts[d][w] * idf * asked[w] * idf;
        aa += counts[d][w] * idf * counts[d][w] * idf;
        bb += asked[w] * idf * asked[w] * idf;
    }
    return ab / sqrt(aa) / sqrt(bb);
}

static void open_texts(struct lexical *lexical)
{
    struct lexical_text list[DOCUMENTS];
    struct err err = {0};
    for (unsigned d = 0; d < DOCUMENTS; d++)
        list[d] = text_of(texts[d]);
    ck_assert(!lexical_open(lexical, list, DOCUMENTS, &err));
}

START_TEST(scores_are_the_formulas)
{
    struct lexical lexical;
    struct err err = {0};
    float scores[DOCUMENTS];
    open_texts(&lexical);
    ck_assert_uint_eq(lexical.word_count, WORDS);
    for (unsigned pass = 0; pass < 2; pass++) { /* a query leaves nothing behind */
        const struct lexical_text text = text_of(query);
        ck_assert(!lexical_score(&lexical, LEXICAL_BM25, &text, scores, &err));
        for (unsigned d = 0; d < DOCUMENTS; d++)
            ck_assert_double_eq_tol((double)scores[d], bm25_by_hand(d), 1e-6);
        ck_assert(!lexical_score(&lexical, LEXICAL_TFIDF, &text, scores, &err));
        for (unsigned d = 0; d < DOCUMENTS; d++)
            ck_assert_double_eq_tol((double)scores[d], tfidf_by_hand(d), 1e-6);
    }
    lexical_close(&lexical);
}
END_TEST

START_TEST(a_text_without_a_known_word_finds_nothing)
{
    struct lexical lexical;
    struct err err = {0};
    float scores[DOCUMENTS];
    open_texts(&lexical);
    for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++) {
        const struct lexical_text blank = text_of(" ;-- "), other = text_of("other words");
        ck_assert(!lexical_score(&lexical, (enum lexical_kind)kind, &blank, scores, &err));
        ck_assert(scores[0] == 0 && scores[DOCUMENTS - 1] == 0);
        ck_assert(!lexical_score(&lexical, (enum lexical_kind)kind, &other, scores, &err));
        ck_assert(scores[0] == 0 && scores[DOCUMENTS - 1] == 0);
    }
    lexical_close(&lexical);
}
END_TEST

/* More words than the table has slots at first. */
START_TEST(many_words_are_told_apart)
{
    enum { MANY = 3000 };
    static char all[MANY * 8];
    size_t len = 0;
    struct lexical lexical;
    struct err err = {0};
    for (unsigned w = 0; w < MANY; w++)
        len += (size_t)snprintf(all + len, sizeof all - len, "w%u ", w);
    const struct lexical_text list[] = {{all, len}, text_of("w17 w2999")}, query_text = list[1];
    float scores[2];
    ck_assert(!lexical_open(&lexical, list, 2, &err));
    ck_assert_uint_eq(lexical.word_count, MANY);
    ck_assert(lexical.lengths[0] == MANY && lexical.lengths[1] == 2);
    ck_assert(!lexical_score(&lexical, LEXICAL_TFIDF, &query_text, scores, &err));
    ck_assert_double_eq_tol((double)scores[1], 1, 1e-6);
    lexical_close(&lexical);
}
END_TEST

SUITE("lexical", scores_are_the_formulas, a_text_without_a_known_word_finds_nothing,
      many_words_are_told_apart)
