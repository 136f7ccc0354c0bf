/* engine_explain.c - explanations of an input: relevance of words, spans, patches and boxes. */
#include "engine/engine_state.h"
#include "engine/explain/attention_map.h"
#include "engine/explain/gradient.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"
#include "engine/model/capture.h"

static enum explain_method method_of(const struct engine_model *model,
                                     const struct explain_options *options)
{
    return options->method == EXPLAIN_DEFAULT ? model->info.explain_default : options->method;
}

static enum err_code check_layer(const struct engine_model *model,
                                 const struct explain_options *options, struct err *err)
{
    if (options->layer > model->spec.layers)
        return err_set(err, ERR_UNUSABLE, "explain_layer is %u, but the model has %u layers",
                       options->layer, model->spec.layers);
    const enum explain_method method = method_of(model, options);
    if (options->layer > 0 && method != EXPLAIN_ROLLOUT && method != EXPLAIN_ATTENTION)
        return err_set(err, ERR_UNUSABLE,
                       "explain_layer is for rollout and attention; the gradient is of the last "
                       "layer");
    return ERR_OK;
}

/* The layers below the last that a method reads. */
static struct capture_wish wish_of(const struct engine_model *model,
                                   const struct explain_options *options)
{
    const enum explain_method method = method_of(model, options);
    const unsigned lower = model->spec.layers - 1, layer = options->layer;
    struct capture_wish wish = {.to = layer > 0 && layer < lower ? layer : lower,
                                .stats = options->statistics};
    if (method == EXPLAIN_ATTENTION || method == EXPLAIN_GRADIENT_LAST)
        wish.from = layer > 0 && layer <= lower ? layer - 1 : wish.to;
    return wish;
}

enum err_code engine_capture(const struct engine_model *model, struct engine_input *input,
                             const struct explain_options *options, struct arena *arena,
                             struct err *err)
{
    if (check_layer(model, options, err))
        return err->code;
    struct capture *capture = arena_alloc(arena, sizeof *capture);
    if (capture == NULL)
        return err_no_memory(err, sizeof *capture);
    const struct capture_wish wish = wish_of(model, options);
    if (capture_open(capture, &model->spec, input->tokens, &wish, arena, err))
        return err->code;
    input->capture = capture;
    return ERR_OK;
}

size_t engine_capture_bytes(const struct engine_model *model, const struct engine_input *input,
                            const struct explain_options *options)
{
    const struct capture_wish wish = wish_of(model, options);
    const enum explain_method method = method_of(model, options);
    const bool is_gradient = method == EXPLAIN_GRADIENT || method == EXPLAIN_GRADIENT_LAST;
    return capture_bytes(&model->spec, input->tokens, &wish) +
           (is_gradient ? gradient_bytes(&model->spec, input->tokens) : 0);
}

enum err_code engine_relevance(const struct engine_model *model, const struct engine_input *input,
                               const struct explain_options *options, unsigned label,
                               struct arena *arena, const float **relevance, struct err *err)
{
    const struct spec *spec = &model->spec;
    const enum explain_method method = method_of(model, options);
    const unsigned layer = options->layer > 0 ? options->layer : spec->layers;
    float *found = arena_alloc_array(arena, input->tokens, 2 * sizeof *found);
    if (found == NULL)
        return err_no_memory(err, input->tokens * 2 * sizeof *found);
    *relevance = found;
    if (method == EXPLAIN_GRADIENT)
        return gradient_map(spec, &model->weights, input->capture, label, arena, found, err);
    if (method == EXPLAIN_GRADIENT_LAST)
        return gradient_map_last(spec, &model->weights, input->capture, label, arena, found, err);
    if (method == EXPLAIN_ROLLOUT)
        attention_map_rollout(spec, input->capture, layer, found, found + input->tokens);
    else
        attention_map_layer(spec, input->capture, layer, found);
    return ERR_OK;
}

static enum err_code explain_text(const struct engine_input *input, const float *relevance,
                                  struct arena *arena, struct explanation *out, struct err *err)
{
    struct excerpt *words = arena_alloc_array(arena, input->tokens, sizeof *words);
    if (words == NULL)
        return err_no_memory(err, input->tokens * sizeof *words);
    out->words = words;
    out->word_count = words_fold(input, relevance, words);
    out->span_count = words_spans(words, out->word_count, EXPLANATION_SPANS, out->spans);
    return ERR_OK;
}

static enum err_code explain_image(const struct engine_model *model,
                                   const struct engine_input *input, const float *relevance,
                                   struct arena *arena, struct explanation *out, struct err *err)
{
    const struct spec *spec = &model->spec;
    float *patches = arena_alloc_array(arena, spec->patches, sizeof *patches);
    if (patches == NULL)
        return err_no_memory(err, spec->patches * sizeof *patches);
    patches_fold(spec, relevance, patches);
    out->patches = patches;
    out->view = patches_view(spec, &model->pipeline.preprocess, input->width, input->height);
    out->box_count = patches_top(&out->view, patches, EXPLANATION_BOXES, out->boxes);
    return ERR_OK;
}

enum err_code engine_explain(const struct engine_model *model, const struct engine_input *input,
                             const struct explain_options *options, unsigned label,
                             struct arena *arena, struct explanation *out, struct err *err)
{
    const float *relevance = NULL;
    *out = (struct explanation){.method = method_of(model, options),
                                .layer = options->layer,
                                .stats = input->capture->stats,
                                .layers = model->spec.layers,
                                .heads = model->spec.heads};
    if (engine_relevance(model, input, options, label, arena, &relevance, err))
        return err->code;
    if (input->kind == ENGINE_TEXT)
        return explain_text(input, relevance, arena, out, err);
    return explain_image(model, input, relevance, arena, out, err);
}

enum err_code engine_overlay(const struct explanation *explanation, struct interrupt *interrupt,
                             char **png, size_t *len, struct err *err)
{
    return patches_overlay(&explanation->view, explanation->patches, interrupt, png, len, err);
}
