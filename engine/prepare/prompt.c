#include "engine/prepare/pipeline.h"

#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"

#include <stdio.h>
#include <string.h>

/* White space is what Python's str.strip knows. */
static void strip(struct pipeline_text *text)
{
    size_t begin = 0, end = 0;
    for (size_t at = 0; at < text->len;) {
        const size_t from = at;
        if (character_is_python_space(utf8_decode(text->bytes, &at)))
            continue;
        begin = end == 0 ? from : begin;
        end = at;
    }
    text->bytes += begin;
    text->len = end - begin;
}

/* The names are told, as many as there is room for, in the words that clients of
 * text-embeddings-inference look for. */
static enum err_code refuse(const struct sentence_options *options, const char *name,
                            struct err *err)
{
    char names[256] = "";
    size_t len = 0;
    for (unsigned i = 0; i < options->prompt_count; i++)
        if (strlen(options->prompts[i].name) + strlen(", ") < sizeof names - len)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len > 0 ? ", " : "",
                                    options->prompts[i].name);
    return err_set(err, ERR_UNUSABLE,
                   "prompt_name: the model has no prompt '%.80s'. Available prompts: [%s]", name,
                   names);
}

enum err_code prompt_add(struct pipeline_text *text, unsigned *skipped,
                         const struct pipeline *pipeline, const char *name, struct arena *arena,
                         struct err *err)
{
    const struct sentence_modules *modules = pipeline->spec->sentence;
    const char *prompt = sentence_prompt_find(&modules->options, name);
    struct encoding alone;
    *skipped = 0;
    if (prompt == NULL)
        return refuse(&modules->options, name, err);
    if (text->pair_len > 0)
        return err_set(err, ERR_UNUSABLE, "the model reads one text, not a pair");
    if (!text->is_utf8 && err_check_utf8(err, text->bytes, text->len, "the text"))
        return err->code;
    const size_t len = strlen(prompt);
    char *joined = arena_alloc(arena, len + text->len + 1);
    if (joined == NULL)
        return err_no_memory(err, len + text->len);
    memcpy(joined, prompt, len);
    memcpy(joined + len, text->bytes, text->len);
    *text = (struct pipeline_text){.bytes = joined, .len = len + text->len, .is_utf8 = true};
    strip(text);
    text->shift = (int64_t)utf8_count(joined, len) -
                  (int64_t)utf8_count(joined, (size_t)(text->bytes - joined));
    if (modules->pooling.include_prompt || len == 0)
        return ERR_OK;
    struct pipeline_text own = {.bytes = prompt, .len = len};
    strip(&own);
    if (tokenizer_encode_utf8(pipeline->tokenizer, 0, own.bytes, own.len, NULL, arena, &alone, err))
        return err->code;
    *skipped = alone.count - 1; /* without the special token at its end */
    return ERR_OK;
}

size_t prompt_bytes(const struct pipeline *pipeline, const char *text, size_t len, const char *name)
{
    const char *prompt = sentence_prompt_find(&pipeline->spec->sentence->options, name);
    if (prompt == NULL)
        return 0;
    const size_t prompt_len = strlen(prompt);
    const size_t own = tokenizer_encode_bytes(pipeline->tokenizer, 0, prompt, prompt_len);
    return memory_sum(tokenizer_encode_bytes(pipeline->tokenizer, 0, text, len),
                      memory_sum(memory_sum(len, prompt_len), 2 * own + 4 * ARENA_ALIGNMENT));
}

size_t prompt_tokens(const struct pipeline *pipeline, const char *text, size_t len,
                     const char *name)
{
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const char *prompt = sentence_prompt_find(&pipeline->spec->sentence->options, name);
    const size_t own = prompt == NULL ? 0 : strlen(prompt);
    return memory_sum(tokenizer_tokens_max(tokenizer, 0, text, len),
                      own > 0 ? tokenizer_tokens_max(tokenizer, 0, prompt, own) : 0);
}
