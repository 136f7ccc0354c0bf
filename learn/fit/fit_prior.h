/* fit_prior.h - how often a fitted head is to expect each label, where that is not how often the
 * data have it (Saerens, Latinne and Decaestecker 2002): logits of label c are raised by
 *
 *     log q_c - log p_c
 *
 * with p the data's shares and q those that are expected. The natural prior changes nothing.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_FIT_FIT_PRIOR_H
#define ATTND_LEARN_FIT_FIT_PRIOR_H

#include "learn/fit/fit_labels.h"

/* shifts [labels->count], of mean 0. prior: "natural", "equal", or the path of a file with one JSON
 * object, {label: count}, with a number of at least 0 for every label, not all 0; half an input is
 * added to each, so that none is impossible. ERR_UNUSABLE names file, label and limit. */
enum err_code fit_prior_shifts(const char *prior, const struct fit_labels *labels, float *shifts,
                               struct err *err);

/* What the head then holds for, [labels->count]: the examples, or as many in the shares that are
 * expected. Errors as above. */
enum err_code fit_prior_counts(const char *prior, const struct fit_labels *labels, double *counts,
                               struct err *err);

#endif
