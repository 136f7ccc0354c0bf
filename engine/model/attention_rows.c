#include "engine/model/attention_rows.h"

#include "engine/model/bias/reach.h"
#include "engine/tensor/attention_bf16.h"

#include <string.h>

size_t attention_rows_scratch(size_t tokens, size_t width)
{
    size_t fp32 = attention_mean_scratch(tokens, width);
    size_t bf16 = attention_bf16_mean_scratch(tokens, width);
    return simd_round_up(fp32 > bf16 ? fp32 : bf16);
}

/* Finishes row i. The kernel has written it over the span, masked keys too, and the number of the
 * global token in front: it is moved to its place, and keys beyond the reach get zeros. */
static void finish_row(const struct attention_rows *rows, const struct key_span *span, size_t i,
                       float *row)
{
    size_t n = rows->tokens, reach = rows->reach, from = i > reach ? i - reach : 0;
    size_t to = i + reach + 1;
    float front = rows->has_global ? row[span->first - 1] : 0;
    if (rows->reach == 0)
        return;
    memset(row, 0, from * sizeof *row);
    if (to < n)
        memset(row + to, 0, (n - to) * sizeof *row);
    if (rows->has_global)
        row[0] = front;
}

/* out: place of the first key, or of the global key in front of it. */
static void average(const struct attention_rows *rows, size_t query, size_t key,
                    const struct attention_bias *bias, size_t count, size_t keys, size_t heads,
                    float *out, size_t out_stride, float *scratch)
{
    if (rows->qkv == NULL)
        attention_bf16_mean(out, out_stride, rows->qkv_bf16 + query, rows->qkv_bf16 + key,
                            rows->stride, count, keys, heads, rows->width, bias, scratch);
    else if (bias->at != NULL)
        rows->kernels->attention_mean_biased(out, out_stride, rows->qkv + query, rows->qkv + key,
                                             rows->stride, count, keys, heads, rows->width, bias,
                                             scratch);
    else
        rows->kernels->attention_mean(out, out_stride, rows->qkv + query, rows->qkv + key,
                                      rows->stride, count, keys, heads, rows->width, scratch);
}

void attention_rows_mean(const struct attention_rows *rows, size_t first, size_t count, size_t head,
                         size_t heads, const struct attention_bias *own, float *out,
                         size_t out_stride, float *scratch)
{
    const bool has_global = rows->has_global, skips = has_global && first == 0;
    const struct key_span span = (has_global ? reach_span_beside : reach_span)(
        rows->reach, (unsigned)rows->tokens, (unsigned)first);
    size_t query = first + skips, end = first + count;
    struct attention_bias bias = *own;
    if (own->at == NULL && rows->bias.at != NULL)
        bias = attention_bias_at(&rows->bias, head, query - span.first);
    bias.global_rows = has_global ? span.first : 0;
    if (skips)
        memset(out, 0, rows->tokens * sizeof *out);
    out += skips * out_stride;
    if (query < end)
        average(rows, query * rows->stride + head * rows->width,
                span.first * rows->stride + rows->attended + head * rows->width, &bias, end - query,
                span.count, heads, out + span.first - has_global, out_stride, scratch);
    for (; query < end; query++, out += out_stride)
        finish_row(rows, &span, query, out);
}
