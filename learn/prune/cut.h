/* cut.h - makes a model without some of its heads and MLP columns: the weights that belong to them
 * are left out, all others are copied.
 *
 *     cut_open(&small, &whole, &choice, &arena, &err);
 *     export_checkpoint(dir, &(struct export){.parameters = &small, ...}, &err);
 *     parameters_close(&small);
 *
 * The cut model computes the same as the whole model with the cut columns of its output projections
 * set to zero. A head loses its rows of query, key and value and its columns of the output
 * projection. An MLP column loses its row of W_1 (a gated MLP: both rows) and its column of W_2.
 * Biases of the output projections are kept. Threads: one caller.
 */
#ifndef ATTND_LEARN_PRUNE_CUT_H
#define ATTND_LEARN_PRUNE_CUT_H

#include "learn/prune/choice.h"

/* out->spec has the smaller sizes, and in `pruned` all heads that are gone, earlier ones too, as
 * pruned_heads.h counts them. Its lists live in the arena, its strings belong to `whole`. The
 * caller closes `out`, also after a failure. */
enum err_code cut_open(struct parameters *out, const struct parameters *whole,
                       const struct choice *choice, struct arena *arena, struct err *err);

#endif
