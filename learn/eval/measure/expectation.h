/* expectation.h - the figures that a confusion matrix predicts for a stream with other shares of
 * the labels: each input weighs q_c / p_c, the expected over the counted share of its label
 * (importance weights; Lipton, Wang and Smola 2018, equation 1, which assumes that the inputs of a
 * label look the same).
 *
 *     expectation_measure(&expectation, &confusion, shares, seed, &err);
 *     expectation.macro_f1;
 *     expectation_close(&expectation);
 *
 * With r_lw the share of inputs of label l that is answered w,
 *
 *     accuracy = sum_c q_c r_cc       F1_c = 2 q_c r_cc / (q_c + sum_l q_l r_lc)
 *
 * A label without a counted input is left out, and its expected share is divided among the others.
 * Accuracy has the interval of statistics/statistics.h, macro-F1 a percentile bootstrap within
 * labels. Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_EXPECTATION_H
#define ATTND_LEARN_EVAL_MEASURE_EXPECTATION_H

#include "engine/statistics/statistics.h"
#include "learn/eval/measure/confusion.h"

#include <stdint.h>

struct expectation_class {
    double share; /* expected, of all labels */
    double precision, f1;
};

struct expectation {
    unsigned class_count;
    double unseen; /* the expected share of labels without an input */
    double accuracy, macro_f1;
    struct interval accuracy_interval, macro_f1_interval;
    struct expectation_class *classes; /* [class_count] */
};

/* shares [class_count] must have the sum 1, and `confusion` must be finished. ERR_UNUSABLE if no
 * expected label was counted; ERR_NO_MEMORY. Close it in any case. */
enum err_code expectation_measure(struct expectation *out, const struct confusion *confusion,
                                  const double *shares, uint64_t seed, struct err *err);
void expectation_close(struct expectation *expectation);

#endif
