/* number_errors.h - how far the answers of a regression are from the right numbers.
 *
 *     struct number_errors errors;
 *     number_errors_measure(&errors, answered, right, count, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_NUMBER_ERRORS_H
#define ATTND_LEARN_EVAL_MEASURE_NUMBER_ERRORS_H

#include "engine/base/err.h"

#include <stddef.h>

/* With e = answered - right: */
struct number_errors {
    size_t count;
    double mean_absolute;      /* mean |e| */
    double root_mean_square;   /* sqrt(mean e^2) */
    double bias;               /* mean e: above 0 the answers are too large */
    double largest;            /* max |e| */
    double standard_deviation; /* of `right`: the root_mean_square of always answering its mean */
    double r_squared;          /* 1 - sum e^2 / sum (right - mean)^2; NAN if all right ones are
                                  equal */
    double spearman;           /* Pearson's correlation of the ranks, equal numbers having their
                                  mean rank; NAN if all of one side are equal */
};

/* answered and right are [count], and finite. All zeros without inputs. ERR_NO_MEMORY. */
enum err_code number_errors_measure(struct number_errors *out, const double *answered,
                                    const double *right, size_t count, struct err *err);

#endif
