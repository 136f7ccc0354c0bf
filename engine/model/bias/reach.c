#include "engine/model/bias/reach.h"

#include "engine/tensor/kernels.h"

/* No score of a working model is near it. Its product with 2^-100, the probability of a masked key
 * in the kernels, is still negligible (the regulariser of training multiplies them). */
static const float beyond = -1e9f;

struct key_span reach_span(unsigned reach, unsigned tokens, unsigned query)
{
    if (reach == 0)
        return (struct key_span){0, tokens};
    unsigned group = query / ATTENTION_QUERIES * ATTENTION_QUERIES;
    unsigned first = group > reach ? group - reach : 0, left = tokens - first;
    unsigned count = group - first + ATTENTION_QUERIES + reach;
    return (struct key_span){first, count < left ? count : left};
}

struct key_span reach_span_beside(unsigned reach, unsigned tokens, unsigned query)
{
    struct key_span span = reach_span(reach, tokens, query);
    unsigned dropped = span.first == 0;
    return (struct key_span){span.first + dropped, span.count - dropped};
}

/* Returns a bound: query and key of a span are less than this apart. */
static size_t distance_end(unsigned reach)
{
    return (size_t)reach + ATTENTION_QUERIES;
}

size_t reach_bias_floats(unsigned reach)
{
    return simd_round_up(2 * distance_end(reach) - 1) + SIMD_WIDTH;
}

struct attention_bias reach_bias(float *table, unsigned reach)
{
    size_t centre = distance_end(reach) - 1;
    for (size_t i = 0; i < reach_bias_floats(reach); i++)
        table[i] = i + reach >= centre && i <= centre + reach ? 0 : beyond;
    return (struct attention_bias){.at = table + centre, .key_step = -1};
}
