/* fit_ngrams.h - extends a model's table of n-grams (engine/ngrams/ngram_table.h) to the labels of
 * a fit. The columns of the old labels are kept. Those of the new labels are fitted on the rows
 * (learn/ngrams/ngram_fit.h), with a bias as if each were as frequent as the old labels on average:
 * the head, not the table, accounts for how frequent a label is.
 *
 * The table keeps its weight relative to the encoder: its scale is multiplied by the ratio of the
 * spread of the new head's logits to that of the old head's, root mean square over rows and the old
 * labels.
 *
 * The fits that leave a fold out and the one of all rows are independent; options.threads threads
 * take them in turn.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_NGRAMS_H
#define ATTND_LEARN_FIT_FIT_NGRAMS_H

#include "learn/fit/fit.h"

/* Sets fit->new_table, in the fit's arena, and adds the left-out evidence to fit->rows.after. Does
 * nothing for a model without a table. ERR_NO_MEMORY. */
enum err_code fit_ngrams(struct fit *fit, struct err *err);

#endif
