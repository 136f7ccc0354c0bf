#include "engine/explain/attention_map.h"

#include "engine/explain/gradient.h"

#include <string.h>

/* r[j] += sum_i from[i] A[i, j], i and j of one window; `from` is in the order of windows. */
static void add_attention(const struct spec *stage, const struct capture *capture, unsigned layer,
                          float *r, const float *from)
{
    const unsigned shift = spec_shift(stage, layer), n = (unsigned)spec_sequence(stage);
    for (unsigned v = 0; v < spec_grid(stage).windows; v++) {
        const float *a = capture_mean(capture_window(capture, stage, v), layer);
        for (unsigned j = 0; j < n; j++) {
            float received = 0;
            for (unsigned i = 0; i < n; i++)
                received += from[v * n + i] * a[(size_t)i * n + j];
            r[patch_windows_cell(stage, shift, v * n + j)] += received;
        }
    }
}

/* r <- (r + r A_l) / 2 */
static void step_down(const struct spec *stage, const struct capture *capture, unsigned layer,
                      float *r, float *scratch)
{
    const unsigned shift = spec_shift(stage, layer);
    for (unsigned row = 0; row < stage->patches; row++)
        scratch[row] = r[patch_windows_cell(stage, shift, row)];
    add_attention(stage, capture, layer, r, scratch);
    for (unsigned p = 0; p < stage->patches; p++)
        r[p] /= 2;
}

/* Carries r from the input of layer `layers` down to the first stage's patches; if `rolls`, through
 * the layers up to it. Layer 0: the state before the first layer. */
static void carry_down(const struct spec *spec, const struct capture *capture, unsigned stages,
                       unsigned layers, bool rolls, float *r, float *scratch)
{
    for (unsigned i = stages; i-- > 0;) {
        const struct spec stage = spec_at(spec, i);
        const unsigned grid = spec_grid(&stage).image.width, below = 2 * grid;
        for (; rolls && layers > spec_first_layer(&stage); layers--)
            step_down(&stage, capture, layers - 1, r, scratch);
        if (i == 0)
            return;
        /* Each patch of the stage below gets a quarter of its merged patch. */
        memcpy(scratch, r, stage.patches * sizeof *r);
        for (unsigned p = 0; p < 4 * stage.patches; p++)
            r[p] = scratch[p / below / 2 * grid + p % below / 2] / 4;
    }
}

static void make_level(float *r, unsigned n)
{
    for (unsigned p = 0; p < n; p++)
        r[p] = 1 / (float)n;
}

void stage_map_rollout(const struct spec *spec, const struct capture *capture, unsigned layers,
                       float *relevance, float *scratch)
{
    const unsigned top = spec_stage_of(spec, layers - 1);
    make_level(relevance, spec_at(spec, top).patches);
    carry_down(spec, capture, top + 1, layers, true, relevance, scratch);
}

/* Averages over the stage's tokens. */
static void average(const struct spec *stage, const struct capture *capture, unsigned layer,
                    float *relevance, float *scratch)
{
    make_level(scratch, stage->patches);
    memset(relevance, 0, stage->patches * sizeof *relevance);
    add_attention(stage, capture, layer - 1, relevance, scratch);
}

void stage_map_layer(const struct spec *spec, const struct capture *capture, unsigned layer,
                     float *relevance, float *scratch)
{
    const unsigned top = spec_stage_of(spec, layer - 1);
    const struct spec stage = spec_at(spec, top);
    average(&stage, capture, layer, relevance, scratch);
    carry_down(spec, capture, top + 1, layer, false, relevance, scratch);
}

enum err_code stage_map_gradient(const struct spec *spec, const struct weights *weights,
                                 const struct capture *capture, unsigned label, bool is_last,
                                 struct arena *arena, float *relevance, float *scratch,
                                 struct err *err)
{
    const unsigned stages = spec_stages(spec);
    const struct spec stage = spec_at(spec, stages - 1);
    const unsigned shift = spec_shift(&stage, stage.layers - 1);
    const unsigned n = (unsigned)spec_sequence(&stage);
    for (unsigned v = 0; v < spec_grid(&stage).windows; v++) { /* paths stay within a window */
        memset(scratch, 0, n * sizeof *scratch);
        if (gradient_add(&stage, weights, capture_window(capture, &stage, v),
                         patch_windows_kind(&stage, v), label, arena, scratch, err))
            return err->code;
        for (unsigned i = 0; i < n; i++)
            relevance[patch_windows_cell(&stage, shift, v * n + i)] = scratch[i];
    }
    if (!gradient_normalise(relevance, stage.patches))
        average(&stage, capture, spec->layers, relevance, scratch);
    carry_down(spec, capture, stages, spec->layers - 1, !is_last, relevance, scratch);
    return ERR_OK;
}
