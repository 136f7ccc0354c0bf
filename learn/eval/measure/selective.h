/* selective.h - selective classification, which answers are automatic: risk against coverage, and
 * thresholds.
 *
 *     selective_curve(&curve, verdicts, count, 0.95);
 *     selective_thresholds(thresholds, label_count, verdicts, count, &goal);
 *     selective_decide(&decisions, thresholds, verdicts, count);
 *
 * Coverage is the share of inputs answered automatically, precision the share of these that is
 * right, risk the rest. Two ways to choose: one score for all inputs, as papers do (El-Yaniv and
 * Wiener 2010; Geifman and El-Yaniv 2017), and one for each class, as a fab asks for: automatic
 * Scratch answers must reach the target precision by themselves. Threads: no state.
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
    double coverage; /* the largest at which precision is at least the target; 0: none is */
    float threshold; /* lowest score of these */
    struct selective_point points[SELECTIVE_POINTS_MAX]; /* rising coverage; the last is 1 */
    unsigned point_count;
};

/* Sorts the verdicts. Equal scores are never separated: no threshold could. */
void selective_curve(struct selective_curve *out, struct verdict *verdicts, size_t count,
                     double target_precision);

struct selective_goal {
    double target_precision; /* 0 .. 1 */
    double z;                /* confidence, see wilson_interval_at; 0: by the share alone */
};

/* 90 % sure. By the share alone a class with a single right answer would be trusted with every
 * score; at 95 % sure it takes 52 right answers without a mistake to reach 95 % precision, at 90 %
 * sure 32. Wilson's bound and not Clopper and Pearson's, which is conservative by design: its
 * average cover is nearer to what it says (Agresti and Coull 1998), and it needs no beta quantile.
 */
#define SELECTIVE_Z 1.2815515655446004

/* How many right answers without a mistake vouch for the goal; 0: no number does. */
size_t selective_right_min(const struct selective_goal *goal);

struct selective_threshold {
    bool reachable; /* no: this label is never automatic */
    float score;    /* lowest automatic score, if reachable */
    size_t count;   /* of verdicts with this label from that score on, and how many are right */
    size_t right;
};

/* out: [label_count]. The lowest score of each label from which on the bound on its precision
 * reaches the goal. It is a score that was seen: below the lowest one no precision is guaranteed.
 * Labels with so few answers that no score of their own could reach it are judged together and
 * share one: their automatic answers together reach the target precision, but not each label by
 * itself. A label that was never answered has no threshold. Sorts the verdicts. */
void selective_thresholds(struct selective_threshold *out, unsigned label_count,
                          struct verdict *verdicts, size_t count,
                          const struct selective_goal *goal);

struct selective_decisions {
    size_t count;
    size_t automatic, right; /* right: of the automatic ones */
    size_t review, unknown;
};

/* Adds verdicts, so that folds can be added up. */
void selective_decide(struct selective_decisions *sum, const struct selective_threshold *thresholds,
                      const struct verdict *verdicts, size_t count);

#endif
