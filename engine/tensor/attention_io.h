/* attention_io.h - what an attention kernel reads and writes. Keys and values need not lie where
 * the queries do: they may be of another sequence, or of a cache.
 *
 * A bias is added to the scores of attention before the softmax, one number for each head, query
 * and key: relative positions (Raffel et al. 2020, section 2.1; Bao et al. 2022).
 *
 *     softmax_j(q[i] . k[j] / sqrt(d) + b[h, i, j])
 *
 *     by difference   b[h, i, j] = table[h][i - j + N - 1], any sequence of at most N tokens:
 *         step = simd_round_up(2 * N - 1) + SIMD_WIDTH;
 *         bias = (struct attention_bias){.at = table + N - 1, .key_step = -1, .head_step = step};
 *     by matrix       b[h, i, j] = matrix[h][j][i], keys outside, sequences of N tokens:
 *         bias = (struct attention_bias){.at = matrix, .key_step = S, .head_step = N * S};
 *                                                                 with S = simd_round_up(N)
 *     one = attention_bias_at(&bias, head, first_query);
 *     kernels->attention(&(struct attention_io){.out = out, ..., .bias = one});
 *
 * Numbers of neighbouring queries lie side by side. The kernels read whole vectors of SIMD_WIDTH:
 * for a block of `count` queries, simd_round_up(count) numbers of each key must be readable.
 * Numbers behind the last query are ignored.
 *
 * Local attention (model/bias/reach.h) masks keys with a bias. One global key may be visible
 * besides: that of a token which all queries see (Beltagy, Peters and Cohan 2020, section 3.1).
 *
 * struct layer (model/weights.h) names the bias of a layer. Threads: plain data; the numbers belong
 * to the code that made them.
 */
#ifndef ATTND_ENGINE_TENSOR_ATTENTION_IO_H
#define ATTND_ENGINE_TENSOR_ATTENTION_IO_H

#include "engine/tensor/simd.h"

#include <stddef.h>
#include <stdint.h>

struct attention_bias {
    const float *at;    /* number of head 0, query 0 and key 0; NULL: nothing is added */
    ptrdiff_t key_step; /* numbers from a key to the next; from query to query it is 1 */
    size_t head_step;   /* numbers from a head to the next */
    size_t kind_step;   /* numbers from a kind of sequence to the next; 0: all are alike */
    size_t global_rows; /* rows from the first of a kernel's keys and values back to the global key
                           in front of it, which gets no bias; 0: there is none */
};

/* One head of attention for a block of queries or, for the mean over heads, all heads of it.
 * Numbers are fp32; for the functions of attention_bf16.h, q, k and v are bf16 and the strides
 * even. */
struct attention_io {
    float *out;        /* [count, d]; the mean: [count, n] */
    size_t out_stride; /* numbers from row to row, as all strides */
    const void *q;     /* [count, d]; the mean: [count, heads d] */
    size_t q_stride;
    const void *k, *v; /* [n, d] each; the mean: only k [n, heads d] */
    size_t kv_stride;
    size_t count, n;            /* queries, at most ATTENTION_QUERIES; keys */
    size_t d, heads;            /* width of a head; heads of the mean */
    struct attention_bias bias; /* from the first head and query on; all zeros: none */
    float *scratch;             /* 64-byte aligned; does not depend on n but for the mean */
};

/* Attention of the newest token's query. There is no factor 1 / sqrt(d): it is in q. */
struct decode_io {
    float *out;            /* [heads d] */
    const float *q;        /* [heads d] */
    const float *k, *v;    /* rows of heads d numbers */
    size_t kv_stride;      /* numbers from row to row */
    const uint32_t *slots; /* [n] row of each key, the oldest first; NULL: 0, 1, ... n - 1 */
    size_t n, d, heads;    /* n >= 1 */
    const float *bias;     /* [heads][.] of each distance from the newest key; NULL: none */
    size_t bias_step;      /* numbers from a head to the next */
    float *scores;         /* [heads][scores_step] out: probabilities */
    size_t scores_step;    /* at least n */
};

/* Returns the bias of sequences of kind `kind`. */
static inline struct attention_bias attention_bias_of_kind(const struct attention_bias *bias,
                                                           size_t kind)
{
    struct attention_bias one = *bias;
    if (bias->at != NULL)
        one.at += kind * bias->kind_step;
    one.kind_step = 0;
    return one;
}

/* Returns the bias from head `head` and query `query` on. */
static inline struct attention_bias attention_bias_at(const struct attention_bias *bias,
                                                      size_t head, size_t query)
{
    struct attention_bias one = *bias;
    one.at += head * bias->head_step + query;
    return one;
}

/* Returns the numbers of a key, for the queries from the first on. */
static inline const float *attention_bias_key(const struct attention_bias *bias, size_t key)
{
    return bias->at + (ptrdiff_t)key * bias->key_step;
}

#endif
