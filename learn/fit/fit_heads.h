/* fit_heads.h - fits the two heads of a fit, each by multinomial logistic regression
 * (head_cross.h):
 *
 *   plain   on the features of the family's classifier: for model.safetensors, which anyone can
 *           read
 *   full    on these and the mean of the tokens (model/head_parts.h): for attnd_head.safetensors,
 *           if it answers left-out inputs better than the plain one
 *
 * For the full head both kinds of features are scaled to the same variance, so that a strength of
 * regularisation means the same for both.
 *
 * If the data only add labels (fit->adds), the classifier of the old labels is kept bit for bit.
 * Only the new labels' weights are fitted, in a softmax with the old labels' logits. So no old
 * label's score can rise, and temperature and thresholds stay valid.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_HEADS_H
#define ATTND_LEARN_FIT_FIT_HEADS_H

#include "learn/fit/fit.h"

/* Usual number of fits of both heads, for callers that show progress. */
enum { FIT_HEADS_USUAL = 2 * 120 };

/* Sets fit->plain and fit->full, both with fit->shifts, and fit->rows.after, the left-out answers
 * of the head that is served. */
enum err_code fit_heads(struct fit *fit, const struct fit_progress *progress, struct err *err);

#endif
