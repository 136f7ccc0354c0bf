/* network_windows.h - from what the classifier would read of each sequence to what it reads of each
 * input: the mean or the largest of an input's windows, as engine/model/head.h pools them, and the
 * way back. Where every input is one sequence, both are nothing. Threads: the caller's.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_WINDOWS_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_WINDOWS_H

#include "learn/train/network/network_state.h"

/* pooled [inputs, D] of x [rows, D]; returns it, or x where there is nothing to pool. */
struct matrix network_windows_pool(const struct network *network, struct matrix pooled,
                                   struct matrix x);

/* dx [rows, D] of dpooled [inputs, D]; for the largest, of equal ones the first has it all. dx is
 * not dpooled. Where there was nothing to pool dx stays as it is. */
void network_windows_backward(const struct network *network, struct matrix dx,
                              struct matrix dpooled, struct matrix pooled, struct matrix x);

#endif
