#include "engine/model/window_bias.h"

static size_t places(size_t side)
{
    return (2 * side - 1) * (2 * side - 1);
}

static size_t tokens(size_t side)
{
    return 1 + side * side;
}

size_t window_bias_rows(size_t side)
{
    return places(side) + 3;
}

size_t window_bias_row(size_t side, size_t query, size_t key)
{
    if (query == 0)
        return places(side) + (key == 0 ? 2 : 0);
    if (key == 0)
        return places(side) + 1;
    size_t down = (query - 1) / side + side - 1 - (key - 1) / side;
    size_t across = (query - 1) % side + side - 1 - (key - 1) % side;
    return down * (2 * side - 1) + across;
}

size_t window_bias_floats(size_t heads, size_t side)
{
    return heads * tokens(side) * simd_round_up(tokens(side));
}

struct attention_bias window_bias_expand(float *matrix, const float *table, size_t heads,
                                         size_t side)
{
    size_t n = tokens(side), stride = simd_round_up(n);
    float *at = matrix;
    for (size_t h = 0; h < heads; h++)
        for (size_t key = 0; key < n; key++, at += stride)
            for (size_t query = 0; query < stride; query++)
                at[query] = query < n ? table[window_bias_row(side, query, key) * heads + h] : 0;
    return (struct attention_bias){matrix, (ptrdiff_t)stride, n * stride, 0};
}

void window_bias_fold(float *dtable, const float *dmatrix, size_t heads, size_t side)
{
    size_t n = tokens(side), stride = simd_round_up(n);
    for (size_t h = 0; h < heads; h++)
        for (size_t key = 0; key < n; key++, dmatrix += stride)
            for (size_t query = 0; query < n; query++)
                dtable[window_bias_row(side, query, key) * heads + h] += dmatrix[query];
}
