/* choice.h - chooses the heads and MLP columns to cut, the given number of least important ones,
 * and cuts them.
 *
 *     choice_make(&choice, &spec, &importance, 0.25, 0.5, &err);
 *     ... choice.head_goes[block * heads + h] ...
 *     choice_cut(&small, &whole, &choice, &arena, &err);
 *     export_checkpoint(dir, &(struct export){.parameters = &small, ...}, &err);
 *     parameters_close(&small);
 *     choice_close(&choice);
 *
 * Heads are compared across all layers. Each layer's scores are divided by their Euclidean norm,
 * since scores of different layers differ in size (Molchanov et al. 2017, section 2.2; Michel et
 * al. 2019, section 4.1). Every layer keeps at least one head. Every layer loses the same number of
 * MLP columns, since config.json has one intermediate_size for all layers. Among equal scores the
 * last ones are cut first.
 *
 * Threads: one caller.
 */
#ifndef ATTND_LEARN_PRUNE_CHOICE_H
#define ATTND_LEARN_PRUNE_CHOICE_H

#include "learn/prune/importance.h"

#include <stdbool.h>

struct choice {
    unsigned heads, columns; /* as in struct importance */
    bool *head_goes;         /* [blocks][heads] */
    bool *column_goes;       /* [blocks][columns] */
    unsigned head_count;     /* heads of all layers, before the cut */
    unsigned heads_gone;     /* in all layers together */
    unsigned columns_gone;   /* in each layer */
    struct arena arena;
};

/* heads_share is a share of the heads of all layers, mlp_share one of each layer's columns: 0 to
 * below 1, rounded to whole numbers. ERR_UNUSABLE if a layer would have no head or no column left.
 * Close it in any case. */
enum err_code choice_make(struct choice *out, const struct spec *spec,
                          const struct importance *importance, double heads_share, double mlp_share,
                          struct err *err);
void choice_close(struct choice *choice);

/* Makes a model without the chosen heads and columns: the weights that belong to them are left out,
 * all others are copied. It computes the same as the whole model with the cut columns of its output
 * projections set to zero. A head loses its rows of query, key and value and its columns of the
 * output projection. An MLP column loses its row of W_1 (a gated MLP: both rows) and its column of
 * W_2. Biases of the output projections are kept.
 *
 * out->spec has the smaller sizes, and in `pruned` all heads that are gone, earlier ones too, as
 * pruned_heads_count counts them. Its lists live in the arena, its strings belong to `whole`. The
 * caller closes `out`, also after a failure. */
enum err_code choice_cut(struct parameters *out, const struct parameters *whole,
                         const struct choice *choice, struct arena *arena, struct err *err);

#endif
