/* reach.h - local attention: the distance that the queries of a layer see (Beltagy, Peters and
 * Cohan 2020, section 3.1, the sliding window; Warner et al. 2024).
 *
 *     out[i] = sum over |i - j| <= reach of softmax_j(q[i] . k[j] / sqrt(d)) v[j]
 *
 * A block of queries attends to the keys in the reach of any of them. A bias by difference
 * (tensor/attention_io.h) masks those beyond a query's own reach: cost and scratch grow with the
 * reach, not with the sequence.
 *
 *     struct attention_bias band = reach_bias(table, reach);             // once a layer
 *     struct key_span span = reach_span(reach, tokens, query);           // of a block of queries
 *     one = attention_bias_at(&band, 0, query - span.first);
 *     kernels->attention(&(struct attention_io){.k = k + span.first * stride, .n = span.count,
 *                                               .bias = one, ...});
 *
 * spec_reach (model/spec.h) is the reach of a layer. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_REACH_H
#define ATTND_ENGINE_MODEL_BIAS_REACH_H

#include "engine/tensor/attention_io.h"

#include <stddef.h>

/* Neighbouring keys of a sequence. */
struct key_span {
    unsigned first, count;
};

/* Returns the keys of query `query` in a sequence of `tokens` tokens: all that its group of
 * ATTENTION_QUERIES queries reaches; groups count from the sequence's first token. So a query's
 * keys, and their tiles, do not depend on how a group is cut into blocks. Reach 0: all. */
struct key_span reach_span(unsigned reach, unsigned tokens, unsigned query);

/* The same without the sequence's first token, for a layer in which that is the global key
 * (attention_io.h). */
struct key_span reach_span_beside(unsigned reach, unsigned tokens, unsigned query);

/* Floats of the bias's table. */
size_t reach_bias_floats(unsigned reach);

/* Fills the table: 0 within the reach; beyond it a number for which the softmax is negligible. It
 * serves all heads, and any query and key of a span. The number is finite: a tile whose keys are
 * all masked for a query must not give NaN. The bias borrows the table. */
struct attention_bias reach_bias(float *table, unsigned reach);

#endif
