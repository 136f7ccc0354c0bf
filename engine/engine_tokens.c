/* engine_tokens.c - strings of a model's tokens. */
#include "engine/engine_state.h"

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
