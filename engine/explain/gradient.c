#include "engine/explain/gradient.h"

#include "engine/explain/attention_map.h"
#include "engine/explain/gradient_path.h"
#include "engine/model/attention_rows.h"
#include "engine/tensor/dot.h"

#include <stdbool.h>
#include <string.h>

/* gradient [N] of one head of a global token: dO . (W_v x_j + b_v) = W_v^T dO . x_j + c. */
static void global_head(const struct gradient_path *path, const struct capture *capture,
                        size_t head, float *gradient)
{
    const struct plain_linear *value = &path->layer->global.value;
    size_t hidden = path->spec->hidden, width = hidden / path->spec->heads;
    const float *dout = path->normed;
    float *seen = path->column[0], offset = 0;
    memset(seen, 0, hidden * sizeof *seen);
    for (size_t e = head * width; e < (head + 1) * width; e++) {
        add_scaled(seen, dout[e], value->weight + e * hidden, hidden);
        offset += dout[e] * value->bias[e];
    }
    for (size_t j = 0; j < capture->tokens; j++)
        gradient[j] = dot(seen, capture->states + j * hidden, hidden) + offset;
}

enum err_code gradient_of_attention(const struct spec *spec, const struct weights *weights,
                                    const struct capture *capture, unsigned label, unsigned token,
                                    struct arena *arena, float *gradient, struct err *err)
{
    struct gradient_path path;
    size_t width = spec->hidden / spec->heads, n = capture->tokens;
    if (gradient_path_back(&path, spec, weights, capture, label, token, 1, arena, err))
        return err->code;
    for (size_t h = 0; h < path.layer->heads; h++)
        if (capture->states != NULL)
            global_head(&path, capture, h, gradient + h * n);
        else
            for (size_t j = 0; j < n; j++)
                gradient[h * n + j] =
                    dot(path.normed + h * width,
                        capture->projected + (3 * j + 2) * path.layer->attended + h * width,
                        width) /
                    (float)spec_head_tokens(spec);
    return ERR_OK;
}

/* ---- the map ---- */

bool gradient_normalise(float *relevance, size_t n)
{
    float total = 0;
    for (size_t j = 0; j < n; j++)
        total += relevance[j];
    for (size_t j = 0; total > 0 && j < n; j++)
        relevance[j] /= total;
    return total > 0;
}

/* Adds one head of a block of queries from `first` on. Their attention is computed again from the
 * capture; the gradient comes from dO and the values. */
static void add_block(const struct gradient_path *path, const struct capture *capture, size_t head,
                      size_t first, float *attention, float *scratch, float *relevance)
{
    const struct spec *spec = path->spec;
    size_t attended = path->layer->attended, heads = path->layer->heads;
    size_t width = spec->hidden / spec->heads, n = capture->tokens;
    size_t count = n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES;
    const float *value = capture->projected + 2 * attended + head * width;
    const struct attention_rows rows = {.kernels = path->kernels,
                                        .qkv = capture->projected,
                                        .stride = 3 * attended,
                                        .tokens = n,
                                        .attended = attended,
                                        .width = width,
                                        .bias =
                                            attention_bias_of_kind(&path->layer->bias, path->kind),
                                        .reach = path->layer->reach};
    const struct attention_bias none = {0};
    attention_rows_mean(&rows, first, count, head, 1, &none, attention, n, scratch);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < n; j++) {
            const float *d = path->normed + (first + i) * attended + head * width;
            float product = dot(d, value + j * 3 * attended, width) * attention[i * n + j];
            relevance[j] += product > 0 ? product / (float)heads : 0;
        }
}

enum err_code gradient_add(const struct spec *spec, const struct weights *weights,
                           const struct capture *capture, unsigned kind, unsigned label,
                           struct arena *arena, float *relevance, struct err *err)
{
    struct gradient_path path;
    size_t n = capture->tokens, numbers = attention_rows_scratch(n, spec->hidden / spec->heads);
    float *attention = arena_alloc_array(arena, ATTENTION_QUERIES * n, sizeof *attention);
    float *scratch = arena_alloc_array(arena, numbers, sizeof *scratch);
    if (attention == NULL || scratch == NULL)
        return err_no_memory(err, (ATTENTION_QUERIES * n + numbers) * sizeof *scratch);
    if (gradient_path_back(&path, spec, weights, capture, label, 0, n, arena, err))
        return err->code;
    path.kind = kind;
    for (size_t h = 0; h < path.layer->heads; h++)
        for (size_t first = 0; first < n; first += ATTENTION_QUERIES)
            add_block(&path, capture, h, first, attention, scratch, relevance);
    return ERR_OK;
}

size_t gradient_bytes(const struct spec *spec, unsigned tokens)
{
    size_t width = spec->hidden / spec->heads;
    if (!spec_head_reads_all(spec))
        return 0;
    if (spec->stages != NULL) { /* window by window of the last stage */
        struct spec last = spec_at(spec, spec_stages(spec) - 1);
        size_t windows = spec_grid(&last).windows;
        last.stages = NULL;
        return windows * gradient_bytes(&last, (unsigned)spec_sequence(spec));
    }
    return (gradient_path_floats(spec, tokens) + ATTENTION_QUERIES * (size_t)tokens +
            attention_rows_scratch(tokens, width)) *
           sizeof(float);
}

/* relevance[j] += mean over heads of max(0, gradient * attention), for the tokens that are read. */
static enum err_code add_first(const struct spec *spec, const struct weights *weights,
                               const struct capture *capture, unsigned label, struct arena *arena,
                               float *relevance, struct err *err)
{
    size_t n = capture->tokens, numbers = spec->heads * n;
    size_t heads = spec_heads(spec, spec->layers - 1);
    float *gradient = arena_alloc_array(arena, numbers, sizeof *gradient);
    if (gradient == NULL)
        return err_no_memory(err, numbers * sizeof *gradient);
    for (unsigned token = 0; token < spec_head_tokens(spec); token++) {
        const float *attention = capture->last + token * heads * n;
        if (gradient_of_attention(spec, weights, capture, label, token, arena, gradient, err))
            return err->code;
        for (size_t i = 0; i < heads * n; i++) {
            float product = gradient[i] * attention[i];
            relevance[i % n] += product > 0 ? product / (float)heads : 0;
        }
    }
    return ERR_OK;
}

enum err_code gradient_map_last(const struct spec *spec, const struct weights *weights,
                                const struct capture *capture, unsigned label, struct arena *arena,
                                float *relevance, struct err *err)
{
    size_t n = capture->tokens;
    memset(relevance, 0, n * sizeof *relevance);
    if (spec_head_reads_all(spec))
        gradient_add(spec, weights, capture, 0, label, arena, relevance, err);
    else
        add_first(spec, weights, capture, label, arena, relevance, err);
    if (err->code != ERR_OK)
        return err->code;
    if (!gradient_normalise(relevance, n))
        attention_map_layer(spec, capture, spec->layers, relevance);
    return ERR_OK;
}

enum err_code gradient_map(const struct spec *spec, const struct weights *weights,
                           const struct capture *capture, unsigned label, struct arena *arena,
                           float *relevance, struct err *err)
{
    size_t n = capture->tokens;
    float *scratch = arena_alloc_array(arena, n, sizeof *scratch);
    if (scratch == NULL)
        return err_no_memory(err, n * sizeof *scratch);
    if (gradient_map_last(spec, weights, capture, label, arena, relevance, err))
        return err->code;
    attention_map_down(spec, capture, relevance, scratch);
    return ERR_OK;
}
