/* sampler.h - the inputs of an epoch and their order: a function of seed and epoch, so that a
 * resumed run continues with the same ones.
 *
 * With balance 0 the inputs are taken in shuffled passes: no input occurs twice before all have
 * occurred once, also if an epoch is shorter or longer than a pass. With a balance above 0 each
 * draw takes a class with probability ~ count^(1 - balance) and then one of its inputs.
 *
 * Threads: one at a time. Only sampler_epoch changes it, and only its scratch.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_SAMPLER_H
#define ATTND_LEARN_TRAIN_LOOP_SAMPLER_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sampler_options {
    const size_t *items;     /* [count] indices of the inputs in their data set, borrowed */
    const unsigned *classes; /* [count] class of each; NULL: one class */
    size_t count;            /* at least 1 */
    unsigned class_count;
    float balance; /* 0 to 1 */
    uint64_t seed;
};

struct sampler {
    struct sampler_options options;
    size_t *pass;         /* [count] the current pass's order */
    uint64_t pass_number; /* of the current pass; UINT64_MAX: none yet */
    size_t *by_class;     /* [count] items sorted by class */
    size_t *class_first;  /* [class_count + 1] into by_class */
    double *cumulative;   /* [class_count] cumulative probability of the classes */
    struct arena arena;
};

enum err_code sampler_open(struct sampler *out, const struct sampler_options *options,
                           struct err *err);
void sampler_close(struct sampler *sampler);

/* The items of an epoch of `count` inputs, in order. */
void sampler_epoch(struct sampler *sampler, uint64_t epoch, size_t *items, size_t count);

/* Draws another item of the class of `item`, which has one, by the seed and the position in the
 * run; classes must be given. */
size_t sampler_mate(const struct sampler *sampler, unsigned class, size_t item, uint64_t position);

/* How often class c is drawn: its share in an endless epoch. */
double sampler_share(const struct sampler *sampler, unsigned c);

#endif
