#include "learn/train/network/network_state.h"

#include "engine/model/bias/reach.h"

#include <string.h>

/* Floats for copies of `keys` keys and values, and for their gradients. */
static size_t copy_floats(size_t keys, size_t d)
{
    return simd_round_up(4 * keys * d);
}

size_t network_local_scratch(unsigned reach, size_t tokens_max, size_t d, bool has_global)
{
    size_t span = (size_t)ATTENTION_QUERIES + 2 * (size_t)reach; /* most keys of a block */
    size_t keys = (span < tokens_max ? span : tokens_max) + has_global;
    return attention_train_scratch(ATTENTION_QUERIES, keys, d) +
           (has_global ? copy_floats(keys, d) : 0);
}

/* Attention of one block of queries over the keys that they reach. */
struct part {
    struct attention_train head;
    struct attention_bias bias;
    struct key_span span;
    float *copied; /* keys, values and their gradients, [n, d] each; NULL: they are not copied */
    float *scratch;
};

/* Copied matrix `i` [n, d]: 0 keys, 1 values, 2 and 3 their gradients. */
static float *copied(const struct part *part, size_t i)
{
    return part->copied + i * part->head.n * part->head.d;
}

/* to [n, d] <- the first key or value, then those of the span. */
static void copy_in(const struct part *part, float *to, const float *from, size_t stride)
{
    size_t d = part->head.d;
    memcpy(to, from, d * sizeof *to);
    for (size_t j = 0; j < part->span.count; j++)
        memcpy(to + (j + 1) * d, from + (part->span.first + j) * stride, d * sizeof *to);
}

/* Adds the gradients `from` [n, d], in copy_in's order, to the rows of `to` that were copied. */
static void add_out(const struct part *part, float *to, size_t stride, const float *from)
{
    size_t d = part->head.d;
    for (size_t c = 0; c < d; c++)
        to[c] += from[c];
    for (size_t j = 0; j < part->span.count; j++)
        for (size_t c = 0; c < d; c++)
            to[(part->span.first + j) * stride + c] += from[(j + 1) * d + c];
}

/* Fills the part that starts at `query`. The part points to its own bias and must not be moved.
 * Returns the first query after it. */
static size_t part_at(struct part *part, const struct attention_train *whole,
                      struct network_local local, size_t query, float *scratch)
{
    size_t end = (query / ATTENTION_QUERIES + 1) * ATTENTION_QUERIES;
    end = end < whole->m ? end : whole->m;
    *part = (struct part){.head = *whole, .scratch = scratch};
    part->span = (local.has_global ? reach_span_beside
                                   : reach_span)(local.reach, (unsigned)whole->n, (unsigned)query);
    part->bias = attention_bias_at(local.band, 0, query - part->span.first);
    part->head.q += query * whole->q_stride;
    part->head.m = end - query;
    part->head.k += part->span.first * whole->kv_stride;
    part->head.v += part->span.first * whole->kv_stride;
    part->head.n = part->span.count;
    part->head.bias = &part->bias;
    part->head.mask = (struct attention_train_mask){query, part->span.first, whole->n};
    if (local.has_global) {
        part->head.n = part->span.count + 1u;
        part->copied = scratch;
        part->scratch = scratch + copy_floats(part->head.n, part->head.d);
        part->bias.global_rows = part->span.first;
        copy_in(part, copied(part, 0), whole->k, whole->kv_stride);
        copy_in(part, copied(part, 1), whole->v, whole->kv_stride);
        part->head.k = copied(part, 0);
        part->head.v = copied(part, 1);
        part->head.kv_stride = part->head.d;
    }
    return end;
}

double network_local_forward(const struct attention_train *head, struct network_local local,
                             float *out, size_t out_stride, float *scratch)
{
    double total = 0;
    for (size_t query = local.has_global, end; query < head->m; query = end) {
        struct part part;
        end = part_at(&part, head, local, query, scratch);
        total +=
            attention_train_forward(&part.head, out + query * out_stride, out_stride, part.scratch);
    }
    return total;
}

/* Gradients of one part: dq, and dk and dv, through the copies if there are any. */
static void part_backward(const struct part *part, const float *dout, size_t dout_stride, float *dq,
                          size_t dq_stride, float *dk, float *dv, size_t dkv_stride)
{
    size_t d = part->head.d, n = part->head.n, keys = part->span.first * dkv_stride;
    if (part->copied == NULL) {
        attention_train_backward(&part->head, dout, dout_stride, dq, dq_stride, dk + keys,
                                 dv + keys, dkv_stride, part->scratch);
        return;
    }
    memset(copied(part, 2), 0, 2 * n * d * sizeof *dk);
    attention_train_backward(&part->head, dout, dout_stride, dq, dq_stride, copied(part, 2),
                             copied(part, 3), d, part->scratch);
    add_out(part, dk, dkv_stride, copied(part, 2));
    add_out(part, dv, dkv_stride, copied(part, 3));
}

void network_local_backward(const struct attention_train *head, struct network_local local,
                            const float *dout, size_t dout_stride, float *dq, size_t dq_stride,
                            float *dk, float *dv, size_t dkv_stride, float *scratch)
{
    if (local.has_global)
        memset(dq, 0, head->d * sizeof *dq);
    for (size_t query = local.has_global, end; query < head->m; query = end) {
        struct part part;
        end = part_at(&part, head, local, query, scratch);
        part_backward(&part, dout + query * dout_stride, dout_stride, dq + query * dq_stride,
                      dq_stride, dk, dv, dkv_stride);
    }
}
