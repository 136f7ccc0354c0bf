/* importance.h - how much a model's loss depends on each attention head and each MLP column, to
 * first order.
 *
 *     importance_open(&importance, &spec, &err);
 *     ... for each input: forward and backward pass over this input alone, then
 *     importance_add(&importance, &parameters, network_gradient(network));
 *     importance_close(&importance);
 *
 * A mask m multiplies a head's outputs O_h before the output projection W_o. m = 0 is the model
 * without the head, and the loss L changes by |dL/dm| at m = 1, to first order (Michel, Levy and
 * Neubig 2019, section 4.1; for an MLP column Molchanov et al. 2017, section 2.2):
 *
 *     dL/dm = <O_h, dL/dO_h> = sum over rows r and the head's columns c of W_o[r, c] dL/dW_o[r, c]
 *
 * Both are the same sum, one over tokens and one over weights. So only the weights and their
 * gradient are needed, not the activations. The importance is the mean over inputs of each input's
 * absolute value: within a batch, inputs with opposite signs would cancel.
 *
 * Cost: one multiply-add for each weight of the two projections and each input.
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_PRUNE_IMPORTANCE_H
#define ATTND_LEARN_PRUNE_IMPORTANCE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "learn/train/network/parameters.h"

#include <stddef.h>

struct importance {
    unsigned blocks, heads, columns; /* spec_blocks; most heads of a block; MLP columns */
    double *head;                    /* [blocks][heads] in the order in which a block has them */
    double *column;                  /* [blocks][columns] */
    size_t inputs;                   /* number of inputs added */
    double *sums;                    /* [the larger of D and columns] of one block and input */
    struct arena arena;
};

/* All zero. ERR_NO_MEMORY. Close it in any case. */
enum err_code importance_open(struct importance *out, const struct spec *spec, struct err *err);
void importance_close(struct importance *importance);

/* Adds |dL/dm| of every head and column for one input. `gradient` [parameters->numbers] is the
 * gradient of this input's loss alone. */
void importance_add(struct importance *importance, const struct parameters *parameters,
                    const float *gradient);

#endif
