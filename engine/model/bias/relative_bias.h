/* relative_bias.h - a learnt number for each head and bucket of distances, added to the scores of
 * attention in every layer (Raffel et al. 2020, section 2.1, and transformers'
 * T5Attention._relative_position_bucket); and MPNet's, whose 32 and 128 are fixed (Song et al.
 * 2020).
 *
 *     float *table = arena_alloc(&arena, relative_bias_floats(heads, tokens_max) * sizeof *table);
 *     struct attention_bias bias =
 *         relative_bias_expand(table, &relative_mpnet, weights, heads, tokens_max);
 *     ... kernels->attention with it, for texts of at most tokens_max tokens ...
 *     relative_bias_fold(dweights, &relative_mpnet, dtable, heads, tokens_max); // the way back
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_RELATIVE_BIAS_H
#define ATTND_ENGINE_MODEL_BIAS_RELATIVE_BIAS_H

#include "engine/tensor/attention_io.h"

#include <stdbool.h>
#include <stddef.h>

/* How distances, query - key, are divided into buckets. Looking forward, the second half is for
 * keys behind the query; else those are in bucket 0. */
struct relative_buckets {
    unsigned count;    /* of all; 0: there are none */
    unsigned distance; /* all from it on are in the last bucket of their side */
    bool looks_forward;
};

extern const struct relative_buckets relative_mpnet;

/* Returns the largest count of distances that each have a bucket of their own; `distance` must
 * exceed it, and it must be at least one. */
unsigned relative_bias_exact(const struct relative_buckets *buckets);

/* Returns the bucket of a distance. Small ones have their own; logarithmic ones follow. */
unsigned relative_bias_bucket(const struct relative_buckets *buckets, long distance);

/* Floats of a table for all distances of texts of up to tokens_max tokens, by difference
 * (tensor/attention_io.h), with the room behind it that vectors read. */
size_t relative_bias_floats(size_t heads, size_t tokens_max);

/* table <- weights [at least count][heads]; the bias borrows the table. */
struct attention_bias relative_bias_expand(float *table, const struct relative_buckets *buckets,
                                           const float *weights, size_t heads, size_t tokens_max);

/* dweights [count][heads] += the sums of dtable over the distances of each bucket. */
void relative_bias_fold(float *dweights, const struct relative_buckets *buckets,
                        const float *dtable, size_t heads, size_t tokens_max);

#endif
