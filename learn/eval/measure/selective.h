/* selective.h - selective classification: decides which answers are automatic. Risk against
 * coverage, and thresholds.
 *
 *     selective_curve(&curve, verdicts, count, 0.95);
 *     selective_thresholds(thresholds, label_count, verdicts, count, &goal);
 *     selective_decide(&decisions, thresholds, verdicts, count);
 *
 * Coverage is the share of inputs that are answered automatically, precision the share of these
 * that is right, risk 1 - precision. There are two kinds of thresholds: one for all inputs, as in
 * papers (El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017), and one for each class, as a fab
 * needs: automatic Scratch answers must reach the target precision by themselves. Threads: no
 * state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SELECTIVE_H
#define ATTND_LEARN_EVAL_MEASURE_SELECTIVE_H

#include "learn/eval/measure/calibration.h"

#include <stdbool.h>
#include <stddef.h>

enum { SELECTIVE_POINTS_MAX = 256 };

struct selective_point {
    double coverage, risk;
};

struct selective_curve {
    size_t count;
    double aurc;     /* area under risk over coverage; equal scores count in random order */
    double coverage; /* the largest coverage with at least the target precision; 0: none has */
    float threshold; /* lowest score at this coverage */
    struct selective_point points[SELECTIVE_POINTS_MAX]; /* ascending coverage; the last is 1 */
    unsigned point_count;
};

/* Sorts the verdicts. Equal scores stay together, since no threshold can separate them. */
void selective_curve(struct selective_curve *out, struct verdict *verdicts, size_t count,
                     double target_precision);

struct selective_goal {
    double target_precision; /* 0 .. 1 */
    double z;                /* confidence, see wilson_interval_at; 0: by the share alone */
};

/* Confidence of 90 %. By the share alone a class with a single right answer would be trusted at
 * every score. To reach 95 % precision, 95 % confidence needs 52 right answers without a mistake,
 * 90 % confidence 32. The bound is Wilson's and not Clopper and Pearson's, which is conservative by
 * design: Wilson's average coverage is nearer to the nominal one (Agresti and Coull 1998), and it
 * needs no beta quantile. */
#define SELECTIVE_Z 1.2815515655446004

/* Number of right answers without a mistake that reaches the goal; 0: no number does. */
size_t selective_right_min(const struct selective_goal *goal);

struct selective_threshold {
    bool reachable; /* false: this label is never automatic */
    float score;    /* lowest automatic score, if reachable */
    size_t count;   /* verdicts with this label from that score on, and how many are right */
    size_t right;
};

/* out: [label_count]. A label's threshold is the lowest score from which on the bound on its
 * precision reaches the goal. It is a score that occurred: below the lowest one no precision is
 * guaranteed. Labels with too few answers to reach the goal by themselves are judged together and
 * share a threshold: together, but not each by itself, their automatic answers reach the target
 * precision. A label that was never answered has no threshold. Sorts the verdicts. */
void selective_thresholds(struct selective_threshold *out, unsigned label_count,
                          struct verdict *verdicts, size_t count,
                          const struct selective_goal *goal);

struct selective_decisions {
    size_t count;
    size_t automatic, right; /* automatic answers; right automatic answers */
    size_t review, unknown;
};

/* Adds the decisions on the verdicts to *sum, so that folds can be summed. */
void selective_decide(struct selective_decisions *sum, const struct selective_threshold *thresholds,
                      const struct verdict *verdicts, size_t count);

#endif
