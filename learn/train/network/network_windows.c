#include "learn/train/network/network_windows.h"

#include "engine/model/head.h"

static bool is_plain(const struct network *network)
{
    return network->inputs == network->rows;
}

struct matrix network_windows_pool(const struct network *network, struct matrix pooled,
                                   struct matrix x)
{
    if (is_plain(network))
        return x;
    for (unsigned i = 0; i < network->inputs; i++) {
        const unsigned first = network->input_first[i], last = network->input_first[i + 1];
        struct window_place place = {.windows = last - first};
        for (; place.window < place.windows; place.window++)
            head_pool(network->spec, &place, pooled.x + i * pooled.stride,
                      x.x + (first + place.window) * x.stride);
    }
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
