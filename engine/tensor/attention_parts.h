/* attention_parts.h - scaled dot-product attention in fp32 by tile registers (AMX): every number is
 * cut into three parts of bf16 whose sum it is, and six products of parts replace one (Henry, Tang
 * and Heinecke 2019, "Leveraging the bfloat16 artificial intelligence datatype for higher-precision
 * computations"). Keys and values of a head are cut once for all blocks of queries:
 *
 *     attention_parts_cut(scratch, k, v, kv_stride, n, d);
 *     io = (struct attention_io){.n = n, .d = d, .scratch = scratch, ...};
 *     attention_parts_run(&io);    // each block of queries
 *
 * Requires tile_state_permitted and attention_parts_runnable. Threads: pure functions; the scratch
 * is one thread's.
 */
#ifndef ATTND_ENGINE_TENSOR_ATTENTION_PARTS_H
#define ATTND_ENGINE_TENSOR_ATTENTION_PARTS_H

#include "engine/tensor/attention_io.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ATTENTION_PARTS_QUERIES = 256, /* most queries of a block: they read the keys together */
    ATTENTION_PARTS_TOKENS = 512,  /* below it kernels.attention is as fast */
};

/* Returns true for heads of width d: tiles have no partial columns. */
static inline bool attention_parts_runnable(size_t d)
{
    return d % 32 == 0;
}

/* Floats of 64-byte aligned scratch for at most n keys. */
size_t attention_parts_scratch(size_t n, size_t d);

/* Cuts the keys and values [n, d] of one head, rows `stride` numbers apart, into the scratch. */
void attention_parts_cut(float *scratch, const float *k, const float *v, size_t stride, size_t n,
                         size_t d);

/* Same as kernels.attention for the keys and values that the scratch holds and up to
 * ATTENTION_PARTS_QUERIES queries. io's k, v and kv_stride are not read, and it has no bias. The
 * result differs by the rounding of fp32's sums. */
void attention_parts_run(const struct attention_io *io);

#endif
