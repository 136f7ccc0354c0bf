#include "engine/explain/attention_map.h"

#include <string.h>

void attention_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                         float *relevance)
{
    size_t n = capture->tokens, heads = spec_heads(spec, spec->layers - 1);
    if (layer != spec->layers) {
        memcpy(relevance, capture_mean(capture, layer - 1), n * sizeof *relevance);
        return;
    }
    /* A capture keeps the heads of the last layer one by one, and the mean of the others. */
    memset(relevance, 0, n * sizeof *relevance);
    for (size_t h = 0; h < heads; h++)
        for (size_t j = 0; j < n; j++)
            relevance[j] += capture->last[h * n + j] / (float)heads;
}

/* Carries r down through the layers below `layer`, counted from 1: r <- (r + r A)/2 for each. */
static void carry_down(const struct capture *capture, unsigned layer, float *r, float *scratch)
{
    size_t n = capture->tokens;
    for (size_t below = layer - 1; below-- > 0;) {
        const float *a = capture_mean(capture, below);
        memcpy(scratch, r, n * sizeof *r);
        for (size_t i = 0; i < n; i++) {
            float weight = scratch[i];
            for (size_t j = 0; j < n; j++)
                r[j] += weight * a[i * n + j];
        }
        for (size_t j = 0; j < n; j++)
            r[j] /= 2;
    }
}

void attention_map_down(const struct spec *spec, const struct capture *capture, float *relevance,
                        float *scratch)
{
    carry_down(capture, spec->layers, relevance, scratch);
}

void attention_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                           float *relevance, float *scratch)
{
    attention_map_layer(spec, capture, layers, relevance);
    relevance[0] += 1; /* the residual connection of [CLS] */
    for (size_t j = 0; j < capture->tokens; j++)
        relevance[j] /= 2;
    carry_down(capture, layers, relevance, scratch);
}
