/* engine_align.c - where a model that writes looked for each token of its text. */
#include "engine/engine_state.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"

enum { NUMBER_BYTES = 160 }; /* of a weight: the number, and as JSON's tree and text */

size_t engine_align_bytes(const struct engine_input *input)
{
    const size_t tokens = engine_write_tokens_max(input);
    return tokens * (ENGINE_PIECE_BYTES + (size_t)engine_input_tokens(input, 0, 1) * NUMBER_BYTES);
}

/* ---- the weights ---- */

/* Adds the tokens of the source to its words. Special tokens are of none. */
static unsigned fold(const struct engine_input *input, const float *row, struct excerpt *words)
{
    unsigned count = 0;
    for (unsigned t = 0; t < input->tokens; t++) {
        if (input->ends[t] == 0)
            continue;
        if (count > 0 && input->continued[t]) {
            words[count - 1].end = input->ends[t];
            words[count - 1].relevance += row[t];
        } else {
            words[count++] = (struct excerpt){
                .start = input->starts[t], .end = input->ends[t], .relevance = row[t]};
        }
    }
    return count;
}

/* Weights of words for each token, and their mean. */
static enum err_code align_words(const struct engine_input *input, const struct engine_text *text,
                                 struct aligned_token *aligned, struct arena *arena,
                                 struct explanation *out, struct err *err)
{
    struct excerpt *words = arena_alloc_array(arena, input->tokens, sizeof *words);
    float *mean = arena_alloc_array(arena, input->tokens, sizeof *mean);
    float *weights = arena_alloc_array(arena, text->count, input->tokens * sizeof *weights);
    if (words == NULL || mean == NULL || weights == NULL)
        return err_no_memory(err, (size_t)text->count * input->tokens * sizeof *weights);
    for (unsigned t = 0; t < text->count; t++) {
        const float *row = text->alignment + (size_t)t * input->tokens;
        float *to = weights + (size_t)t * input->tokens;
        out->word_count = fold(input, row, words);
        for (unsigned w = 0; w < out->word_count; w++)
            to[w] = words[w].relevance;
        for (unsigned s = 0; s < input->tokens; s++)
            mean[s] += row[s] / (float)text->count;
        aligned[t].weights = to;
    }
    out->word_count = fold(input, mean, words);
    out->words = words;
    out->span_count = words_spans(words, out->word_count, EXPLANATION_SPANS, out->spans);
    return ERR_OK;
}

/* The same of patches. */
static enum err_code align_patches(const struct engine_model *model,
                                   const struct engine_input *input, const struct engine_text *text,
                                   struct aligned_token *aligned, struct arena *arena,
                                   struct explanation *out, struct err *err)
{
    const struct stack *stack = &model->stacks[0];
    const unsigned specials = spec_image_specials(&stack->spec);
    const unsigned tokens = engine_input_tokens(input, 0, 1); /* of a view */
    float *mean = arena_alloc_array(arena, tokens, sizeof *mean);
    float *patches = arena_alloc_array(arena, stack->spec.patches, sizeof *patches);
    if (mean == NULL || patches == NULL)
        return err_no_memory(err, 2 * tokens * sizeof *mean);
    for (unsigned t = 0; t < text->count; t++) {
        const float *row = text->alignment + (size_t)t * tokens;
        for (unsigned s = 0; s < tokens; s++)
            mean[s] += row[s] / (float)text->count;
        aligned[t].weights = row + specials;
    }
    patches_fold(&stack->spec, mean, patches);
    out->patches = patches;
    out->view =
        patches_view(&stack->spec, &stack->pipeline.preprocess, input->width, input->height);
    out->box_count = patches_top(&out->view, patches, EXPLANATION_BOXES, out->boxes);
    return ERR_OK;
}

enum err_code engine_align(const struct engine_model *model, const struct engine_input *input,
                           const struct engine_text *text, struct arena *arena,
                           struct explanation *out, struct err *err)
{
    const struct engine_piece *pieces;
    struct aligned_token *aligned = arena_alloc_array(arena, text->count + 1u, sizeof *aligned);
    *out = (struct explanation){.method = EXPLAIN_ALIGNMENT};
    if (aligned == NULL)
        return err_no_memory(err, text->count * sizeof *aligned);
    out->aligned = aligned;
    out->aligned_count = text->count;
    if (engine_text_pieces(model, text, &pieces, arena, err))
        return err->code;
    for (unsigned t = 0; t < text->count; t++) {
        aligned[t].text = pieces[t].text;
        aligned[t].len = pieces[t].len;
    }
    return input->kind == ENGINE_TEXT ? align_words(input, text, aligned, arena, out, err)
                                      : align_patches(model, input, text, aligned, arena, out, err);
}
