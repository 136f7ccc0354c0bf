/* calibration.h - fits a temperature, and measures how well scores are calibrated.
 *
 *     struct calibration_set set = {.logits = logits, .classes = classes, .count = n, ...};
 *     double temperature = calibration_temperature(&set);
 *     calibration_predictions(&set, temperature, verdicts);
 *     calibration_bins(bins, verdicts, n);
 *     calibration_ece(bins);
 *
 * A temperature divides the logits before the softmax (or, if `sigmoid`, before each label's
 * sigmoid) and changes no winner: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural
 * networks", ICML 2017. A figure on the inputs that a temperature was fitted on is optimistic:
 * findings.h uses cross-validation. Threads: no state; verdicts are plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_CALIBRATION_H
#define ATTND_LEARN_EVAL_MEASURE_CALIBRATION_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CALIBRATION_BINS = 15 };

/* Logits with the true class. Inputs of sigmoid models have one label too; all others are wrong. */
struct calibration_set {
    const float *logits;     /* [.., label_count] */
    const unsigned *classes; /* [..] */
    const size_t *items;     /* [count] rows to use; NULL: 0 .. count - 1 */
    size_t count;
    unsigned label_count;
    bool sigmoid;
};

/* A label that a model gives an input, with its score. */
struct verdict {
    float score; /* as a server computes it, in the precision of thresholds */
    unsigned label;
    bool right;
    size_t item;
};

/* The temperature with the lowest negative log-likelihood, within CALIBRATION_TEMPERATURE_MIN ..
 * _MAX. A set without mistakes has no optimum and gives the lower bound. */
#define CALIBRATION_TEMPERATURE_MIN 0.05
#define CALIBRATION_TEMPERATURE_MAX 20.0
double calibration_temperature(const struct calibration_set *set);

/* The same, but returns `present` and sets *bound if the fit ends at a bound, since scores would
 * become all 1 or all equal. Else *bound is 0. */
double calibration_temperature_within(const struct calibration_set *set, double present,
                                      double *bound);

/* Sums over inputs; the caller divides by their number, or adds up folds first. NLL is in nats. The
 * Brier score is the sum of (score - truth)^2 over labels (0 to 2; Brier 1950). For sigmoid models
 * both are means over the labels, as of binary problems. */
struct calibration_losses {
    double nll, brier;
};
struct calibration_losses calibration_losses(const struct calibration_set *set, double temperature);

/* Computes the winner of each input: [count]; the first of equal logits. */
void calibration_predictions(const struct calibration_set *set, double temperature,
                             struct verdict *out);
/* Computes each label of each input, by its sigmoid: [count, label_count]. */
void calibration_labels(const struct calibration_set *set, double temperature, struct verdict *out);

/* Fills the verdicts that measure scores: the winners or, with independent labels, all labels.
 * Returns their number. */
size_t calibration_verdicts(const struct calibration_set *set, double temperature,
                            struct verdict *out);
/* Number of verdicts of one input. */
size_t calibration_verdicts_each(const struct calibration_set *set);

/* A bin of verdicts: their number, their mean score, and the share that is right. */
struct calibration_bin {
    size_t count;
    double score, right;
};

/* Bins of equal width over 0 .. 1; the upper edge belongs to a bin. */
void calibration_bins(struct calibration_bin bins[CALIBRATION_BINS], const struct verdict *verdicts,
                      size_t count);
/* Bins of equal mass (Nguyen and O'Connor 2015): equal scores stay together. Sorts the verdicts. */
void calibration_bins_by_mass(struct calibration_bin bins[CALIBRATION_BINS],
                              struct verdict *verdicts, size_t count);
/* Expected calibration error: the mean of |score - right| over verdicts (Naeini et al. 2015). */
double calibration_ece(const struct calibration_bin bins[CALIBRATION_BINS]);

#endif
