/* resize.h - converts an array of one model's parameters to the same model at another image size:
 * position embeddings are interpolated between the two grids, all else is copied. Threads: pure
 * function. */
#ifndef ATTND_LEARN_TRAIN_NETWORK_RESIZE_H
#define ATTND_LEARN_TRAIN_NETWORK_RESIZE_H

#include "learn/train/network/parameters.h"

/* from_values [from->numbers] -> to_values [to->numbers]; the lists differ in positions only. */
enum err_code resize_values(const struct parameters *from, const float *from_values,
                            const struct parameters *to, float *to_values, struct err *err);

#endif
