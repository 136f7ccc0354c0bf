#include "engine/model/bias/window_bias.h"

#include <stdbool.h>

/* Added between patches that are no neighbours in the image. */
static const float apart = -100;

static size_t places(size_t side)
{
    return (2 * side - 1) * (2 * side - 1);
}

static size_t tokens(const struct window_bias *shape)
{
    return shape->specials + shape->side * shape->side;
}

static size_t kinds(const struct window_bias *shape)
{
    return shape->shift > 0 ? 4 : 1;
}

size_t window_bias_rows(const struct window_bias *shape)
{
    return places(shape->side) + 3 * shape->specials;
}

size_t window_bias_row(const struct window_bias *shape, size_t query, size_t key)
{
    size_t specials = shape->specials, side = shape->side;
    if (query < specials)
        return places(side) + (key < specials ? 2 : 0);
    if (key < specials)
        return places(side) + 1;
    query -= specials;
    key -= specials;
    size_t down = query / side + side - 1 - key / side;
    size_t across = query % side + side - 1 - key % side;
    return down * (2 * side - 1) + across;
}

size_t window_bias_floats(const struct window_bias *shape)
{
    return kinds(shape) * shape->heads * tokens(shape) * simd_round_up(tokens(shape));
}

/* True if the edge of the shifted image lies between two patches of a window of this kind. */
static bool is_apart(const struct window_bias *shape, size_t kind, size_t a, size_t b)
{
    size_t side = shape->side, seam = side - shape->shift;
    bool across = (a % side < seam) != (b % side < seam);
    bool down = (a / side < seam) != (b / side < seam);
    return (kind % 2 == 1 && across) || (kind / 2 == 1 && down);
}

struct attention_bias window_bias_expand(const struct window_bias *shape, float *matrix,
                                         const float *table)
{
    size_t n = tokens(shape), stride = simd_round_up(n), heads = shape->heads;
    float *at = matrix;
    for (size_t kind = 0; kind < kinds(shape); kind++)
        for (size_t h = 0; h < heads; h++)
            for (size_t key = 0; key < n; key++, at += stride)
                for (size_t query = 0; query < stride; query++) {
                    at[query] =
                        query < n ? table[window_bias_row(shape, query, key) * heads + h] : 0;
                    if (query < n && kind > 0 && is_apart(shape, kind, query, key))
                        at[query] += apart;
                }
    return (struct attention_bias){.at = matrix,
                                   .key_step = (ptrdiff_t)stride,
                                   .head_step = n * stride,
                                   .kind_step = kinds(shape) > 1 ? heads * n * stride : 0};
}

void window_bias_fold(const struct window_bias *shape, float *dtable, const float *dmatrix)
{
    size_t n = tokens(shape), stride = simd_round_up(n), heads = shape->heads;
    for (size_t part = 0; part < kinds(shape) * heads; part++)
        for (size_t key = 0; key < n; key++, dmatrix += stride)
            for (size_t query = 0; query < n; query++)
                dtable[window_bias_row(shape, query, key) * heads + part % heads] += dmatrix[query];
}
