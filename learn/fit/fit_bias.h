/* fit_bias.h - the bias of a label that was taught by few inputs.
 *
 * Ten of thousands of inputs have the new label, and the likelihood is best served by a head that
 * seldom gives it: of four drawn patterns taught by ten maps each it found 15 to 82 %, with no
 * false alarm at all. So the bias of such a label rises until FIT_BIAS_ALARMS of the inputs that
 * have other labels would be given it, as they are or as often as the model expects their labels
 * (fitted_prior), and no further than where every one of its own is found; no label may lose more
 * of its inputs than loss_max points. All that by answers of heads that have not learnt the input.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_BIAS_H
#define ATTND_LEARN_FIT_FIT_BIAS_H

#include "learn/fit/fit.h"

enum { FIT_BIAS_FEW = 50 }; /* a label of more inputs is left as it was fitted */
#define FIT_BIAS_ALARMS 0.01

/* After fit_ngrams: raises the new labels' biases in fit->plain, fit->full and fit->rows.after.
 * Only for the prior natural: another one says how often the label is to be given.
 * ERR_NO_MEMORY. */
enum err_code fit_bias(struct fit *fit, struct err *err);

#endif
