#include "engine/model/bias/relative_bias.h"

enum { EXACT = 8, SIDE = RELATIVE_BUCKETS / 2 };

/* Bucket 8 + i begins at 8 16^(i / 8), rounded up: the formula without the rounding of logarithms.
 * transformers' fp32 gives the same buckets up to any length: tests/reference. */
unsigned relative_bias_bucket(long distance)
{
    static const long begins[] = {12, 16, 23, 32, 46, 64, 91};
    unsigned side = distance < 0 ? SIDE : 0, bucket = EXACT;
    long far = distance < 0 ? -distance : distance;
    if (far < EXACT)
        return side + (unsigned)far;
    for (size_t i = 0; i < sizeof begins / sizeof *begins && far >= begins[i]; i++)
        bucket++;
    return side + bucket;
}

static size_t head_step(size_t tokens_max)
{
    return simd_round_up(2 * tokens_max - 1) + SIMD_WIDTH;
}

size_t relative_bias_floats(size_t heads, size_t tokens_max)
{
    return heads * head_step(tokens_max);
}

/* Returns the bucket of entry i of a head's table. */
static unsigned bucket_at(size_t i, size_t tokens_max)
{
    return relative_bias_bucket((long)i - (long)(tokens_max - 1));
}

struct attention_bias relative_bias_expand(float *table, const float *weights, size_t heads,
                                           size_t tokens_max)
{
    size_t step = head_step(tokens_max), used = 2 * tokens_max - 1;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < step; i++)
            table[h * step + i] = i < used ? weights[bucket_at(i, tokens_max) * heads + h] : 0;
    return (struct attention_bias){.at = table + tokens_max - 1, .key_step = -1, .head_step = step};
}

void relative_bias_fold(float *dweights, const float *dtable, size_t heads, size_t tokens_max)
{
    size_t step = head_step(tokens_max), used = 2 * tokens_max - 1;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < used; i++)
            dweights[bucket_at(i, tokens_max) * heads + h] += dtable[h * step + i];
}
