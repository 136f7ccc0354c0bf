#include "engine/model/attention_rows.h"

#include "engine/model/reach.h"
#include "engine/tensor/attention_bf16.h"

#include <string.h>

size_t attention_rows_scratch(size_t tokens, size_t width)
{
    size_t fp32 = attention_mean_scratch(tokens, width);
    size_t bf16 = attention_bf16_mean_scratch(tokens, width);
    return simd_round_up(fp32 > bf16 ? fp32 : bf16);
}

/* Rows begin and end with zeros: the kernel has written those of the span, masked keys too. */
static void clear_beyond(const struct attention_rows *rows, size_t first, size_t count, float *out,
                         size_t out_stride)
{
    size_t n = rows->tokens, reach = rows->reach;
    for (size_t i = first; i < first + count; i++, out += out_stride) {
        size_t from = i > reach ? i - reach : 0, to = i + reach + 1;
        memset(out, 0, from * sizeof *out);
        if (to < n)
            memset(out + to, 0, (n - to) * sizeof *out);
    }
}

void attention_rows_mean(const struct attention_rows *rows, size_t first, size_t count, size_t head,
                         size_t heads, float *out, size_t out_stride, float *scratch)
{
    const struct key_span span = reach_span(rows->reach, (unsigned)rows->tokens, (unsigned)first);
    size_t stride = rows->stride, width = rows->width;
    size_t query = first * stride + head * width;
    size_t key = span.first * stride + rows->hidden + head * width;
    float *to = out + span.first;
    struct attention_bias bias = {0};
    if (rows->bias->at != NULL)
        bias = attention_bias_at(rows->bias, head, first - span.first);
    if (rows->qkv == NULL)
        attention_bf16_mean(to, out_stride, rows->qkv_bf16 + query, rows->qkv_bf16 + key, stride,
                            count, span.count, heads, width, &bias, scratch);
    else if (bias.at != NULL)
        rows->kernels->attention_mean_biased(to, out_stride, rows->qkv + query, rows->qkv + key,
                                             stride, count, span.count, heads, width, &bias,
                                             scratch);
    else
        rows->kernels->attention_mean(to, out_stride, rows->qkv + query, rows->qkv + key, stride,
                                      count, span.count, heads, width, scratch);
    if (rows->reach > 0)
        clear_beyond(rows, first, count, out, out_stride);
}
