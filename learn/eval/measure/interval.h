/* interval.h - confidence intervals of figures, given the inputs that they were measured on.
 *
 *     struct interval accuracy = wilson_interval(hits, count);
 *     interval_bootstrap_f1(&macro_f1, f1, &confusion, seed, &err);
 *
 * A share has Wilson's interval in closed form. F1 has none, and is resampled: percentile bootstrap
 * over inputs (Efron and Tibshirani 1993, chapter 13). All at 95 %. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_INTERVAL_H
#define ATTND_LEARN_EVAL_MEASURE_INTERVAL_H

#include "engine/base/err.h"
#include "engine/decide/wilson.h"
#include "learn/eval/measure/confusion.h"

#include <stddef.h>
#include <stdint.h>

/* The mean of so many values and its interval, by Student's t, whose quantile is taken from the
 * normal one's (Cornish and Fisher 1938; within 3 % from three values on). Fewer than three values
 * bound nothing: the ends are infinite; the mean of none is 0. */
struct interval interval_mean(const double *values, size_t count, double *mean);

/* f1: [class_count]. Inputs are drawn with replacement, as many as there are: 1000 times, but at
 * least 100 times when they are so many that it would take seconds. A class that a draw leaves
 * without label and winner is not counted in it. The same seed gives the same intervals. */
enum err_code interval_bootstrap_f1(struct interval *macro_f1, struct interval *f1,
                                    const struct confusion *confusion, uint64_t seed,
                                    struct err *err);

#endif
