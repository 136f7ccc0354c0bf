#include "engine/explain/attention_map.h"

#include <string.h>

void attention_map_last(const struct spec *spec, const struct trace *trace, float *relevance)
{
    size_t n = trace->tokens;
    memset(relevance, 0, n * sizeof *relevance);
    for (size_t h = 0; h < spec->heads; h++)
        for (size_t j = 0; j < n; j++)
            relevance[j] += trace->last[h * n + j] / (float)spec->heads;
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

void attention_map_down(const struct spec *spec, const struct trace *trace, float *relevance,
                        float *scratch)
{
    size_t n = trace->tokens;
    for (size_t layer = spec->layers - 1; layer-- > 0;)
        step_down(relevance, trace->mean + layer * n * n, n, scratch);
}

void attention_map_rollout(const struct spec *spec, const struct trace *trace, float *relevance,
                           float *scratch)
{
    attention_map_last(spec, trace, relevance);
    relevance[0] += 1; /* the residual of [CLS] itself */
    for (size_t j = 0; j < trace->tokens; j++)
        relevance[j] /= 2;
    attention_map_down(spec, trace, relevance, scratch);
}
