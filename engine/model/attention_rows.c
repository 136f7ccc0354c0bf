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
    const bool is_bf16 = rows->qkv == NULL;
    const size_t bytes = is_bf16 ? sizeof *rows->qkv_bf16 : sizeof *rows->qkv;
    const char *qkv = is_bf16 ? (const void *)rows->qkv_bf16 : (const void *)rows->qkv;
    const struct attention_io io = {
        .out = out + span.first - has_global, /* place of the first key, or of the global one */
        .out_stride = out_stride,
        .q = qkv + (query * rows->stride + head * rows->width) * bytes,
        .q_stride = rows->stride,
        .k = qkv + (span.first * rows->stride + rows->attended + head * rows->width) * bytes,
        .kv_stride = rows->stride,
        .count = end - query,
        .n = span.count,
        .d = rows->width,
        .heads = heads,
        .bias = bias,
        .scratch = scratch};
    if (io.count > 0)
        (is_bf16 ? attention_bf16_mean : rows->kernels->attention_mean)(&io);
    for (; query < end; query++, out += out_stride)
        finish_row(rows, &span, query, out);
}
