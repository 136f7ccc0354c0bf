#include "learn/train/network/network_windows.h"

#include <string.h>

static bool is_plain(const struct network *network)
{
    return network->inputs == network->rows;
}

/* One input: its sequences are first .. last - 1. */
static void pool(enum window_pooling pooling, float *pooled, struct matrix x, unsigned first,
                 unsigned last)
{
    memcpy(pooled, x.x + first * x.stride, x.width * sizeof *pooled);
    for (unsigned r = first + 1; r < last; r++) {
        const float *row = x.x + r * x.stride;
        for (size_t i = 0; i < x.width; i++)
            if (pooling == WINDOW_MEAN)
                pooled[i] += row[i];
            else
                pooled[i] = row[i] > pooled[i] ? row[i] : pooled[i];
    }
    for (size_t i = 0; pooling == WINDOW_MEAN && i < x.width; i++)
        pooled[i] /= (float)(last - first);
}

struct matrix network_windows_pool(const struct network *network, struct matrix pooled,
                                   struct matrix x)
{
    if (is_plain(network))
        return x;
    for (unsigned i = 0; i < network->inputs; i++)
        pool(network->spec->long_text.pooling, pooled.x + i * pooled.stride, x,
             network->input_first[i], network->input_first[i + 1]);
    return pooled;
}

static void share_mean(struct matrix dx, const float *dpooled, unsigned first, unsigned last)
{
    for (unsigned r = first; r < last; r++)
        for (size_t i = 0; i < dx.width; i++)
            dx.x[r * dx.stride + i] = dpooled[i] / (float)(last - first);
}

static void give_largest(struct matrix dx, const float *dpooled, const float *pooled,
                         struct matrix x, unsigned first, unsigned last)
{
    for (size_t i = 0; i < dx.width; i++) {
        float left = dpooled[i];
        for (unsigned r = first; r < last; r++) {
            const bool has_it = x.x[r * x.stride + i] == pooled[i];
            dx.x[r * dx.stride + i] = has_it ? left : 0;
            left = has_it ? 0 : left;
        }
    }
}

void network_windows_backward(const struct network *network, struct matrix dx,
                              struct matrix dpooled, struct matrix pooled, struct matrix x)
{
    for (unsigned i = 0; !is_plain(network) && i < network->inputs; i++) {
        const float *own = dpooled.x + i * dpooled.stride;
        const unsigned first = network->input_first[i], last = network->input_first[i + 1];
        if (network->spec->long_text.pooling == WINDOW_MEAN)
            share_mean(dx, own, first, last);
        else
            give_largest(dx, own, pooled.x + i * pooled.stride, x, first, last);
    }
}
