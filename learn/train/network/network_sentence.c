#include "learn/train/network/network_state.h"

#include "engine/model/sentence_pooling.h"
#include "engine/tensor/dot.h"

#include <math.h>
#include <string.h>

static struct sentence_tokens tokens_of(const struct network *network, unsigned row)
{
    const struct matrix x = network->head.normed;
    return (struct sentence_tokens){.x = x.x + network->offset[row] * x.stride,
                                    .stride = x.stride,
                                    .end = network->offset[row + 1] - network->offset[row]};
}

void network_sentence_pool(struct network *network)
{
    const struct matrix out = network->head.logits[0];
    for (unsigned r = 0; r < network->rows; r++) {
        const struct sentence_tokens tokens = tokens_of(network, r);
        sentence_pool(out.x + r * out.stride, &network->spec->sentence->pooling, &tokens,
                      network->spec->hidden);
    }
}

static void give_largest(float *g, size_t stride, const struct sentence_tokens *tokens,
                         const float *pooled, const float *d, size_t width)
{
    for (size_t c = 0; c < width; c++) {
        size_t t = 0;
        while (t + 1 < tokens->end && tokens->x[t * tokens->stride + c] != pooled[c])
            t++;
        g[t * stride + c] += d[c];
    }
}

/* The weight of token t of n in a mean, or in the choice of one token. */
static double weight_of(enum sentence_mode mode, double t, double n)
{
    switch (mode) {
    case SENTENCE_CLS:
        return t == 0;
    case SENTENCE_MEAN:
        return 1 / n;
    case SENTENCE_MEAN_SQRT_LENGTH:
        return 1 / sqrt(n);
    case SENTENCE_WEIGHTED_MEAN:
        return (t + 1) / (n * (n + 1) / 2);
    case SENTENCE_LAST_TOKEN:
        return t + 1 == n;
    case SENTENCE_MAX:
    case SENTENCE_MODES:
        break;
    }
    return 0;
}

void network_sentence_spread(struct network *network, const float *dvectors)
{
    const struct sentence_pooling *pooling = &network->spec->sentence->pooling;
    const struct matrix out = network->head.logits[0], g = network->g;
    const size_t width = network->spec->hidden;
    for (unsigned r = 0; r < network->rows; r++) {
        const struct sentence_tokens tokens = tokens_of(network, r);
        float *own = g.x + network->offset[r] * g.stride;
        for (size_t t = 0; t < tokens.end; t++)
            memset(own + t * g.stride, 0, width * sizeof *own);
        for (unsigned i = 0; i < pooling->count; i++) {
            const float *d = dvectors + r * out.width + i * width;
            const float *pooled = out.x + r * out.stride + i * width;
            if (pooling->modes[i] == SENTENCE_MAX)
                give_largest(own, g.stride, &tokens, pooled, d, width);
            else
                for (size_t t = 0; t < tokens.end; t++)
                    add_scaled(own + t * g.stride,
                               (float)weight_of(pooling->modes[i], (double)t, tokens.end), d,
                               width);
        }
    }
}
