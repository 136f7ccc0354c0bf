#include "engine/model/bias/causal_bias.h"

size_t causal_bias_floats(size_t tokens_max)
{
    return simd_round_up(2 * tokens_max - 1) + SIMD_WIDTH;
}

struct attention_bias causal_bias_expand(float *table, size_t tokens_max)
{
    size_t floats = causal_bias_floats(tokens_max), same = tokens_max - 1;
    for (size_t i = 0; i < floats; i++)
        table[i] = i < same ? CAUSAL_BIAS_MASKED : 0;
    return (struct attention_bias){.at = table + same, .key_step = -1};
}
