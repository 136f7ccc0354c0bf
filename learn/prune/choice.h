/* choice.h - chooses the heads and columns to cut: the given number of least important ones.
 *
 *     choice_make(&choice, &spec, &importance, 0.25, 0.5, &err);
 *     ... choice.head_goes[block * heads + h] ...
 *     choice_close(&choice);
 *
 * Heads are compared across all layers. Each layer's scores are divided by their Euclidean norm,
 * since scores of different layers differ in size (Molchanov et al. 2017, section 2.2; Michel et
 * al. 2019, section 4.1). Every layer keeps at least one head. Every layer loses the same number of
 * MLP columns, since config.json has one intermediate_size for all layers. Among equal scores the
 * last ones are cut first.
 *
 * Threads: plain data.
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

#endif
