/* optimizer.h - AdamW over the flat array of parameters, with options for fine-tuning: no weight
 * decay on norms and biases, a rate that falls with the distance from the head (layer-wise decay:
 * Howard and Ruder 2018; Clark et al. 2020), gradients clipped by their global norm (Pascanu et al.
 * 2013), frozen blocks, and a moving average of the weights.
 *
 *     optimizer_open(&optimizer, &parameters, &options, &err);
 *     optimizer_step(optimizer, pool, gradient, rate, frozen_depth);   also clears the gradient
 *
 * Threads: one at a time, with the pool of the caller; results do not depend on its size.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_OPTIMIZER_H
#define ATTND_LEARN_TRAIN_LOOP_OPTIMIZER_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "learn/train/network/parameters.h"

#include <stdint.h>

struct optimizer_options {
    float beta1, beta2, eps;
    float weight_decay;
    float layer_decay;   /* a block's rate = layer_decay x the rate of the block above */
    float clip;          /* largest norm of the gradient; 0: not clipped */
    float average_decay; /* of the moving average; 0: there is none */
};

struct optimizer {
    struct parameters *parameters;
    struct optimizer_options options;
    uint64_t steps;   /* done */
    float *m, *v;     /* [numbers] first and second moments */
    float *average;   /* [numbers], starts as the values; NULL without average_decay */
    double *partials; /* one partial sum of the gradient's norm for each chunk */
};

/* Borrows the parameters, whose values it changes. ERR_NO_MEMORY. Close it in any case. */
enum err_code optimizer_open(struct optimizer *out, struct parameters *parameters,
                             const struct optimizer_options *options, struct err *err);
void optimizer_close(struct optimizer *optimizer);

/* The result of a step. */
struct optimizer_report {
    double norm;  /* of the gradient, before clipping */
    bool skipped; /* the gradient was not finite: it was cleared, nothing else changed */
};

/* Makes one step and sets the gradient [numbers] to zero; depths below frozen_depth are frozen. The
 * average's decay is min(average_decay, (1 + steps) / (10 + steps)), so that it forgets the start
 * (as TensorFlow's ExponentialMovingAverage does). */
struct optimizer_report optimizer_step(struct optimizer *optimizer, struct thread_pool *pool,
                                       float *gradient, float rate, unsigned frozen_depth);

/* The values to save or to evaluate: the average, else the values. */
const float *optimizer_best(const struct optimizer *optimizer);

#endif
