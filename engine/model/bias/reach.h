/* reach.h - local attention: how far the queries of a layer see (Beltagy, Peters and Cohan 2020,
 * section 3.1, the sliding window; Warner et al. 2024).
 *
 *     out[i] = sum over |i - j| <= reach of softmax_j(q[i] . k[j] / sqrt(d)) v[j]
 *
 * A block of queries attends to the keys that any of them reaches, and a bias by difference
 * (tensor/attention_bias.h) masks those that are beyond a query's own reach: cost and scratch grow
 * with the reach, not with the sequence.
 *
 *     struct attention_bias band = reach_bias(table, reach);             // once a layer
 *     struct key_span span = reach_span(reach, tokens, query);           // of a block of queries
 *     one = attention_bias_at(&band, 0, query - span.first);
 *     kernels->attention_biased(out, ..., q + query, k + span.first, v + span.first, ...,
 *                               span.count, d, &one, scratch);
 *
 * Which layers have one is spec_reach (model/spec.h). Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_REACH_H
#define ATTND_ENGINE_MODEL_BIAS_REACH_H

#include "engine/tensor/attention_bias.h"

#include <stddef.h>

/* Neighbouring keys of a sequence. */
struct key_span {
    unsigned first, count;
};

/* The keys for query `query` of a sequence of so many tokens: all that one of its group of
 * ATTENTION_QUERIES queries reaches, groups being counted from the sequence's first token. So a
 * query's keys, and their tiles, do not depend on how a group is cut into blocks. Reach 0: all. */
struct key_span reach_span(unsigned reach, unsigned tokens, unsigned query);

/* The same without the sequence's first token, where that is seen by all as a key in front
 * (attention_bias.h), at any distance. */
struct key_span reach_span_beside(unsigned reach, unsigned tokens, unsigned query);

/* Of the table of a bias. */
size_t reach_bias_floats(unsigned reach);

/* 0 within the reach, so much beyond it that the softmax has nothing left there; for all heads, and
 * for any query and key of a span. The number is finite: a tile of keys that are all masked for a
 * query must not make a NaN of it. The bias borrows the table. */
struct attention_bias reach_bias(float *table, unsigned reach);

#endif
