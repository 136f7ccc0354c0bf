/* fit_bias.h - raises the bias of a label that was taught by few inputs.
 *
 * If ten of thousands of inputs have the new label, the likelihood is highest for a head that
 * seldom gives it: of four drawn patterns, taught by ten maps each, it found 15 to 82 %, without
 * any false alarm. So the bias of such a label is raised until it would be given to FIT_BIAS_ALARMS
 * of the inputs with other labels, counted as they are or as often as the model expects their
 * labels (fitted_prior), whichever is more. It is raised no further than needed to find all inputs
 * of the label, and no label may lose more than loss_max points of its inputs. All answers are
 * those of heads that have not learnt the input.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_BIAS_H
#define ATTND_LEARN_FIT_FIT_BIAS_H

#include "learn/fit/fit.h"

enum { FIT_BIAS_FEW = 50 }; /* the bias of a label with more inputs is not raised */
#define FIT_BIAS_ALARMS 0.01

/* Called after fit_ngrams. Raises the new labels' biases in fit->plain, fit->full and
 * fit->rows.after. Only with the natural prior: another prior says how often to give the label.
 * ERR_NO_MEMORY. */
enum err_code fit_bias(struct fit *fit, struct err *err);

#endif
