/* causal_bias.h - the bias of causal attention: 0 for keys up to query i, and for later keys a
 * number that leaves no weight in fp32 (Radford et al. 2021, section 2.4; the masked attention of
 * Vaswani et al. 2017, section 3.2.3).
 *
 *     b[i, j] = 0 for j <= i, else CAUSAL_BIAS_MASKED
 *
 *     float *table = arena_alloc(&arena, causal_bias_floats(tokens_max) * sizeof *table);
 *     struct attention_bias bias = causal_bias_expand(table, tokens_max);
 *     ... kernels->attention with it, for texts of at most tokens_max tokens ...
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_CAUSAL_BIAS_H
#define ATTND_ENGINE_MODEL_BIAS_CAUSAL_BIAS_H

#include "engine/tensor/attention_io.h"

#include <stddef.h>

/* Finite: a sum with a score stays finite, and the difference of two is not NaN. */
#define CAUSAL_BIAS_MASKED (-1e30f)

/* Floats of the table, with the room behind it that vectors read. */
size_t causal_bias_floats(size_t tokens_max);

/* Fills a table by difference (tensor/attention_io.h), the same for all heads; the bias borrows
 * the table. */
struct attention_bias causal_bias_expand(float *table, size_t tokens_max);

#endif
