/* engine_explain.c - explanations of an input: relevance of words, spans, patches and boxes. */
#include "engine/base/utf8.h"
#include "engine/engine_state.h"
#include "engine/explain/attention_map.h"
#include "engine/explain/gradient.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"
#include "engine/model/capture.h"
#include "engine/model/head.h"
#include "engine/prepare/views.h"

#include <string.h>

static enum explain_method method_of(const struct engine_model *model,
                                     const struct explain_options *options)
{
    return options->method == EXPLAIN_DEFAULT ? model->info.explain_default : options->method;
}

static enum err_code check_layer(const struct engine_model *model,
                                 const struct explain_options *options, struct err *err)
{
    if (options->layer > model->stacks[0].spec.layers)
        return err_set(err, ERR_UNUSABLE, "explain_layer is %u, but the model has %u layers",
                       options->layer, model->stacks[0].spec.layers);
    const enum explain_method method = method_of(model, options);
    if (options->layer > 0 && method != EXPLAIN_ROLLOUT && method != EXPLAIN_ATTENTION)
        return err_set(err, ERR_UNUSABLE,
                       "explain_layer is for rollout and attention; the gradient is of the last "
                       "layer");
    return ERR_OK;
}

/* Distances and neighbours in a window are not those in the image. */
static enum err_code check_statistics(const struct engine_model *model,
                                      const struct explain_options *options, struct err *err)
{
    if (options->statistics && model->stacks[0].spec.stages != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "there are no attention statistics of a %s: its attention has windows, and "
                       "its layers have different heads",
                       model->stacks[0].spec.family->name);
    return ERR_OK;
}

/* The layers below the last that a method reads, and the last one where there are stages; of
 * windows or views also what each alone would answer. */
static struct capture_wish wish_of(const struct engine_model *model,
                                   const struct engine_input *input,
                                   const struct explain_options *options)
{
    const enum explain_method method = method_of(model, options);
    const unsigned lower = model->stacks[0].spec.layers - 1, layer = options->layer;
    const bool one_layer = method == EXPLAIN_ATTENTION || method == EXPLAIN_GRADIENT_LAST;
    if (model->stacks[0].spec.stages != NULL) {
        const unsigned top = layer > 0 ? layer : model->stacks[0].spec.layers;
        return (struct capture_wish){.from = one_layer ? top - 1 : 0, .to = top};
    }
    struct capture_wish wish = {.to = layer > 0 && layer < lower ? layer : lower,
                                .stats = options->statistics,
                                .logits = input->windows > 1};
    if (one_layer)
        wish.from = layer > 0 && layer <= lower ? layer - 1 : wish.to;
    return wish;
}

enum err_code engine_capture(const struct engine_model *model, struct engine_input *input,
                             const struct explain_options *options, struct arena *arena,
                             struct err *err)
{
    const unsigned windows = engine_input_windows(input);
    const struct capture_wish wish = wish_of(model, input, options);
    static const char *const unexplained[] = {[ENGINE_CLASSIFY] = NULL,
                                              [ENGINE_REGRESS] = NULL,
                                              [ENGINE_EMBED] = "a vector",
                                              [ENGINE_TAG] = "parts of the text",
                                              [ENGINE_ANSWER] = "parts of the text",
                                              [ENGINE_FILL] = "words for masked tokens",
                                              [ENGINE_SPARSE] = "a sparse vector"};
    if (model->info.task == ENGINE_GENERATE || options->method == EXPLAIN_ALIGNMENT) {
        /* A model that writes keeps its alignment itself: engine_writing has asked for it. */
        if (model->info.task != ENGINE_GENERATE)
            return err_set(
                err, ERR_UNUSABLE,
                "explain: alignment is of texts that a model writes; this model writes none");
        if (method_of(model, options) != EXPLAIN_ALIGNMENT)
            return err_set(err, ERR_UNUSABLE,
                           "explain: the model writes texts, which only alignment explains");
        if (options->layer > 0 || options->statistics)
            return err_set(
                err, ERR_UNUSABLE,
                "explain_layer and attention_stats: alignment is the mean over layers and "
                "heads");
        return ERR_OK;
    }
    if (unexplained[model->info.task] != NULL)
        return err_set(err, ERR_UNUSABLE, "explain: the model answers %s, which no method explains",
                       unexplained[model->info.task]);
    if (check_layer(model, options, err) || check_statistics(model, options, err))
        return err->code;
    struct capture *captures = arena_alloc_array(arena, windows, sizeof *captures);
    if (captures == NULL)
        return err_no_memory(err, windows * sizeof *captures);
    for (unsigned i = 0; i < windows; i++)
        if (capture_open(&captures[i], &model->stacks[0].spec, engine_input_tokens(input, i, 1),
                         &wish, arena, err))
            return err->code;
    input->capture = captures;
    return ERR_OK;
}

size_t engine_capture_bytes(const struct engine_model *model, const struct engine_input *input,
                            const struct explain_options *options)
{
    const struct capture_wish wish = wish_of(model, input, options);
    const enum explain_method method = method_of(model, options);
    const bool is_gradient = method == EXPLAIN_GRADIENT || method == EXPLAIN_GRADIENT_LAST;
    size_t bytes = 0;
    if (input->writing != NULL)
        return engine_align_bytes(input);
    for (unsigned i = 0; i < engine_input_windows(input); i++) {
        const unsigned tokens = engine_input_tokens(input, i, 1);
        bytes += capture_bytes(&model->stacks[0].spec, tokens, &wish);
        bytes += is_gradient ? gradient_bytes(&model->stacks[0].spec, tokens) : 0;
    }
    return bytes;
}

/* The map of a layer or down from it, of a model with stages. */
static void stages_map(const struct spec *spec, const struct capture *capture,
                       enum explain_method method, unsigned layer, float *relevance)
{
    float *scratch = relevance + capture->tokens;
    if (method == EXPLAIN_ROLLOUT)
        stage_map_rollout(spec, capture, layer, relevance, scratch);
    else
        stage_map_layer(spec, capture, layer, relevance, scratch);
}

/* The same where there are none. */
static void plain_map(const struct spec *spec, const struct capture *capture,
                      enum explain_method method, unsigned layer, float *relevance)
{
    if (method == EXPLAIN_ROLLOUT)
        attention_map_rollout(spec, capture, layer, relevance, relevance + capture->tokens);
    else
        attention_map_layer(spec, capture, layer, relevance);
}

/* relevance has room for twice the tokens. */
static enum err_code window_relevance(const struct engine_model *model,
                                      const struct capture *capture,
                                      const struct explain_options *options, unsigned label,
                                      struct arena *arena, float *relevance, struct err *err)
{
    const struct spec *spec = &model->stacks[0].spec;
    const enum explain_method method = method_of(model, options);
    const unsigned layer = options->layer > 0 ? options->layer : spec->layers;
    const bool has_stages = spec->stages != NULL, is_last = method == EXPLAIN_GRADIENT_LAST;
    if (has_stages && (is_last || method == EXPLAIN_GRADIENT))
        return stage_map_gradient(spec, &model->stacks[0].weights, capture, label, is_last, arena,
                                  relevance, relevance + capture->tokens, err);
    if (method == EXPLAIN_GRADIENT)
        return gradient_map(spec, &model->stacks[0].weights, capture, label, arena, relevance, err);
    if (is_last)
        return gradient_map_last(spec, &model->stacks[0].weights, capture, label, arena, relevance,
                                 err);
    (has_stages ? stages_map : plain_map)(spec, capture, method, layer, relevance);
    return ERR_OK;
}

/* The score of the label by a window or view alone; for a regression all weigh alike. The capture
 * keeps its logits, for the next method. scores: scratch [labels]. */
static float weight_of(const struct engine_model *model, const struct capture *capture,
                       unsigned label, float *scores)
{
    if (capture->logits == NULL || model->stacks[0].spec.scores == SCORES_NONE)
        return 1;
    head_scores(&model->stacks[0].spec, model->stacks[0].kernels, capture->logits, scores);
    return scores[label];
}

static enum err_code find_relevance(const struct engine_model *model,
                                    const struct engine_input *input,
                                    const struct explain_options *options, unsigned label,
                                    struct arena *arena, float **relevance, struct err *err)
{
    const unsigned labels = model->stacks[0].spec.label_count;
    float *found = arena_alloc_array(arena, input->tokens, 2 * sizeof *found);
    float *scores = arena_alloc_array(arena, labels, sizeof *scores);
    if (found == NULL || scores == NULL)
        return err_no_memory(err, (2 * (size_t)input->tokens + labels) * sizeof *found);
    *relevance = found;
    for (unsigned i = 0; i < engine_input_windows(input); i++) {
        const struct engine_input window = engine_input_window(input, i);
        const float weight = weight_of(model, window.capture, label, scores);
        if (window_relevance(model, window.capture, options, label, arena, found, err))
            return err->code;
        for (unsigned t = 0; t < window.tokens; t++)
            found[t] *= weight;
        found += window.tokens;
    }
    return ERR_OK;
}

enum err_code engine_relevance(const struct engine_model *model, const struct engine_input *input,
                               const struct explain_options *options, unsigned label,
                               struct arena *arena, const float **relevance, struct err *err)
{
    float *found = NULL;
    find_relevance(model, input, options, label, arena, &found, err);
    *relevance = found;
    return err->code;
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
                                   const struct engine_input *input, float *relevance,
                                   struct arena *arena, struct explanation *out, struct err *err)
{
    const struct spec *spec = &model->stacks[0].spec;
    float *patches = arena_alloc_array(arena, spec->patches, sizeof *patches);
    if (patches == NULL)
        return err_no_memory(err, spec->patches * sizeof *patches);
    /* The maps of all views, turned back, into that of the first, which is not turned. */
    const unsigned across = spec_grid(spec).image.width, specials = spec_image_specials(spec);
    float *sum = relevance + specials;
    for (unsigned v = 1; v < engine_input_windows(input); v++) {
        const float *view = relevance + input->window_offset[v] + specials;
        for (unsigned p = 0; p < spec->patches; p++)
            sum[views_source(v, across, p)] += view[p];
    }
    patches_fold(spec, relevance, patches);
    out->patches = patches;
    out->view =
        patches_view(spec, &model->stacks[0].pipeline.preprocess, input->width, input->height);
    out->box_count = patches_top(&out->view, patches, EXPLANATION_BOXES, out->boxes);
    return ERR_OK;
}

/* The mean over windows or views, in the arena: the captures keep theirs. */
static enum err_code mean_stats(const struct engine_model *model, const struct engine_input *input,
                                struct arena *arena, const struct attention_stats **out,
                                struct err *err)
{
    const unsigned windows = engine_input_windows(input);
    const size_t heads = (size_t)model->stacks[0].spec.layers * model->stacks[0].spec.heads;
    const size_t numbers = heads * (sizeof(struct attention_stats) / sizeof(float));
    *out = input->capture->stats;
    if (*out == NULL || windows == 1)
        return ERR_OK;
    struct attention_stats *mean = arena_alloc_array(arena, heads, sizeof *mean);
    if (mean == NULL)
        return err_no_memory(err, heads * sizeof *mean);
    float *sum = (float *)mean;
    memcpy(mean, input->capture->stats, heads * sizeof *mean);
    for (unsigned w = 1; w < windows; w++)
        for (size_t i = 0; i < numbers; i++)
            sum[i] += ((const float *)input->capture[w].stats)[i];
    for (size_t i = 0; i < numbers; i++)
        sum[i] /= (float)windows;
    *out = mean;
    return ERR_OK;
}

/* Bytes of a text as characters. */
static uint32_t character_at(const char *text, size_t byte)
{
    return (uint32_t)utf8_count(text, byte);
}

enum err_code engine_explain(const struct engine_model *model, const struct engine_source *source,
                             const struct engine_input *input,
                             const struct explain_options *options, unsigned label,
                             struct arena *arena, struct explanation *out, struct err *err)
{
    float *relevance = NULL;
    *out = (struct explanation){.method = method_of(model, options),
                                .layer = options->layer,
                                .layers = model->stacks[0].spec.layers,
                                .heads = model->stacks[0].spec.heads,
                                .heads_left = model->stacks[0].spec.pruned.left};
    if (mean_stats(model, input, arena, &out->stats, err) ||
        find_relevance(model, input, options, label, arena, &relevance, err))
        return err->code;
    if (input->kind == ENGINE_IMAGE)
        return explain_image(model, input, relevance, arena, out, err);
    if (explain_text(input, relevance, arena, out, err) || source == NULL)
        return err->code;
    struct ngram_phrase phrases[EXPLANATION_SPANS];
    out->has_phrases = model->ngrams.bias != NULL;
    if (!out->has_phrases ||
        ngram_table_phrases(&model->ngrams, source->bytes, source->len, label, arena, phrases,
                            EXPLANATION_SPANS, &out->phrase_count, err))
        return err->code;
    for (unsigned i = 0; i < out->phrase_count; i++)
        out->phrases[i] = (struct excerpt){.start = character_at(source->bytes, phrases[i].start),
                                           .end = character_at(source->bytes, phrases[i].end),
                                           .relevance = phrases[i].evidence};
    return ERR_OK;
}

size_t engine_phrases_bytes(const struct engine_model *model, size_t len)
{
    return model->ngrams.bias == NULL ? 0 : ngram_table_phrases_bytes(&model->ngrams, len);
}

enum err_code engine_overlay(const struct explanation *explanation, struct interrupt *interrupt,
                             char **png, size_t *len, struct err *err)
{
    return patches_overlay(&explanation->view, explanation->patches, interrupt, png, len, err);
}
