#include "learn/eval/measure/ranking.h"

#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static struct ranking add_one(const float *scores, const bool *relevant, size_t documents,
                              size_t self)
{
    struct ranking ranking = {0};
    ranking_add(&ranking, &(struct ranking_query){scores, relevant, documents, self});
    ranking_finish(&ranking);
    return ranking;
}

/* Relevant documents at places 1, 3 and 6 of six. */
START_TEST(figures_are_the_definitions)
{
    static const float scores[] = {6, 5, 4, 3, 2, 1};
    static const bool relevant[] = {true, false, true, false, false, true};
    const struct ranking r = add_one(scores, relevant, 6, SIZE_MAX);
    const double gain = 1 + 1 / log2(4) + 1 / log2(7), best = 1 + 1 / log2(3) + 1 / log2(4);
    ck_assert_uint_eq(r.queries, 1);
    ck_assert_double_eq_tol(r.ndcg, gain / best, 1e-12);
    ck_assert_double_eq(r.mrr, 1);
    ck_assert_double_eq_tol(r.recall[0], 1.0 / 3, 1e-12);
    ck_assert_double_eq_tol(r.recall[1], 2.0 / 3, 1e-12);
    ck_assert_double_eq(r.recall[2], 1);
    ck_assert_double_eq(r.recall[3], 1);
    ck_assert_double_eq(r.hit[0], 1);
}
END_TEST

START_TEST(the_query_itself_is_left_out)
{
    static const float scores[] = {9, 5, 4, 3};
    static const bool relevant[] = {true, false, true, false};
    const struct ranking r = add_one(scores, relevant, 4, 0);
    ck_assert_double_eq_tol(r.ndcg, 1 / log2(3), 1e-12);
    ck_assert_double_eq(r.mrr, 0.5);
    ck_assert_double_eq(r.hit[0], 0);
    ck_assert_double_eq(r.recall[1], 1);
}
END_TEST

START_TEST(a_query_without_a_relevant_document_counts_apart)
{
    static const float scores[] = {2, 1};
    static const bool none[] = {false, false}, first[] = {true, false};
    struct ranking r = {0};
    ranking_add(&r, &(struct ranking_query){scores, none, 2, SIZE_MAX});
    ranking_add(&r, &(struct ranking_query){scores, first, 2, SIZE_MAX});
    ranking_finish(&r);
    ck_assert(r.queries == 1 && r.without == 1);
    ck_assert_double_eq(r.ndcg, 1);
}
END_TEST

/* 20 of 400 documents with one score are relevant: wherever these stand in the list, about one in
 * twenty of the first ten is. */
START_TEST(equal_scores_are_no_order)
{
    enum { DOCUMENTS = 400, RELEVANT = 20 };
    static float scores[DOCUMENTS];
    double sum = 0;
    for (size_t from = 0; from + RELEVANT <= DOCUMENTS; from += RELEVANT) {
        bool relevant[DOCUMENTS] = {false};
        memset(relevant + from, true, RELEVANT);
        sum += add_one(scores, relevant, DOCUMENTS, SIZE_MAX).ndcg;
    }
    ck_assert_double_eq_tol(sum * RELEVANT / DOCUMENTS, (double)RELEVANT / DOCUMENTS, 1e-9);
}
END_TEST

START_TEST(scores_that_are_not_finite_come_last)
{
    static const float scores[] = {NAN, -5, INFINITY};
    static const bool relevant[] = {false, true, false};
    ck_assert_double_eq(add_one(scores, relevant, 3, SIZE_MAX).mrr, 1);
}
END_TEST

/* Beyond the hundred that are kept in order. */
START_TEST(a_relevant_document_far_behind_has_its_place)
{
    enum { DOCUMENTS = 300 };
    static float scores[DOCUMENTS];
    static bool relevant[DOCUMENTS];
    for (size_t d = 0; d < DOCUMENTS; d++)
        scores[d] = (float)(d * 7 % DOCUMENTS);
    for (size_t d = 0; d < DOCUMENTS; d++)
        relevant[d] = scores[d] == 49; /* the 251st */
    const struct ranking r = add_one(scores, relevant, DOCUMENTS, SIZE_MAX);
    ck_assert_double_eq_tol(r.mrr, 1.0 / 251, 1e-12);
    ck_assert(r.ndcg == 0 && r.recall[3] == 0);
}
END_TEST

SUITE("ranking", figures_are_the_definitions, the_query_itself_is_left_out,
      a_query_without_a_relevant_document_counts_apart, equal_scores_are_no_order,
      scores_that_are_not_finite_come_last, a_relevant_document_far_behind_has_its_place)
