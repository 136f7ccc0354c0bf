/* fit_heads.h - the three steps of a fit after the features. fit_heads fits two heads, each by
 * multinomial logistic regression (head_fit.h):
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

/* Extends a model's table of n-grams (engine/ngrams/ngram_table.h) to the labels of a fit. The
 * columns of the old labels are kept. Those of the new labels are fitted on the rows
 * (learn/ngrams/ngram_fit.h), with a bias as if each were as frequent as the old labels on average:
 * the head, not the table, accounts for how frequent a label is.
 *
 * The table keeps its weight relative to the encoder: its scale is multiplied by the ratio of the
 * spread of the new head's logits to that of the old head's, root mean square over rows and the old
 * labels. The fits that leave a fold out and the one of all rows are independent; options.threads
 * threads take them in turn.
 *
 * Sets fit->new_table, in the fit's arena, and adds the left-out evidence to fit->rows.after. Does
 * nothing for a model without a table. ERR_NO_MEMORY. */
enum err_code fit_ngrams(struct fit *fit, struct err *err);

/* Raises the bias of a label that was taught by few inputs.
 *
 * If ten of thousands of inputs have the new label, the likelihood is highest for a head that
 * seldom gives it: of four drawn patterns, taught by ten maps each, it found 15 to 82 %, without
 * any false alarm. So the bias of such a label is raised until it would be given to FIT_BIAS_ALARMS
 * of the inputs with other labels, counted as they are or as often as the model expects their
 * labels (fitted_prior), whichever is more. It is raised no further than needed to find all inputs
 * of the label, and no label may lose more than loss_max points of its inputs. All answers are
 * those of heads that have not learnt the input.
 *
 * Called after fit_ngrams. Raises the new labels' biases in fit->plain, fit->full and
 * fit->rows.after. Only with the natural prior: another prior says how often to give the label.
 * ERR_NO_MEMORY. */
enum err_code fit_bias(struct fit *fit, struct err *err);

enum { FIT_BIAS_FEW = 50 }; /* the bias of a label with more inputs is not raised */
#define FIT_BIAS_ALARMS 0.01

#endif
