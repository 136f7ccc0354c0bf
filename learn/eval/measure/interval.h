/* interval.h - confidence intervals of figures, given the inputs that they were measured on.
 *
 *     struct interval accuracy = wilson_interval(hits, count);
 *     interval_bootstrap_f1(&macro_f1, f1, &confusion, seed, &err);
 *
 * A share has Wilson's interval, in closed form. F1 has no closed form and gets a percentile
 * bootstrap over inputs (Efron and Tibshirani 1993, chapter 13). All are 95 % intervals. Threads:
 * no state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_INTERVAL_H
#define ATTND_LEARN_EVAL_MEASURE_INTERVAL_H

#include "engine/base/err.h"
#include "engine/statistics/statistics.h"
#include "learn/eval/measure/confusion.h"

#include <stddef.h>
#include <stdint.h>

/* The mean of `count` values and its interval, by Student's t. The quantile of t is computed from
 * the normal one (Cornish and Fisher 1938; within 3 % from three values on). With fewer than three
 * values the ends are infinite; the mean of no values is 0. */
struct interval interval_mean(const double *values, size_t count, double *mean);

/* Draws of a bootstrap whose draw takes so many picks: 1000, or fewer, but at least 100, if that
 * would take seconds. */
unsigned interval_draws(size_t picks);
/* The interval between the 2.5th and the 97.5th percentile of values [count], which are sorted in
 * place; NAN is none of them. 0 to 1 of none. */
struct interval interval_percentiles(float *values, unsigned count);

/* f1: [class_count]. All inputs are resampled with replacement. In a draw a class without label and
 * winner does not count. The same seed gives the same intervals. */
enum err_code interval_bootstrap_f1(struct interval *macro_f1, struct interval *f1,
                                    const struct confusion *confusion, uint64_t seed,
                                    struct err *err);

#endif
