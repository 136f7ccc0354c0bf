#include "engine/model/bias/window_bias.h"

#include <stdbool.h>

/* Added between patches that are no neighbours in the image. */
static const float apart = -100;

static size_t places(struct extent window)
{
    return (2 * (size_t)window.height - 1) * (2 * (size_t)window.width - 1);
}

static size_t tokens(const struct window_bias *shape)
{
    return shape->specials + extent_area(shape->window);
}

static size_t kinds(const struct window_bias *shape)
{
    return shape->shift > 0 ? 4 : 1;
}

size_t window_bias_rows(const struct window_bias *shape)
{
    return places(shape->window) + 3 * shape->specials;
}

size_t window_bias_row(const struct window_bias *shape, size_t query, size_t key)
{
    const size_t specials = shape->specials;
    const size_t rows = shape->window.height, columns = shape->window.width;
    if (query < specials)
        return places(shape->window) + (key < specials ? 2 : 0);
    if (key < specials)
        return places(shape->window) + 1;
    query -= specials;
    key -= specials;
    size_t down = query / columns + rows - 1 - key / columns;
    size_t across = query % columns + columns - 1 - key % columns;
    return down * (2 * columns - 1) + across;
}

/* Rows of the table that make a bias, and their shares. */
struct mixture {
    size_t row[4];
    float share[4];
    unsigned count;
};

/* One axis of a bilinear resampling with half-pixel centres, from `from` places to `to`. */
static void between(size_t at, size_t from, size_t to, size_t place[2], float share[2])
{
    const float source = ((float)at + 0.5f) * (float)from / (float)to - 0.5f;
    const float inside = source > 0 ? source : 0;
    place[0] = (size_t)inside < from ? (size_t)inside : from - 1;
    place[1] = place[0] + 1 < from ? place[0] + 1 : place[0];
    share[1] = inside - (float)place[0];
    share[0] = 1 - share[1];
}

static struct mixture mixture_of(const struct window_bias *shape, size_t query, size_t key)
{
    const size_t row = window_bias_row(shape, query, key);
    const size_t rows = 2 * (size_t)shape->window.height - 1;
    const size_t columns = 2 * (size_t)shape->window.width - 1;
    if (rows == columns || row >= rows * columns)
        return (struct mixture){.row = {row}, .share = {1}, .count = 1};
    size_t down[2], right[2];
    float down_share[2], right_share[2];
    struct mixture out = {.count = 4};
    between(row / columns, columns, rows, down, down_share);
    between(row % columns, rows, columns, right, right_share);
    for (unsigned i = 0; i < out.count; i++) {
        out.row[i] = down[i / 2] * rows + right[i % 2];
        out.share[i] = down_share[i / 2] * right_share[i % 2];
    }
    return out;
}

static float bias_of(const struct window_bias *shape, const float *table, size_t query, size_t key,
                     size_t head)
{
    const struct mixture mixture = mixture_of(shape, query, key);
    float sum = table[mixture.row[0] * shape->heads + head] * mixture.share[0];
    for (unsigned i = 1; i < mixture.count; i++)
        sum += table[mixture.row[i] * shape->heads + head] * mixture.share[i];
    return sum;
}

size_t window_bias_floats(const struct window_bias *shape)
{
    return kinds(shape) * shape->heads * tokens(shape) * simd_round_up(tokens(shape));
}

/* True if the edge of the shifted image lies between two patches of a window of this kind. */
static bool is_apart(const struct window_bias *shape, size_t kind, size_t a, size_t b)
{
    const size_t rows = shape->window.height, columns = shape->window.width;
    bool across = (a % columns < columns - shape->shift) != (b % columns < columns - shape->shift);
    bool down = (a / columns < rows - shape->shift) != (b / columns < rows - shape->shift);
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
                    at[query] = query < n ? bias_of(shape, table, query, key, h) : 0;
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
            for (size_t query = 0; query < n; query++) {
                const struct mixture mixture = mixture_of(shape, query, key);
                for (unsigned i = 0; i < mixture.count; i++)
                    dtable[mixture.row[i] * heads + part % heads] +=
                        dmatrix[query] * mixture.share[i];
            }
}
