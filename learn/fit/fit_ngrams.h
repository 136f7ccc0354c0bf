/* fit_ngrams.h - the table of n-grams of a model that has one (engine/ngrams/ngram_table.h), for
 * the labels of a fit: the columns of the model's labels stay, those of new ones are fitted beside
 * them on the rows (learn/ngrams/ngram_fit.h), as if each were as frequent as the others are on
 * average: how often labels come is the head's to say.
 *
 * The table keeps its weight against the encoder: it is multiplied by how much further apart the
 * new head's logits lie than those of the encoder as it was, root mean square over rows and the
 * model's labels.
 *
 * The fits that leave a fold out and the one of all rows are shared out among options.threads, to
 * whoever is free: none depends on another.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_NGRAMS_H
#define ATTND_LEARN_FIT_FIT_NGRAMS_H

#include "learn/fit/fit.h"

/* fit->new_table, in the fit's arena, and what it says, of rows that its new columns did not learn,
 * added to fit->rows.after. Nothing for a model without a table. ERR_NO_MEMORY. */
enum err_code fit_ngrams(struct fit *fit, struct err *err);

#endif
