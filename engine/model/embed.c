#include "engine/model/embed.h"

#include <assert.h>
#include <string.h>

static void add(float *x, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += a[i];
}

static const float *type_row(const struct spec *spec, const struct weights *weights,
                             const struct engine_input *input, unsigned t)
{
    unsigned type = input->types != NULL ? input->types[t] : 0;
    assert(type < spec->token_types);
    return weights->token_type + type * spec_embedding(spec);
}

/* x = norm(x) for `tokens` tokens, if the family has that norm. */
static void normalise(const struct spec *spec, const struct weights *weights,
                      const struct workspace *workspace, float *x, size_t stride, size_t tokens,
                      size_t width)
{
    const struct norm *norm = &weights->embedding_norm;
    if (norm->gamma != NULL)
        norm_apply(workspace->kernels, spec, norm, x, stride, x, stride, tokens, width,
                   spec_embedding_eps(spec));
}

void embed_token(const struct spec *spec, const struct weights *weights, float *x, int32_t id,
                 unsigned position)
{
    const size_t width = spec_embedding(spec);
    word_table_read(&weights->word, (size_t)id * width, width, x);
    for (size_t i = 0; spec->embedding_scale > 0 && i < width; i++)
        x[i] *= spec->embedding_scale;
    if (weights->position != NULL)
        add(x, weights->position + position * width, width);
}

/* x = norm(the sum of the three) [tokens, E] */
static void look_up(const struct spec *spec, const struct weights *weights,
                    struct workspace *workspace, const struct engine_input *input, float *x,
                    size_t stride)
{
    size_t width = spec_embedding(spec);
    unsigned counted = 0;
    for (unsigned t = 0; t < input->tokens; t++) {
        float *row = x + t * stride;
        unsigned position = position_next(spec, input->ids[t], &counted);
        embed_token(spec, weights, row, input->ids[t], position);
        if (weights->token_type != NULL)
            add(row, type_row(spec, weights, input, t), width);
    }
    normalise(spec, weights, workspace, x, stride, input->tokens, width);
}

static void embed_text(const struct spec *spec, const struct weights *weights,
                       struct workspace *workspace, const struct engine_input *input, float *x)
{
    size_t width = spec_embedding(spec);
    if (!spec_projects(spec)) {
        look_up(spec, weights, workspace, input, x, workspace->hidden_stride);
        return;
    }
    look_up(spec, weights, workspace, input, workspace->embedded, width);
    struct linear_io io = {.x = operand_f32(workspace->embedded, width),
                           .rows = input->tokens,
                           .y = x,
                           .y_stride = workspace->hidden_stride};
    linear_run(&weights->embedding_project, workspace->kernels, workspace->pool, &io);
}

static void embed_image(const struct spec *spec, const struct weights *weights,
                        struct workspace *workspace, const struct engine_input *input, float *x)
{
    size_t hidden = spec->hidden, placed = spec->family->image_specials;
    size_t stride = workspace->hidden_stride;
    const float *position = weights->position;
    struct linear_io io = {
        .x = operand_f32(input->patches, spec->channels * extent_area(spec->patch)),
        .rows = spec->patches,
        .y = x + spec_image_specials(spec) * stride,
        .y_stride = stride,
        .residual = position != NULL ? position + placed * hidden : NULL,
        .residual_stride = hidden};
    if (weights->cls_token != NULL)
        memcpy(x, weights->cls_token, hidden * sizeof *x);
    if (weights->distillation_token != NULL)
        memcpy(x + stride, weights->distillation_token, hidden * sizeof *x);
    for (size_t t = 0; position != NULL && t < placed; t++)
        add(x + t * stride, position + t * hidden, hidden);
    for (size_t t = 0; t < spec->registers; t++)
        memcpy(x + (placed + t) * stride, weights->registers + t * hidden, hidden * sizeof *x);
    linear_run(&weights->patch, workspace->kernels, workspace->pool, &io);
    normalise(spec, weights, workspace, x, stride, spec_image_tokens(spec), hidden);
}

void embed(const struct spec *spec, const struct weights *weights, struct workspace *workspace,
           const struct engine_input *input, unsigned first)
{
    float *x = workspace->x + first * workspace->hidden_stride;
    if (spec->family->kind == ENGINE_TEXT)
        embed_text(spec, weights, workspace, input, x);
    else
        embed_image(spec, weights, workspace, input, x);
}
