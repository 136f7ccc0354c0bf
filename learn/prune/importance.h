/* importance.h - how much a model's loss hangs on each attention head and each column of the MLPs,
 * to first order.
 *
 *     importance_open(&importance, &spec, &err);
 *     ... for each input: forward, backward over it alone, then
 *     importance_add(&importance, &parameters, network_gradient(network));
 *     importance_close(&importance);
 *
 * A mask m multiplies a head's outputs O_h before the output projection W_o; m = 0 is the model
 * without it, and what the loss L changes by is to first order |dL/dm| at m = 1 (Michel, Levy and
 * Neubig 2019, section 4.1; of a column of an MLP Molchanov et al. 2017, section 2.2):
 *
 *     dL/dm = <O_h, dL/dO_h> = sum over rows r and the head's columns c of W_o[r, c] dL/dW_o[r, c]
 *
 * since both are the same sum, one over tokens and one over weights. So nothing of the forward pass
 * is needed but the weights behind it and their gradient. The absolute value is of one input and
 * its mean over the inputs is the importance: over a batch, inputs of which one gains what the
 * other loses would cancel.
 *
 * Cost: a multiplication and an addition for each weight of the two projections, an input.
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_PRUNE_IMPORTANCE_H
#define ATTND_LEARN_PRUNE_IMPORTANCE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "learn/train/network/parameters.h"

#include <stddef.h>

struct importance {
    unsigned blocks, heads, columns; /* spec_blocks; at most so many heads a block; MLP columns */
    double *head;                    /* [blocks][heads] in the order in which a block has them */
    double *column;                  /* [blocks][columns] */
    size_t inputs;                   /* added */
    double *sums;                    /* [the larger of D and columns] of one block and input */
    struct arena arena;
};

/* All zero. ERR_NO_MEMORY. Close it in any case. */
enum err_code importance_open(struct importance *out, const struct spec *spec, struct err *err);
void importance_close(struct importance *importance);

/* Adds |dL/dm| of every head and column for one input: `gradient` [parameters->numbers] is that of
 * its loss alone. */
void importance_add(struct importance *importance, const struct parameters *parameters,
                    const float *gradient);

#endif
