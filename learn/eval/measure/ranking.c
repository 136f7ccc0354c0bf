#include "learn/eval/measure/ranking.h"

#include "engine/base/rng.h"

#include <math.h>
#include <stdint.h>

enum { NDCG_TOP = 10 };

const unsigned ranking_cuts[RANKING_CUTS] = {1, 5, 10, 100};

/* True if document a is placed before document b. */
static bool is_before(const struct ranking_query *query, size_t a, size_t b)
{
    const float x = query->scores[a], y = query->scores[b];
    if (isfinite(x) != isfinite(y))
        return isfinite(x);
    if (isfinite(x) && x != y)
        return x > y;
    const uint64_t left = rng_mix(a + 1), right = rng_mix(b + 1);
    return left < right;
}

/* top [RANKING_TOP] <- the first documents, in order. Returns how many there are. */
static size_t take_top(const struct ranking_query *query, size_t top[RANKING_TOP])
{
    size_t count = 0;
    for (size_t d = 0; d < query->documents; d++) {
        if (d == query->self ||
            (count == RANKING_TOP && !is_before(query, d, top[RANKING_TOP - 1])))
            continue;
        size_t at = count < RANKING_TOP ? count++ : RANKING_TOP - 1;
        for (; at > 0 && is_before(query, d, top[at - 1]); at--)
            top[at] = top[at - 1];
        top[at] = d;
    }
    return count;
}

/* The place, from 1, of the first relevant document; *relevant gets their number. */
static size_t first_place(const struct ranking_query *query, size_t *relevant)
{
    size_t best = SIZE_MAX, place = 1;
    *relevant = 0;
    for (size_t d = 0; d < query->documents; d++) {
        if (d == query->self || !query->relevant[d])
            continue;
        ++*relevant;
        if (best == SIZE_MAX || is_before(query, d, best))
            best = d;
    }
    for (size_t d = 0; d < query->documents && best != SIZE_MAX; d++)
        place += d != query->self && d != best && is_before(query, d, best);
    return place;
}

void ranking_add(struct ranking *ranking, const struct ranking_query *query)
{
    size_t top[RANKING_TOP], relevant, found = 0;
    const size_t place = first_place(query, &relevant);
    if (relevant == 0) {
        ranking->without++;
        return;
    }
    const size_t count = take_top(query, top);
    double gain = 0, best = 0;
    unsigned cut = 0;
    for (size_t i = 0; i < RANKING_TOP; i++) {
        const bool hit = i < count && query->relevant[top[i]];
        found += hit;
        if (i < NDCG_TOP) {
            gain += hit ? 1 / log2((double)i + 2) : 0;
            best += i < relevant ? 1 / log2((double)i + 2) : 0;
        }
        if (cut < RANKING_CUTS && i + 1 == ranking_cuts[cut]) {
            ranking->recall[cut] += (double)found / (double)relevant;
            ranking->hit[cut++] += found > 0;
        }
    }
    ranking->queries++;
    ranking->ndcg += gain / best;
    ranking->mrr += 1 / (double)place;
}

void ranking_finish(struct ranking *ranking)
{
    const double queries = ranking->queries > 0 ? (double)ranking->queries : 1;
    ranking->ndcg /= queries;
    ranking->mrr /= queries;
    for (unsigned cut = 0; cut < RANKING_CUTS; cut++) {
        ranking->recall[cut] /= queries;
        ranking->hit[cut] /= queries;
    }
}
