#include "engine/explain/attention_map.h"

#include <string.h>

/* Of the last layer every head is kept, of the others their mean. */
static void last_layer(const struct spec *spec, const struct trace *trace, float *relevance)
{
    size_t n = trace->tokens;
    memset(relevance, 0, n * sizeof *relevance);
    for (size_t h = 0; h < spec->heads; h++)
        for (size_t j = 0; j < n; j++)
            relevance[j] += trace->last[h * n + j] / (float)spec->heads;
}

void attention_map_layer(const struct spec *spec, const struct trace *trace, unsigned layer,
                         float *relevance)
{
    size_t n = trace->tokens;
    if (layer == spec->layers)
        last_layer(spec, trace, relevance);
    else
        memcpy(relevance, trace_mean(trace, layer - 1), n * sizeof *relevance);
}

/* r <- (r + r A)/2 */
static void step_down(float *r, const float *a, size_t n, float *scratch)
{
    memcpy(scratch, r, n * sizeof *r);
    for (size_t i = 0; i < n; i++) {
        float weight = scratch[i];
        for (size_t j = 0; j < n; j++)
            r[j] += weight * a[i * n + j];
    }
    for (size_t j = 0; j < n; j++)
        r[j] /= 2;
}

/* Through the layers below `layer`, counted from 1. */
static void carry_down(const struct trace *trace, unsigned layer, float *relevance, float *scratch)
{
    size_t n = trace->tokens;
    for (size_t below = layer - 1; below-- > 0;)
        step_down(relevance, trace_mean(trace, below), n, scratch);
}

void attention_map_down(const struct spec *spec, const struct trace *trace, float *relevance,
                        float *scratch)
{
    carry_down(trace, spec->layers, relevance, scratch);
}

void attention_map_rollout(const struct spec *spec, const struct trace *trace, unsigned layers,
                           float *relevance, float *scratch)
{
    attention_map_layer(spec, trace, layers, relevance);
    relevance[0] += 1; /* the residual of [CLS] itself */
    for (size_t j = 0; j < trace->tokens; j++)
        relevance[j] /= 2;
    carry_down(trace, layers, relevance, scratch);
}
