/* fit_heads.h - the heads of a fit, each multinomial logistic regression (head_cross.h):
 *
 *   plain   on what the family's classifier reads: for model.safetensors, which anyone can read
 *   full    on that and the mean of the tokens (model/head_parts.h): for attnd_head.safetensors, if
 *           it answers inputs that were left out better than the plain one
 *
 * For the full one both kinds of features are brought to one mean square, so that a strength of
 * regularisation means the same to both.
 *
 * Where the data only add labels (fit->adds), the classifier of the other labels stays as it is,
 * to the bit: nobody said anything against it. Only the new labels' rows are fitted, in a softmax
 * with what the old ones say. So no old label's score can rise, and temperature and thresholds hold
 * on.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_HEADS_H
#define ATTND_LEARN_FIT_FIT_HEADS_H

#include "learn/fit/fit.h"

/* Fits of one head, as a rule: for who shows progress of both. */
enum { FIT_HEADS_USUAL = 2 * 120 };

/* fit->plain and fit->full, both with fit->shifts, and the answers of the one that is served, left
 * out, in fit->rows.after. */
enum err_code fit_heads(struct fit *fit, const struct fit_progress *progress, struct err *err);

#endif
