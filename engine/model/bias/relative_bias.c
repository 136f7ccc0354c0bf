#include "engine/model/bias/relative_bias.h"

#include <math.h>

const struct relative_buckets relative_mpnet = {
    .count = 32, .distance = 128, .looks_forward = true};

/* Buckets of one direction. */
static unsigned side_of(const struct relative_buckets *buckets)
{
    return buckets->looks_forward ? buckets->count / 2 : buckets->count;
}

unsigned relative_bias_exact(const struct relative_buckets *buckets)
{
    return side_of(buckets) / 2;
}

/* Logarithms in fp32, as transformers takes them: where a bucket begins hangs on their rounding. */
unsigned relative_bias_bucket(const struct relative_buckets *buckets, long distance)
{
    const unsigned side = side_of(buckets), exact = relative_bias_exact(buckets);
    const unsigned begin = distance < 0 && buckets->looks_forward ? side : 0;
    const long far = distance >= 0 ? distance : buckets->looks_forward ? -distance : 0;
    if (far < (long)exact)
        return begin + (unsigned)far;
    const float range = (float)log((double)buckets->distance / exact);
    const float within = logf((float)far / (float)exact) / range * (float)(side - exact);
    const unsigned bucket = within < (float)side ? exact + (unsigned)within : side;
    return begin + (bucket < side ? bucket : side - 1);
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
static unsigned bucket_at(const struct relative_buckets *buckets, size_t i, size_t tokens_max)
{
    return relative_bias_bucket(buckets, (long)i - (long)(tokens_max - 1));
}

struct attention_bias relative_bias_expand(float *table, const struct relative_buckets *buckets,
                                           const float *weights, size_t heads, size_t tokens_max)
{
    const size_t step = head_step(tokens_max), used = 2 * tokens_max - 1;
    for (size_t i = 0; i < step; i++) {
        const unsigned bucket = i < used ? bucket_at(buckets, i, tokens_max) : 0;
        for (size_t h = 0; h < heads; h++)
            table[h * step + i] = i < used ? weights[bucket * heads + h] : 0;
    }
    return (struct attention_bias){.at = table + tokens_max - 1, .key_step = -1, .head_step = step};
}

void relative_bias_fold(float *dweights, const struct relative_buckets *buckets,
                        const float *dtable, size_t heads, size_t tokens_max)
{
    const size_t step = head_step(tokens_max), used = 2 * tokens_max - 1;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < used; i++)
            dweights[bucket_at(buckets, i, tokens_max) * heads + h] += dtable[h * step + i];
}
