/* resize.h - an array that has the shape of one model's parameters, for the same model at another
 * image size: position embeddings are interpolated between the two grids, all else is copied.
 * Threads: pure function. */
#ifndef ATTND_LEARN_TRAIN_NETWORK_RESIZE_H
#define ATTND_LEARN_TRAIN_NETWORK_RESIZE_H

#include "learn/train/network/parameters.h"

/* to_values [to->numbers] from from_values [from->numbers]; both lists differ in positions only. */
enum err_code resize_values(const struct parameters *from, const float *from_values,
                            const struct parameters *to, float *to_values, struct err *err);

#endif
