#include "learn/eval/explain/explanations.h"

#include "engine/base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { PURPOSE = 0x4641 };

/* ---- orders ---- */

void faithfulness_random_order(unsigned parts, uint64_t seed, unsigned *order)
{
    struct rng rng = rng_for(seed, PURPOSE, parts);
    for (unsigned i = 0; i < parts; i++) {
        unsigned at = rng_below(&rng, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

struct ranking {
    const float *relevance;
    uint32_t key;
};

/* Hashes of different parts differ (rng_hash is a bijection), so that no two parts are equal. */
static int by_relevance(const void *left, const void *right, void *context)
{
    const struct ranking *ranking = context;
    unsigned i = *(const unsigned *)left, k = *(const unsigned *)right;
    float a = ranking->relevance[i], b = ranking->relevance[k];
    uint32_t draw_i = rng_hash(ranking->key, i), draw_k = rng_hash(ranking->key, k);
    return a != b ? (a < b) - (a > b) : (draw_i > draw_k) - (draw_i < draw_k);
}

void faithfulness_order(const float *relevance, unsigned parts, uint64_t seed, unsigned *order)
{
    struct ranking ranking = {.relevance = relevance, .key = (uint32_t)seed};
    for (unsigned i = 0; i < parts; i++)
        order[i] = i;
    qsort_r(order, parts, sizeof *order, by_relevance, &ranking);
}

/* ---- curves ---- */

/* Asks for a curve: all parts start in one state, and more and more of the order's first parts
 * change. */
static void ask_curve(const struct scorer *scorer, const unsigned *order, unsigned parts,
                      bool inserted, bool *kept, struct score *points)
{
    const uint64_t all = parts;
    unsigned done = 0;
    memset(kept, !inserted, parts * sizeof *kept);
    for (unsigned step = 1; step < FAITHFULNESS_STEPS; step++) {
        /* Number of parts that make up step x 5 % of all. */
        const uint64_t next = (all * step + FAITHFULNESS_STEPS / 2) / FAITHFULNESS_STEPS;
        for (; done < next; done++)
            kept[order[done]] = inserted;
        scorer->ask(scorer->context, kept, &points[step]);
    }
}

void faithfulness_ask(const struct scorer *scorer, const unsigned *order, unsigned parts,
                      bool *kept, struct faithfulness_curves *out)
{
    ask_curve(scorer, order, parts, false, kept, out->deletion);
    ask_curve(scorer, order, parts, true, kept, out->insertion);
}

void faithfulness_end(struct faithfulness_curves *curves, struct score whole, struct score empty)
{
    curves->deletion[0] = curves->insertion[FAITHFULNESS_STEPS] = whole;
    curves->insertion[0] = curves->deletion[FAITHFULNESS_STEPS] = empty;
}

double faithfulness_area(const struct score *points, enum score_scale scale)
{
    double sum = (points[0].on[scale] + points[FAITHFULNESS_STEPS].on[scale]) / 2;
    for (unsigned step = 1; step < FAITHFULNESS_STEPS; step++)
        sum += points[step].on[scale];
    return sum / FAITHFULNESS_STEPS;
}

/* ---- occlusion ---- */

void faithfulness_ask_occlusion(const struct scorer *scorer, unsigned parts, bool *kept,
                                struct score *without)
{
    memset(kept, true, parts * sizeof *kept);
    for (unsigned part = 0; part < parts; part++) {
        kept[part] = false;
        scorer->ask(scorer->context, kept, &without[part]);
        kept[part] = true;
    }
}

void faithfulness_occlusion(struct score whole, const struct score *without, unsigned parts,
                            float *relevance)
{
    for (unsigned part = 0; part < parts; part++)
        relevance[part] = (float)(whole.on[SCORE_LOG_ODDS] - without[part].on[SCORE_LOG_ODDS]);
}
