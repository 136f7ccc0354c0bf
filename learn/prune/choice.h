/* choice.h - which heads and columns go: the least important ones, so many of them.
 *
 *     choice_make(&choice, &spec, &importance, 0.25, 0.5, &err);
 *     ... choice.head_goes[block * heads + h] ...
 *     choice_close(&choice);
 *
 * Heads are compared across all layers, each layer's scores over their Euclidean norm, since those
 * of layers differ in size (Molchanov et al. 2017, section 2.2; Michel et al. 2019, section 4.1);
 * every layer keeps at least one. MLP columns go in equal numbers from every layer, since
 * config.json has one intermediate_size for all of them. Of equal scores the last ones go first.
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
    unsigned head_count;     /* of the model before */
    unsigned heads_gone;     /* of all layers together */
    unsigned columns_gone;   /* of each layer */
    struct arena arena;
};

/* Shares from 0 to below 1, of the heads of all layers and of each layer's columns, to the nearest
 * whole number. ERR_UNUSABLE if so many heads leave a layer without one, or no column stays. Close
 * it in any case. */
enum err_code choice_make(struct choice *out, const struct spec *spec,
                          const struct importance *importance, double heads_share, double mlp_share,
                          struct err *err);
void choice_close(struct choice *choice);

#endif
