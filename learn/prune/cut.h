/* cut.h - a model without some of its heads and MLP columns: the weights that belong to them are
 * left out, all others are the same numbers.
 *
 *     cut_open(&small, &whole, &choice, &arena, &err);
 *     export_checkpoint(dir, &(struct export){.parameters = &small, ...}, &err);
 *     parameters_close(&small);
 *
 * What is left computes what the whole model would with the columns of its output projections that
 * were cut set to zero. Of a head go its rows of query, key and value and its columns of the output
 * projection; of an MLP's column its row of W_1 (of a gated MLP both) and its column of W_2. Biases
 * behind the projections stay. Threads: one caller.
 */
#ifndef ATTND_LEARN_PRUNE_CUT_H
#define ATTND_LEARN_PRUNE_CUT_H

#include "learn/prune/choice.h"

/* out->spec has the smaller sizes, and in `pruned` all heads that are gone, those of before too, as
 * pruned_heads.h counts them; its lists live in the arena, its strings are those of `whole`. Yours
 * to close, also after a failure. */
enum err_code cut_open(struct parameters *out, const struct parameters *whole,
                       const struct choice *choice, struct arena *arena, struct err *err);

#endif
