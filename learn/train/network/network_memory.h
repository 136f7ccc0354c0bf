/* network_memory.h - memory of a network, all of it taken while it is opened. Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_MEMORY_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_MEMORY_H

#include "learn/train/network/network_state.h"

/* [tokens_max of the current stage, width], uninitialised, rows an odd number of cache lines apart
 * (operand.h). Without memory the result is all zero and the error is recorded in `err`. */
struct matrix network_memory_rows(struct network *network, size_t width, struct err *err);
/* The same without padding between the rows. */
struct matrix network_memory_dense(struct network *network, size_t width, struct err *err);

/* The same with another number of rows, an odd number of cache lines apart. */
struct matrix network_memory_matrix(struct network *network, size_t rows, size_t width,
                                    struct err *err);
/* Sets the shapes of the scratch to those of network->spec. Its memory suffices for all stages. */
void network_memory_shape(struct network *network);

/* Memory that the passes share: the batch's lists, scratch and the buffers of the products. */
enum err_code network_memory_open(struct network *network, struct err *err);

#endif
