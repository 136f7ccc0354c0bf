#include "engine/explain/gradient.h"

#include "engine/explain/attention_map.h"
#include "engine/model/attention_rows.h"
#include "engine/tensor/backward/backward.h"
#include "engine/tensor/dot.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- from the logit to the output of the last block's attention ---- */

/* Buffers of the backward pass of `rows` neighbouring tokens, from the head to the last block's
 * attention. A weight's column is unpacked once for all of them. */
struct gradient_path {
    const struct spec *spec;
    const struct weights *weights;
    const struct layer *layer; /* the last layer */
    const struct kernels *kernels;
    const struct backward *backward;
    const float *attention_sum, *mlp_sum; /* [rows, D] the capture's */
    unsigned token;                       /* number of the first token */
    unsigned kind;                        /* the sequence's kind, for its bias */
    size_t rows;
    float *column[2]; /* [D, F or P] an output's weights; two for a gated MLP */
    float *normed;    /* [rows, D] input of the MLP */
    float *features;  /* [rows, D] input of the pooler, then the residual gradient of the MLP */
    float *hidden;    /* [rows, D] gradients */
    float *inner;     /* [rows, F] gradients */
    float *read;      /* [spec_features] gradient of the classifier's input */
};

static size_t widest_of(const struct spec *spec)
{
    size_t widest = spec->hidden > spec->intermediate ? spec->hidden : spec->intermediate;
    return spec->projection > widest ? spec->projection : widest;
}

/* Numbers that path_back takes of the arena. */
static size_t path_floats(const struct spec *spec, size_t rows)
{
    size_t hidden = spec->hidden, inner = spec->intermediate, widest = widest_of(spec);
    return rows * (3 * hidden + inner) + 2 * widest + spec_features(spec);
}

static void unpack(const struct linear *linear, size_t column, float *weight)
{
    linear->backend->unpack(linear, column, weight);
}

/* y = norm(x) for all rows. */
static void norm_rows(const struct gradient_path *path, const struct norm *norm, float *y,
                      const float *x)
{
    size_t hidden = path->spec->hidden;
    path->kernels->layer_norm(y, hidden, x, hidden, norm->gamma, norm->beta, path->rows, hidden,
                              path->spec->norm_eps);
}

/* dx = d norm(x) / dx . dy, plus the residual gradient, for `rows` rows; dx may be dy. */
static void norm_back(const struct gradient_path *path, const struct norm *norm, float *dx,
                      const float *x, const float *residual, size_t rows)
{
    float stats[2];
    size_t hidden = path->spec->hidden;
    for (size_t r = 0; r < rows; r++, dx += hidden, x += hidden)
        path->backward->layer_norm(dx, hidden, stats, dx, hidden, x, hidden, norm->gamma,
                                   residual != NULL ? residual + r * hidden : NULL, hidden, 1,
                                   hidden, path->spec->norm_eps);
}

/* ---- the head ---- */

/* hidden = dy / dfeatures; y = c . z / |z|, z = W features, for one row: dy / dz is the part of c
 * that is orthogonal to z, divided by |z|. */
static void projection_back(const struct gradient_path *path, const struct linear *classifier,
                            unsigned label)
{
    const struct linear *projection = &path->weights->projection;
    size_t hidden = path->spec->hidden, width = path->spec->projection;
    float *z = path->column[1];
    unpack(classifier, label, path->read);
    for (size_t p = 0; p < width; p++) {
        unpack(projection, p, path->column[0]);
        z[p] = dot(path->column[0], path->features, hidden);
    }
    float length = sqrtf(dot(z, z, width)), along = dot(path->read, z, width) / (length * length);
    memset(path->hidden, 0, hidden * sizeof *path->hidden);
    for (size_t p = 0; p < width; p++) {
        unpack(projection, p, path->column[0]);
        add_scaled(path->hidden, (path->read[p] - along * z[p]) / length, path->column[0], hidden);
    }
}

/* Returns output c of the pooler before its activation. */
static float pooler_before(const struct gradient_path *path, size_t c)
{
    const struct linear *pooler = &path->weights->pooler;
    unpack(pooler, c, path->column[0]);
    return dot(path->column[0], path->features, path->spec->hidden) + pooler->bias[c];
}

/* Goes back through the norm that some families have behind the pooler: read is dy / d(its output),
 * then dy / d(its input). The input is computed again for that. */
static void head_norm_back(const struct gradient_path *path)
{
    size_t hidden = path->spec->hidden;
    float *pooled = path->normed;
    if (path->weights->head_norm.gamma == NULL)
        return;
    for (size_t c = 0; c < hidden; c++)
        pooled[c] = pooler_before(path, c);
    path->backward->activate(pooled, pooled, hidden, spec_pooler_activation(path->spec));
    norm_back(path, &path->weights->head_norm, path->read, pooled, NULL, 1);
}

/* hidden = dy / dfeatures; y = classifier(norm(pooler(features))) [label], for one row. */
static void head_back(const struct gradient_path *path, const struct linear *classifier,
                      unsigned label)
{
    size_t hidden = path->spec->hidden;
    if (path->spec->projection > 0) {
        projection_back(path, classifier, label);
        return;
    }
    if (path->spec->family->tensors[TENSOR_POOLER] == NULL) {
        unpack(classifier, label, path->hidden);
        return;
    }
    unpack(classifier, label, path->read);
    head_norm_back(path);
    memset(path->hidden, 0, hidden * sizeof *path->hidden);
    for (size_t c = 0; c < hidden; c++) {
        float before = pooler_before(path, c), slope;
        path->backward->activation(&slope, &path->read[c], &before, 1,
                                   spec_pooler_activation(path->spec));
        add_scaled(path->hidden, slope, path->column[0], hidden);
    }
}

/* Takes the gradient of the patches' mean back through the norm behind it, if the family has one.
 * `mean` is computed for that from the sums of all tokens (there is no norm before it then). */
static void pooled_back(const struct gradient_path *path, const struct capture *capture,
                        float *gradient)
{
    const struct spec *spec = path->spec;
    size_t hidden = spec->hidden;
    float *mean = path->column[0];
    if (path->weights->pooled_norm.gamma == NULL)
        return;
    assert(path->weights->final_norm.gamma == NULL);
    memset(mean, 0, hidden * sizeof *mean);
    for (size_t t = spec_image_specials(spec); t < capture->tokens; t++)
        add_scaled(mean, 1 / (float)spec->patches, capture->sums[CAPTURE_MLP] + t * hidden, hidden);
    norm_back(path, &path->weights->pooled_norm, gradient, mean, NULL, 1);
}

/* The same for a pooler on a mean of all tokens: it reads the mean of the sums behind the last
 * norm. */
static void tokens_back(const struct gradient_path *path, const struct capture *capture,
                        unsigned label)
{
    const struct norm *last = &path->weights->final_norm;
    size_t hidden = path->spec->hidden;
    const float share = 1 / (float)capture->tokens;
    memset(path->features, 0, hidden * sizeof *path->features);
    for (size_t t = 0; t < capture->tokens; t++) {
        path->kernels->layer_norm(path->normed, hidden, capture->sums[CAPTURE_MLP] + t * hidden,
                                  hidden, last->gamma, last->beta, 1, hidden, path->spec->norm_eps);
        add_scaled(path->features, share, path->normed, hidden);
    }
    head_back(path, &path->weights->classifier, label);
    for (size_t r = path->rows; r > 0; r--) /* the first row is read: it is the last */
        for (size_t c = 0; c < hidden; c++)
            path->hidden[(r - 1) * hidden + c] = path->hidden[c] * share;
}

/* ---- the block ---- */

/* Returns output c of W_1 for a row. */
static float mlp_before(const struct gradient_path *path, const float *column, size_t c, size_t row)
{
    size_t hidden = path->spec->hidden;
    return dot(column, path->normed + row * hidden, hidden) + path->layer->mlp_in.bias[c];
}

/* to [rows, width] = dy / dx of y = W x, from hidden = dy / dy. */
static void linear_back(const struct gradient_path *path, const struct linear *linear, size_t width,
                        float *to)
{
    size_t hidden = path->spec->hidden;
    memset(to, 0, path->rows * width * sizeof *to);
    for (size_t c = 0; c < hidden; c++) {
        unpack(linear, c, path->column[0]);
        for (size_t r = 0; r < path->rows; r++)
            add_scaled(to + r * width, path->hidden[r * hidden + c], path->column[0], width);
    }
}

/* Goes back through column c of W_1 and, in a gated MLP, column F + c. */
static void mlp_column_back(const struct gradient_path *path, size_t c)
{
    const struct spec *spec = path->spec;
    size_t hidden = spec->hidden, inner = spec->intermediate;
    for (size_t r = 0; r < path->rows; r++) {
        float dy = path->inner[r * inner + c], *to = path->hidden + r * hidden, slopes[2];
        float before[2] = {mlp_before(path, path->column[0], c, r)};
        if (spec->is_gated) {
            before[1] = mlp_before(path, path->column[1], inner + c, r);
            path->backward->gate(slopes, &dy, before, 1, spec_gate(spec));
            add_scaled(to, slopes[1], path->column[1], hidden);
        } else {
            path->backward->activation(slopes, &dy, before, 1, spec->activation);
        }
        add_scaled(to, slopes[0], path->column[0], hidden);
    }
}

/* hidden = dy / dnormed, from hidden = dy / d(MLP's output). */
static void mlp_back(const struct gradient_path *path)
{
    size_t hidden = path->spec->hidden, inner = path->spec->intermediate;
    linear_back(path, &path->layer->mlp_out, inner, path->inner);
    memset(path->hidden, 0, path->rows * hidden * sizeof *path->hidden);
    for (size_t c = 0; c < inner; c++) {
        unpack(&path->layer->mlp_in, c, path->column[0]);
        if (path->spec->is_gated)
            unpack(&path->layer->mlp_in, inner + c, path->column[1]);
        mlp_column_back(path, c);
    }
}

/* BERT: y depends on h = norm_2(s_2), s_2 = z + MLP(z), z = norm_1(s_1). hidden = dy / ds_1. */
static void norm_after_back(const struct gradient_path *path, const struct linear *classifier,
                            unsigned label)
{
    size_t numbers = path->rows * path->spec->hidden;
    norm_rows(path, &path->layer->mlp_norm, path->features, path->mlp_sum);
    head_back(path, classifier, label);
    norm_back(path, &path->layer->mlp_norm, path->hidden, path->mlp_sum, NULL, path->rows);
    memcpy(path->features, path->hidden, numbers * sizeof *path->hidden); /* past the MLP */
    norm_rows(path, &path->layer->attention_norm, path->normed, path->attention_sum);
    mlp_back(path);
    add_scaled(path->hidden, 1, path->features, numbers);
    norm_back(path, &path->layer->attention_norm, path->hidden, path->attention_sum, NULL,
              path->rows);
}

/* ViT: y depends on h = norm(s_2), s_2 = s_1 + MLP(norm_2(s_1)). hidden = dy / dh from the head,
 * then dy / ds_1. */
static void norm_before_back(const struct gradient_path *path, const struct capture *capture,
                             const struct linear *classifier, unsigned label)
{
    const struct norm *last = &path->weights->final_norm;
    size_t numbers = path->rows * path->spec->hidden;
    if (spec_pooling(path->spec) == POOLING_TOKENS) {
        tokens_back(path, capture, label);
    } else if (spec_head_reads_all(path->spec)) {
        /* hidden = dy / dnormed for the tokens that a pooling reads. */
        const struct spec *spec = path->spec;
        size_t hidden = spec->hidden;
        bool has_first = spec_pooling(spec) == POOLING_FIRST_AND_PATCHES;
        float *mean = has_first ? path->read + hidden : path->read;
        unpack(&path->weights->classifier, label, path->read);
        pooled_back(path, capture, mean);
        memset(path->hidden, 0, path->rows * hidden * sizeof *path->hidden);
        for (size_t r = 0; r < path->rows; r++)
            if (path->token + r >= spec_image_specials(spec))
                add_scaled(path->hidden + r * hidden, 1 / (float)spec->patches, mean, hidden);
            else if (has_first && path->token + r == 0)
                memcpy(path->hidden, path->read, hidden * sizeof *path->hidden);
    } else {
        norm_rows(path, last, path->features, path->mlp_sum);
        head_back(path, classifier, label);
    }
    if (last->gamma != NULL)
        norm_back(path, last, path->hidden, path->mlp_sum, NULL, path->rows);
    memcpy(path->features, path->hidden, numbers * sizeof *path->hidden); /* past the MLP */
    norm_rows(path, &path->layer->mlp_norm, path->normed, path->attention_sum);
    mlp_back(path);
    norm_back(path, &path->layer->mlp_norm, path->hidden, path->attention_sum, path->features,
              path->rows);
}

/* normed [rows, A] = dy / dO for the tokens from `token` on, where O is the heads' outputs side by
 * side. The arena owns the numbers. ERR_NO_MEMORY. */
static enum err_code path_back(struct gradient_path *path, const struct spec *spec,
                               const struct weights *weights, const struct capture *capture,
                               unsigned label, unsigned token, size_t rows, struct arena *arena,
                               struct err *err)
{
    size_t hidden = spec->hidden, first = (size_t)token * hidden, widest = widest_of(spec);
    size_t numbers = path_floats(spec, rows);
    float *room = arena_alloc_array(arena, numbers, sizeof *room);
    if (room == NULL)
        return err_no_memory(err, numbers * sizeof *room);
    *path = (struct gradient_path){.spec = spec,
                                   .weights = weights,
                                   .layer = &weights->layers[spec_block(spec, spec->layers - 1)],
                                   .kernels = kernels_best(),
                                   .backward = backward_best(),
                                   .token = token,
                                   .rows = rows,
                                   .attention_sum = capture->sums[CAPTURE_ATTENTION] + first,
                                   .mlp_sum = capture->sums[CAPTURE_MLP] + first,
                                   .normed = room};
    path->features = path->normed + rows * hidden;
    path->hidden = path->features + rows * hidden;
    path->inner = path->hidden + rows * hidden;
    path->column[0] = path->inner + rows * spec->intermediate;
    path->column[1] = path->column[0] + widest;
    path->read = path->column[1] + widest;
    const struct linear *classifier = spec_head_reads_all(spec) || token == 0
                                          ? &weights->classifier
                                          : &weights->distillation_classifier;
    if (spec->family->block.norm == NORM_AFTER) {
        assert(!spec_head_reads_all(spec)); /* no family does both */
        norm_after_back(path, classifier, label);
    } else {
        norm_before_back(path, capture, classifier, label);
    }
    /* normed [rows, A] = dy / dO, where O is the heads' outputs side by side. */
    linear_back(path, &path->layer->attention_out, path->layer->attended, path->normed);
    return ERR_OK;
}

/* ---- the last block's attention ---- */

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
    if (path_back(&path, spec, weights, capture, label, token, 1, arena, err))
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
    if (path_back(&path, spec, weights, capture, label, 0, n, arena, err))
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
    return (path_floats(spec, tokens) + ATTENTION_QUERIES * (size_t)tokens +
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
