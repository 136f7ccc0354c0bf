/* relative_scores.h - the terms that disentangled attention adds to the scores of a block of
 * queries for the distances of their keys (He et al. 2021, "DeBERTa", eq. 2 and 3; here divided by
 * sqrt(d) alone):
 *
 *     b[i, j] = (q[i] . kr[i - j] + k[j] . qr[i - j]) / sqrt(d)
 *
 * kr and qr, a vector of d numbers for each distance and head, are constants of a layer. They are
 * packed once into panels for gemm.h's tiles, distance by distance, the factor folded in:
 *
 *     floats = relative_scores_floats(gemm, heads, d, tokens_max);     // of each table
 *     relative_scores_pack(&scores, table, RELATIVE_KEYS, kr, stride, row_of, room);
 *     relative_scores_run(&scores, head, q, k, stride, first, count, n, matrix, scratch);
 *     bias = (struct attention_bias){.at = matrix, .key_step = ATTENTION_QUERIES};
 *
 * Cost. A block of 32 queries and n keys reaches n + 31 distances, and 32 of its keys reach 63. So
 * the first product is [32, d] [d, n + 32], and the second, 32 keys at a time, [32, d] [d, 64]: 2
 * (n + 32) 32 d and 2 (2 n) 32 d flops; q k^T takes 2 n 32 d. Over the whole table of positions, as
 * in the published code, each would take 2 n 2 span d for all n keys.
 *
 * Neither product needs a gather. A row of the first product is a query; its keys lie side by side,
 * each row shifted by one against the row before. Reading with a stride one shorter than the rows,
 * and transposing, gives the matrix. A row of the second product is a key; its queries lie side by
 * side and are added so. Tables by distance instead of by bucket take 2 N d numbers a head instead
 * of 2 span d.
 *
 * A query's numbers depend neither on its place in the block nor on the block's size. Threads: pure
 * functions; the caller owns the tables.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_RELATIVE_SCORES_H
#define ATTND_ENGINE_TENSOR_GEMM_RELATIVE_SCORES_H

#include "engine/tensor/gemm/gemm.h"

#include <stddef.h>

enum relative_side {
    RELATIVE_KEYS,    /* kr, multiplied with queries: content to position */
    RELATIVE_QUERIES, /* qr, multiplied with keys: position to content */
    RELATIVE_SIDES
};

struct relative_scores {
    const struct gemm *gemm; /* queries and keys have its precision: f32 or bf16; NULL: none */
    size_t heads, d, tokens_max;
    const float *tables[RELATIVE_SIDES]; /* NULL: no such term */
};

/* Floats of a table for texts of up to tokens_max tokens. */
size_t relative_scores_floats(const struct gemm *gemm, size_t heads, size_t d, size_t tokens_max);

/* scores->tables[side] = table, filled from rows [.., heads d], `stride` floats apart: distance t,
 * of |t| < tokens_max, has row row_of[t]. In bf16 they are rounded to nearest. room: 33 d floats.
 * gemm, heads, d and tokens_max of the scores are set. */
void relative_scores_pack(struct relative_scores *scores, float *table, enum relative_side side,
                          const float *rows, size_t stride, const unsigned *row_of, float *room);

/* out [n][ATTENTION_QUERIES]: b of one head, for queries `first` to `first` + count of a text of n
 * tokens, by keys; numbers behind the last query are undefined. q is the block's first query and k
 * the first key of the text, d numbers each in gemm's precision, rows `stride` bytes apart; count
 * is at most ATTENTION_QUERIES and n at most tokens_max. scratch: relative_scores_scratch(n)
 * floats, 64-byte aligned. */
void relative_scores_run(const struct relative_scores *scores, size_t head, const void *q,
                         const void *k, size_t stride, size_t first, size_t count, size_t n,
                         float *out, float *scratch);

size_t relative_scores_scratch(size_t n);

#endif
