/* ranking.h - how well a search puts relevant documents first, over many queries.
 *
 *     struct ranking ranking = {0};
 *     ranking_add(&ranking, &query);                        for each query
 *     ranking_finish(&ranking);
 *     ... ranking.ndcg, ranking.mrr, ranking.recall[i] at RANKING_CUTS[i] ...
 *
 * A document is relevant or not. With R relevant documents and r_i = 1 if the i-th one is:
 *
 *     nDCG@10   sum over i <= 10 of r_i / log2(i + 1), over the same sum of the best order
 *               (Jarvelin and Kekalainen 2002)
 *     MRR       1 / place of the first relevant document
 *     recall@k  relevant ones among the first k, over R
 *     hit@k     1 if there is one among the first k
 *
 * Each figure is the mean over the queries that have a relevant document; the others are counted.
 * Documents with equal scores are ordered by a hash of their numbers, so that their order in the
 * list, which is often by class, helps nobody. Cost: a query reads its scores 3 times.
 * Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_RANKING_H
#define ATTND_LEARN_EVAL_MEASURE_RANKING_H

#include <stdbool.h>
#include <stddef.h>

enum { RANKING_CUTS = 4, RANKING_TOP = 100 };
extern const unsigned ranking_cuts[RANKING_CUTS]; /* 1, 5, 10, 100; none above RANKING_TOP */

struct ranking {
    size_t queries; /* with a relevant document */
    size_t without; /* queries that have none, which no figure counts */
    double ndcg, mrr, recall[RANKING_CUTS], hit[RANKING_CUTS];
};

struct ranking_query {
    const float *scores;  /* [documents] larger is closer */
    const bool *relevant; /* [documents] */
    size_t documents;
    size_t self; /* a document that is the query itself and left out; SIZE_MAX: none */
};

/* Scores that are not finite come last. */
void ranking_add(struct ranking *ranking, const struct ranking_query *query);
/* Sums become means. */
void ranking_finish(struct ranking *ranking);

#endif
