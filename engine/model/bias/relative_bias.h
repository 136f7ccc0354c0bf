/* relative_bias.h - a learnt number for each head and bucket of distances, added to the scores of
 * attention in every layer: the buckets of T5 (Raffel et al. 2020, section 2.1) in MPNet's form
 * (Song et al. 2020; MPNetEncoder.relative_position_bias, whose 32 and 128 are fixed).
 *
 *     float *table = arena_alloc(&arena, relative_bias_floats(heads, tokens_max) * sizeof *table);
 *     struct attention_bias bias = relative_bias_expand(table, weights, heads, tokens_max);
 *     ... kernels->attention with it, for texts of at most tokens_max tokens ...
 *     relative_bias_fold(dweights, dtable, heads, tokens_max);        // training: the way back
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_RELATIVE_BIAS_H
#define ATTND_ENGINE_MODEL_BIAS_RELATIVE_BIAS_H

#include "engine/tensor/attention_io.h"

#include <stddef.h>

enum { RELATIVE_BUCKETS = 32 }; /* the first half for keys at or before the query */

/* Returns the bucket of a distance, query - key. Each distance below 8 has its own; eight
 * logarithmic ones follow, the last for 91 and more; likewise for negative distances. */
unsigned relative_bias_bucket(long distance);

/* Floats of a table for all distances of texts of up to tokens_max tokens, by difference
 * (tensor/attention_io.h), with the room behind it that vectors read. */
size_t relative_bias_floats(size_t heads, size_t tokens_max);

/* table <- weights [at least RELATIVE_BUCKETS][heads]; the bias borrows the table. */
struct attention_bias relative_bias_expand(float *table, const float *weights, size_t heads,
                                           size_t tokens_max);

/* dweights [RELATIVE_BUCKETS][heads] += the sums of dtable over the distances of each bucket. */
void relative_bias_fold(float *dweights, const float *dtable, size_t heads, size_t tokens_max);

#endif
