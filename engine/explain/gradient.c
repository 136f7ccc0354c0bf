#include "engine/explain/gradient.h"

#include "engine/explain/attention_map.h"
#include "engine/tensor/backward/backward.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* Buffers of one token's backward pass, from the last block's sums to its attention. */
struct path {
    const struct spec *spec;
    const struct weights *weights;
    const struct layer *layer; /* the last */
    const struct kernels *kernels;
    const struct backward *backward;
    unsigned token;
    float *column;         /* [D or F] one output's weights */
    float *normed;         /* [D] what the MLP reads */
    float *features;       /* [D] what the pooler reads, then the residual gradient of the MLP */
    float *hidden, *inner; /* gradients: [D], [F] */
    float *wide;           /* [F] */
};

static enum err_code open_path(struct path *path, struct arena *arena, struct err *err)
{
    size_t hidden = path->spec->hidden, inner = path->spec->intermediate;
    size_t widest = hidden > inner ? hidden : inner;
    float *room = arena_alloc_array(arena, 3 * hidden + 2 * inner + widest, sizeof *room);
    if (room == NULL)
        return err_no_memory(err, (3 * hidden + 2 * inner + widest) * sizeof *room);
    path->normed = room;
    path->features = room + hidden;
    path->hidden = room + 2 * hidden;
    path->inner = room + 3 * hidden;
    path->wide = path->inner + inner;
    path->column = path->wide + inner;
    path->layer = &path->weights->layers[spec_block(path->spec, path->spec->layers - 1)];
    path->kernels = kernels_best();
    path->backward = backward_best();
    return ERR_OK;
}

static float dot(const float *a, const float *b, size_t n)
{
    float total = 0;
    for (size_t i = 0; i < n; i++)
        total += a[i] * b[i];
    return total;
}

static void add_scaled(float *y, float scale, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

static void unpack(const struct linear *linear, size_t column, float *weight)
{
    linear->backend->unpack(linear, column, weight);
}

/* y = norm(x) of one row. */
static void norm_row(const struct path *path, const struct norm *norm, float *y, const float *x)
{
    size_t hidden = path->spec->hidden;
    path->kernels->layer_norm(y, hidden, x, hidden, norm->gamma, norm->beta, 1, hidden,
                              path->spec->norm_eps);
}

/* dx = d norm(x) / dx . dy, dx may be dy; plus the residual gradient. */
static void norm_back(const struct path *path, const struct norm *norm, float *dx, const float *x,
                      const float *residual)
{
    float stats[2];
    size_t hidden = path->spec->hidden;
    path->backward->layer_norm(dx, hidden, stats, dx, hidden, x, hidden, norm->gamma, residual,
                               hidden, 1, hidden, path->spec->norm_eps);
}

/* ---- the head ---- */

/* hidden = dy / dfeatures; y = classifier(pooler(features)) [label]. */
static void head_back(const struct path *path, const struct linear *classifier, unsigned label)
{
    const struct linear *pooler = &path->weights->pooler;
    size_t hidden = path->spec->hidden;
    if (path->spec->family->tensors[TENSOR_POOLER] == NULL) {
        unpack(classifier, label, path->hidden);
        return;
    }
    unpack(classifier, label, path->wide);
    memset(path->hidden, 0, hidden * sizeof *path->hidden);
    for (size_t c = 0; c < hidden; c++) {
        unpack(pooler, c, path->column);
        float before = dot(path->column, path->features, hidden) + pooler->bias[c], slope;
        path->backward->activation(&slope, &path->wide[c], &before, 1,
                                   path->spec->family->pooler_activation);
        add_scaled(path->hidden, slope, path->column, hidden);
    }
}

/* ---- the block ---- */

/* hidden = dy / dnormed, from hidden = dy / d(MLP's output). */
static void mlp_back(const struct path *path)
{
    size_t hidden = path->spec->hidden, inner = path->spec->intermediate;
    const struct linear *in = &path->layer->mlp_in, *out = &path->layer->mlp_out;
    memset(path->inner, 0, inner * sizeof *path->inner);
    for (size_t c = 0; c < hidden; c++) {
        unpack(out, c, path->column);
        add_scaled(path->inner, path->hidden[c], path->column, inner);
    }
    memset(path->hidden, 0, hidden * sizeof *path->hidden);
    for (size_t c = 0; c < inner; c++) {
        unpack(in, c, path->column);
        float before = dot(path->column, path->normed, hidden) + in->bias[c], slope;
        path->backward->activation(&slope, &path->inner[c], &before, 1, path->spec->activation);
        add_scaled(path->hidden, slope, path->column, hidden);
    }
}

/* BERT: y of h = norm_2(s_2), s_2 = z + MLP(z), z = norm_1(s_1). hidden = dy / ds_1. */
static void norm_after_back(const struct path *path, const struct linear *classifier,
                            unsigned label, const float *attention_sum, const float *mlp_sum)
{
    size_t hidden = path->spec->hidden;
    norm_row(path, &path->layer->mlp_norm, path->features, mlp_sum);
    head_back(path, classifier, label);
    norm_back(path, &path->layer->mlp_norm, path->hidden, mlp_sum, NULL);
    memcpy(path->features, path->hidden, hidden * sizeof *path->hidden); /* past the MLP */
    norm_row(path, &path->layer->attention_norm, path->normed, attention_sum);
    mlp_back(path);
    add_scaled(path->hidden, 1, path->features, hidden);
    norm_back(path, &path->layer->attention_norm, path->hidden, attention_sum, NULL);
}

/* ViT: y of h = norm(s_2), s_2 = s_1 + MLP(norm_2(s_1)). hidden = dy / ds_1. */
static void norm_before_back(const struct path *path, const struct linear *classifier,
                             unsigned label, const float *attention_sum, const float *mlp_sum)
{
    size_t hidden = path->spec->hidden;
    assert(path->spec->family->tensors[TENSOR_POOLER] ==
           NULL); /* the only reader of the head's features */
    head_back(path, classifier, label);
    norm_back(path, &path->weights->final_norm, path->hidden, mlp_sum, NULL);
    memcpy(path->features, path->hidden, hidden * sizeof *path->hidden); /* past the MLP */
    norm_row(path, &path->layer->mlp_norm, path->normed, attention_sum);
    mlp_back(path);
    norm_back(path, &path->layer->mlp_norm, path->hidden, attention_sum, path->features);
}

/* wide[0 .. D) = dy / dO, O the heads' outputs side by side. */
static void attention_back(const struct path *path)
{
    size_t hidden = path->spec->hidden;
    memset(path->normed, 0, hidden * sizeof *path->normed);
    for (size_t c = 0; c < hidden; c++) {
        unpack(&path->layer->attention_out, c, path->column);
        add_scaled(path->normed, path->hidden[c], path->column, hidden);
    }
}

enum err_code gradient_of_attention(const struct spec *spec, const struct weights *weights,
                                    const struct capture *capture, unsigned label, unsigned token,
                                    struct arena *arena, float *gradient, struct err *err)
{
    struct path path = {.spec = spec, .weights = weights, .token = token};
    size_t hidden = spec->hidden, width = hidden / spec->heads, n = capture->tokens;
    if (open_path(&path, arena, err))
        return err->code;
    (spec->family->block.norm == NORM_AFTER ? norm_after_back : norm_before_back)(
        &path, token == 0 ? &weights->classifier : &weights->distillation_classifier, label,
        capture->sums[CAPTURE_ATTENTION] + token * hidden,
        capture->sums[CAPTURE_MLP] + token * hidden);
    attention_back(&path);
    for (size_t h = 0; h < spec->heads; h++)
        for (size_t j = 0; j < n; j++)
            gradient[h * n + j] =
                dot(path.normed + h * width, capture->projected + (3 * j + 2) * hidden + h * width,
                    width) /
                (float)spec_head_tokens(spec);
    return ERR_OK;
}

/* ---- the map ---- */

/* relevance[j] += mean over heads of max(0, gradient * attention) */
static void add_positive(const struct spec *spec, const struct capture *capture, unsigned token,
                         const float *gradient, float *relevance)
{
    size_t n = capture->tokens, numbers = spec->heads * n;
    const float *attention = capture->last + token * numbers;
    for (size_t i = 0; i < numbers; i++) {
        float product = gradient[i] * attention[i];
        relevance[i % n] += product > 0 ? product / (float)spec->heads : 0;
    }
}

/* Sums to one; false if there is nothing to scale. */
static bool normalise(float *relevance, size_t n)
{
    float total = 0;
    for (size_t j = 0; j < n; j++)
        total += relevance[j];
    for (size_t j = 0; total > 0 && j < n; j++)
        relevance[j] /= total;
    return total > 0;
}

enum err_code gradient_map_last(const struct spec *spec, const struct weights *weights,
                                const struct capture *capture, unsigned label, struct arena *arena,
                                float *relevance, struct err *err)
{
    size_t n = capture->tokens, numbers = spec->heads * n;
    float *gradient = arena_alloc_array(arena, numbers, sizeof *gradient);
    if (gradient == NULL)
        return err_no_memory(err, numbers * sizeof *gradient);
    memset(relevance, 0, n * sizeof *relevance);
    for (unsigned token = 0; token < spec_head_tokens(spec); token++) {
        if (gradient_of_attention(spec, weights, capture, label, token, arena, gradient, err))
            return err->code;
        add_positive(spec, capture, token, gradient, relevance);
    }
    if (!normalise(relevance, n))
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
