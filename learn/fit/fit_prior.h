/* fit_prior.h - the prior of a fitted head, if labels will be more or less frequent than in the
 * data (Saerens, Latinne and Decaestecker 2002): logits of label c are raised by
 *
 *     log q_c - log p_c
 *
 * with the data's shares p and the expected shares q. The natural prior changes nothing.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_FIT_FIT_PRIOR_H
#define ATTND_LEARN_FIT_FIT_PRIOR_H

#include "learn/fit/fit_labels.h"

/* Computes shifts [labels->count], with mean 0. prior: "natural", "equal", or the path of a file
 * with one JSON object, {label: count}, with a number of at least 0 for every label, not all 0.
 * Half an input is added to each count, so that no label is impossible. ERR_UNUSABLE names file,
 * label and limit. */
enum err_code fit_prior_shifts(const char *prior, const struct fit_labels *labels, float *shifts,
                               struct err *err);

/* Computes the class counts that the shifted head is calibrated for, [labels->count]: those of the
 * examples, or the same total in the expected shares. Errors as above. */
enum err_code fit_prior_counts(const char *prior, const struct fit_labels *labels, double *counts,
                               struct err *err);

#endif
