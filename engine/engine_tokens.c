/* engine_tokens.c - texts as tokens, and the strings of these. */
#include "engine/engine_state.h"

#include "engine/base/utf8.h"

/* The tokenizer of texts; NULL: the model reads none. */
static const struct tokenizer *tokenizer_of(const struct engine_model *model)
{
    const bool reads = engine_reads(&model->info, ENGINE_TEXT);
    return reads ? engine_stack_of(model, ENGINE_TEXT)->pipeline.tokenizer : NULL;
}

const char *engine_token(const struct engine_model *model, int32_t id, size_t *len,
                         bool *is_special)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    const struct token_string *string = tokenizer != NULL ? tokenizer_string(tokenizer, id) : NULL;
    if (string == NULL)
        return NULL;
    *len = string->len;
    *is_special = string->is_special;
    return string->text;
}

const struct decoder *engine_decoder(const struct engine_model *model)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    return tokenizer != NULL ? tokenizer_decoder(tokenizer) : NULL;
}

int32_t engine_unknown(const struct engine_model *model)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    return tokenizer != NULL ? tokenizer->specials.unk : -1;
}

int32_t engine_padding(const struct engine_model *model)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    return tokenizer != NULL ? tokenizer->specials.pad : -1;
}

enum { SPECIALS = 2 }; /* of a text, at most so many are meant by text_tokens_max */

static unsigned limit_of(const struct engine_source *source)
{
    const unsigned most = source->reading.text_tokens_max;
    return (most > 0 ? most : ENGINE_TEXT_TOKENS_MAX) + SPECIALS;
}

enum err_code engine_tokenize(const struct engine_model *model, const struct engine_source *source,
                              struct interrupt *interrupt, struct arena *arena,
                              struct engine_tokens *out, struct err *err)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    struct pipeline_text text = {
        .bytes = source->bytes, .len = source->len, .is_utf8 = source->is_utf8};
    struct encoding encoding;
    unsigned skipped;
    const bool has_prompts = model->stacks[0].spec.sentence != NULL && tokenizer != NULL;
    if (tokenizer == NULL)
        return err_set(err, ERR_UNUSABLE, "the model takes images");
    if (!has_prompts && source->prompt_name != NULL)
        return err_set(err, ERR_UNUSABLE, "prompt_name: the model has no prompts");
    const struct pipeline *pipeline = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    if ((has_prompts && prompt_add(&text, &skipped, pipeline, source->prompt_name, arena, err)) ||
        tokenizer_encode(tokenizer, limit_of(source), text.bytes, text.len, interrupt, arena,
                         &encoding, err))
        return err->code;
    if (encoding.truncated)
        return err_set(err, ERR_TOO_LARGE,
                       "the text has more than %u tokens (text_tokens_max); send less of it",
                       limit_of(source) - SPECIALS);
    *out = (struct engine_tokens){.count = encoding.count,
                                  .ids = encoding.ids,
                                  .starts = encoding.starts,
                                  .ends = encoding.ends,
                                  .text = text.bytes,
                                  .len = text.len};
    return ERR_OK;
}

size_t engine_tokenize_bytes(const struct engine_model *model, const struct engine_source *source,
                             size_t *tokens)
{
    const struct tokenizer *tokenizer = tokenizer_of(model);
    const bool has_prompts = model->stacks[0].spec.sentence != NULL && tokenizer != NULL;
    *tokens = 0;
    if (tokenizer == NULL)
        return 0;
    const struct pipeline *pipeline = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    *tokens = tokenizer_tokens_max(tokenizer, limit_of(source), source->bytes, source->len);
    const size_t bytes =
        tokenizer_encode_bytes(tokenizer, limit_of(source), source->bytes, source->len);
    if (!has_prompts)
        return bytes;
    *tokens = memory_sum(*tokens, prompt_tokens(pipeline, "", 0, source->prompt_name));
    return memory_sum(bytes,
                      prompt_bytes(pipeline, source->bytes, source->len, source->prompt_name));
}
