#include "learn/train/network/network_local.h"

#include "engine/model/reach.h"

size_t network_local_scratch(unsigned reach, size_t tokens_max, size_t d)
{
    size_t span = (size_t)ATTENTION_QUERIES + 2 * (size_t)reach;
    return attention_train_scratch(ATTENTION_QUERIES, span < tokens_max ? span : tokens_max, d);
}

/* The group of queries that begins with `query`, over the keys that it reaches. */
struct part {
    struct attention_train head;
    struct attention_bias bias;
    unsigned first_key;
};

/* The part borrows its own bias: it stays where it is. */
static void part_at(struct part *part, const struct attention_train *whole, unsigned reach,
                    const struct attention_bias *band, size_t query)
{
    const struct key_span span = reach_span(reach, (unsigned)whole->n, (unsigned)query);
    size_t left = whole->m - query;
    part->first_key = span.first;
    part->bias = attention_bias_at(band, 0, query - span.first);
    part->head = *whole;
    part->head.q += query * whole->q_stride;
    part->head.m = left < ATTENTION_QUERIES ? left : ATTENTION_QUERIES;
    part->head.k += span.first * whole->kv_stride;
    part->head.v += span.first * whole->kv_stride;
    part->head.n = span.count;
    part->head.bias = &part->bias;
    part->head.mask = (struct attention_train_mask){query, span.first, whole->n};
}

double network_local_forward(const struct attention_train *head, unsigned reach,
                             const struct attention_bias *band, float *out, size_t out_stride,
                             float *scratch)
{
    double total = 0;
    for (size_t query = 0; query < head->m; query += ATTENTION_QUERIES) {
        struct part part;
        part_at(&part, head, reach, band, query);
        total += attention_train_forward(&part.head, out + query * out_stride, out_stride, scratch);
    }
    return total;
}

void network_local_backward(const struct attention_train *head, unsigned reach,
                            const struct attention_bias *band, const float *dout,
                            size_t dout_stride, float *dq, size_t dq_stride, float *dk, float *dv,
                            size_t dkv_stride, float *scratch)
{
    for (size_t query = 0; query < head->m; query += ATTENTION_QUERIES) {
        struct part part;
        part_at(&part, head, reach, band, query);
        size_t keys = part.first_key * dkv_stride;
        attention_train_backward(&part.head, dout + query * dout_stride, dout_stride,
                                 dq + query * dq_stride, dq_stride, dk + keys, dv + keys,
                                 dkv_stride, scratch);
    }
}
