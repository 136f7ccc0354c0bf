#include "engine/model/head.h"

#include <math.h>
#include <string.h>

/* Token `token` of every sequence, normalised if the family asks for it, into cls [rows, D]. */
static void gather(const struct spec *spec, const struct weights *weights, struct workspace *w,
                   unsigned token)
{
    size_t hidden = spec->hidden;
    for (unsigned r = 0; r < w->rows; r++)
        memcpy(w->cls + r * hidden, w->x + (r * spec_head_tokens(spec) + token) * w->hidden_stride,
               hidden * sizeof *w->cls);
    if (weights->final_norm.gamma != NULL)
        w->kernels->layer_norm(w->cls, hidden, w->cls, hidden, weights->final_norm.gamma,
                               weights->final_norm.beta, w->rows, hidden, spec->norm_eps);
}

static void add_mean(float *out, const float *x, size_t stride, size_t rows, size_t width)
{
    memset(out, 0, width * sizeof *out);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            out[c] += x[r * stride + c] / (float)rows;
}

/* All tokens' rows: normalised where they lie, then pooled into cls [rows, spec_features]. */
static void pool(const struct spec *spec, const struct weights *weights, struct workspace *w)
{
    size_t hidden = spec->hidden, stride = w->hidden_stride, patches = spec->patches;
    bool has_first = spec->family->pooling == POOLING_FIRST_AND_PATCHES;
    const struct norm *each = &weights->final_norm, *pooled = &weights->pooled_norm;
    for (unsigned r = 0; r < w->rows; r++) {
        float *x = w->x + w->offset[r] * stride, *out = w->cls + (size_t)r * spec_features(spec);
        unsigned tokens = w->offset[r + 1] - w->offset[r];
        if (each->gamma != NULL)
            w->kernels->layer_norm(x, stride, x, stride, each->gamma, each->beta, tokens, hidden,
                                   spec->norm_eps);
        if (has_first)
            memcpy(out, x, hidden * sizeof *out);
        add_mean(has_first ? out + hidden : out, x + (tokens - patches) * stride, stride, patches,
                 hidden);
        if (pooled->gamma != NULL)
            w->kernels->layer_norm(out, hidden, out, hidden, pooled->gamma, pooled->beta, 1, hidden,
                                   spec->norm_eps);
    }
}

/* y = act(x W^T + b) over one row a sequence. */
static void project(struct workspace *w, const struct linear *linear, float *y, const float *x,
                    enum activation act)
{
    struct linear_io io = {.x = operand_f32(x, linear->in),
                           .rows = w->rows,
                           .y = y,
                           .y_stride = linear->out,
                           .act = act};
    linear_run(linear, w->kernels, w->pool, &io);
}

static void classify(const struct spec *spec, const struct weights *weights, struct workspace *w,
                     const struct linear *classifier, unsigned token, float *logits)
{
    const float *features = w->cls;
    if (spec_head_reads_all(spec))
        pool(spec, weights, w);
    else
        gather(spec, weights, w, token);
    if (spec->family->tensors[TENSOR_POOLER] != NULL) {
        project(w, &weights->pooler, w->pooled, w->cls, spec->family->pooler_activation);
        features = w->pooled;
    }
    project(w, classifier, logits, features, ACTIVATION_NONE);
}

void head_logits(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace, float *const *logits)
{
    size_t labels = spec->label_count;
    bool distilled = spec->family->tensors[TENSOR_DISTILLATION_CLASSIFIER] != NULL;
    /* The class token last, so that the features left in the buffer are its own. */
    if (distilled)
        classify(spec, weights, workspace, &weights->distillation_classifier, 1,
                 workspace->logits[1]);
    classify(spec, weights, workspace, &weights->classifier, 0, workspace->logits[0]);
    for (unsigned r = 0; r < workspace->rows; r++)
        for (size_t i = 0; i < labels; i++) {
            float value = workspace->logits[0][r * labels + i];
            logits[r][i] =
                distilled ? (value + workspace->logits[1][r * labels + i]) * 0.5f : value;
        }
}

const float *head_features(const struct spec *spec, const struct workspace *workspace, unsigned row)
{
    const float *features =
        spec->family->tensors[TENSOR_POOLER] != NULL ? workspace->pooled : workspace->cls;
    return features + (size_t)row * spec_features(spec);
}

void head_scores(const struct spec *spec, const struct kernels *kernels, const float *logits,
                 float *scores)
{
    for (unsigned i = 0; i < spec->label_count; i++)
        scores[i] = (float)(logits[i] / spec->temperature);
    if (spec->scores == SCORES_SOFTMAX)
        kernels->softmax(scores, scores, spec->label_count);
    if (spec->scores == SCORES_SIGMOID)
        for (unsigned i = 0; i < spec->label_count; i++)
            scores[i] = (float)(1 / (1 + exp(-(double)scores[i])));
}
