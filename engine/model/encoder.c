#include "engine/model/encoder.h"

#include "engine/model/attention.h"

/* ---- layer norm over the batch, rows shared out ---- */

struct norm_run {
    const struct kernels *kernels;
    float *y;
    const float *x;
    const struct norm *norm;
    size_t rows, width;
    float eps;
};

static void norm_share(void *context, unsigned index, unsigned count)
{
    const struct norm_run *run = context;
    size_t first = run->rows * index / count, last = run->rows * (index + 1) / count;
    run->kernels->layer_norm(run->y + first * run->width, run->x + first * run->width,
                             run->norm->gamma, run->norm->beta, last - first, run->width, run->eps);
}

static void norm(const struct spec *spec, struct workspace *workspace, const struct norm *norm,
                 float *y, const float *x)
{
    struct norm_run run = {.kernels = workspace->kernels,
                           .y = y,
                           .x = x,
                           .norm = norm,
                           .rows = workspace_tokens(workspace),
                           .width = spec->hidden,
                           .eps = spec->norm_eps};
    team_run(workspace->team, norm_share, &run);
}

/* ---- the block ---- */

/* out = W_o attention(x W_qkv) + residual */
static void attention(const struct spec *spec, const struct layer *layer,
                      struct workspace *workspace, float *out, const float *x,
                      const float *residual)
{
    size_t tokens = workspace_tokens(workspace);
    linear_run(&layer->qkv, workspace->kernels, workspace->team, workspace->qkv, x, tokens, NULL,
               ACTIVATION_NONE);
    attention_run(spec, workspace);
    linear_run(&layer->attention_out, workspace->kernels, workspace->team, out, workspace->context,
               tokens, residual, ACTIVATION_NONE);
}

/* out = W_2 act(x W_1) + residual */
static void mlp(const struct spec *spec, const struct layer *layer, struct workspace *workspace,
                float *out, const float *x, const float *residual)
{
    size_t tokens = workspace_tokens(workspace);
    linear_run(&layer->mlp_in, workspace->kernels, workspace->team, workspace->mlp, x, tokens, NULL,
               spec->activation);
    linear_run(&layer->mlp_out, workspace->kernels, workspace->team, out, workspace->mlp, tokens,
               residual, ACTIVATION_NONE);
}

/* x = norm(x + attention(x)); x = norm(x + mlp(x))  (Vaswani et al. 2017; BERT) */
static void post_norm_block(const struct spec *spec, const struct layer *layer, struct workspace *w)
{
    attention(spec, layer, w, w->y, w->x, w->x);
    norm(spec, w, &layer->attention_norm, w->x, w->y);
    mlp(spec, layer, w, w->y, w->x, w->x);
    norm(spec, w, &layer->mlp_norm, w->x, w->y);
}

/* x = x + attention(norm(x)); x = x + mlp(norm(x))  (Dosovitskiy et al. 2021, eq. 2 and 3) */
static void pre_norm_block(const struct spec *spec, const struct layer *layer, struct workspace *w)
{
    norm(spec, w, &layer->attention_norm, w->y, w->x);
    attention(spec, layer, w, w->z, w->y, w->x);
    norm(spec, w, &layer->mlp_norm, w->y, w->z);
    mlp(spec, layer, w, w->x, w->y, w->z);
}

void encoder_run(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace)
{
    attention_plan(spec, workspace);
    for (unsigned i = 0; i < spec->layers; i++)
        if (spec->family->post_norm)
            post_norm_block(spec, &weights->layers[i], workspace);
        else
            pre_norm_block(spec, &weights->layers[i], workspace);
}
