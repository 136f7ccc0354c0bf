/* faithfulness.h - measures whether an explanation names the parts that the answer depends on:
 * deletion and insertion (Petsiuk, Das and Saenko 2018, "RISE"; for words DeYoung et al. 2020,
 * "ERASER").
 *
 *     faithfulness_order(relevance, parts, seed, order);
 *     faithfulness_ask(&scorer, order, parts, kept, &curves);
 *     scorer.flush(scorer.context);
 *     faithfulness_end(&curves, whole, empty);
 *     faithfulness_area(curves.deletion, SCORE_PROBABILITY);
 *
 * Parts are ranked by relevance. Deletion removes the most relevant parts first; a faithful ranking
 * makes the score fall early, so the area under the curve is small. Insertion starts without any
 * part and adds the most relevant first; a faithful ranking gives a large area. Each area alone
 * depends on what replaces removed parts, so methods are compared by insertion minus deletion.
 *
 * There are two references. A random order explains nothing. Occlusion (Zeiler and Fergus 2014)
 * removes each part alone, and the fall of the score is its relevance. It needs as many runs of the
 * model as there are parts, a cost that attention avoids.
 *
 * Threads: pure functions; a scorer is one thread's.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_FAITHFULNESS_H
#define ATTND_LEARN_EVAL_EXPLAIN_FAITHFULNESS_H

#include "learn/eval/explain/probe.h"

#include <stdint.h>

/* The score at 0, 5, 10 ... 100 % of the parts. */
enum { FAITHFULNESS_STEPS = 20, FAITHFULNESS_POINTS = FAITHFULNESS_STEPS + 1 };

struct faithfulness_curves {
    struct score deletion[FAITHFULNESS_POINTS], insertion[FAITHFULNESS_POINTS];
};

/* order [parts]: the most relevant part first; equal parts in a random order from the seed, so that
 * their positions do not matter. relevance [parts], finite. */
void faithfulness_order(const float *relevance, unsigned parts, uint64_t seed, unsigned *order);
/* order [parts]: a random order; all are equally likely. */
void faithfulness_random_order(unsigned parts, uint64_t seed, unsigned *order);

/* Asks for all points but the first and the last, which are the same for every order. kept [parts]
 * is scratch. */
void faithfulness_ask(const struct scorer *scorer, const unsigned *order, unsigned parts,
                      bool *kept, struct faithfulness_curves *out);
/* Sets the first and the last points: the scores of the whole input and of the empty one. */
void faithfulness_end(struct faithfulness_curves *curves, struct score whole, struct score empty);

/* Asks for the input without each of its parts: without [parts]. kept [parts] is scratch. */
void faithfulness_ask_occlusion(const struct scorer *scorer, unsigned parts, bool *kept,
                                struct score *without);
/* relevance [parts]: the fall of the log-odds. It ranks parts as the fall of the probability does,
 * and distinguishes parts that the probability's rounding makes equal. */
void faithfulness_occlusion(struct score whole, const struct score *without, unsigned parts,
                            float *relevance);

/* The area under points[FAITHFULNESS_POINTS] over 0 .. 1, by trapezoids. */
double faithfulness_area(const struct score *points, enum score_scale scale);

#endif
