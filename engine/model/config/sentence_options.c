#include "engine/model/config/sentence_options.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const char *const similarities[SENTENCE_SIMILARITIES] = {
    [SENTENCE_COSINE] = "cosine",
    [SENTENCE_DOT] = "dot",
    [SENTENCE_EUCLIDEAN] = "euclidean",
    [SENTENCE_MANHATTAN] = "manhattan",
};

const char *sentence_similarity_name(enum sentence_similarity similarity)
{
    return similarities[similarity];
}

/* ---- config_sentence_transformers.json ---- */

struct prompt_list {
    struct sentence_prompt *prompts;
    unsigned count;
    struct arena *arena;
};

/* Adds a prompt. One that is null is an empty text. */
static enum err_code add_prompt(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct prompt_list *list = context;
    const char *text = doc_as_string(value);
    if (text == NULL && strcmp(doc_type_name(value), "null") != 0)
        return err_set(err, ERR_UNUSABLE,
                       "$.prompts: prompt '%s': expected a string without NUL, found %s",
                       printable_name(key).text, doc_type_name(value));
    if (text == NULL)
        text = "";
    struct sentence_prompt prompt = {.name = arena_copy(list->arena, key, strlen(key)),
                                     .text = arena_copy(list->arena, text, strlen(text))};
    if (prompt.name == NULL || prompt.text == NULL)
        return err_no_memory(err, strlen(key) + strlen(text));
    list->prompts[list->count++] = prompt;
    return ERR_OK;
}

static enum err_code read_prompts(struct sentence_options *out, const struct json_t *object,
                                  struct arena *arena, struct err *err)
{
    const struct json_t *prompts = doc_member(object, "prompts");
    const size_t count = doc_object_count(prompts);
    if (prompts == NULL)
        return ERR_OK;
    if (strcmp(doc_type_name(prompts), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "$.prompts: expected an object, found %s",
                       doc_type_name(prompts));
    if (count > SENTENCE_PROMPTS_MAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.prompts: %zu prompts are not supported (at most %d)", count,
                       SENTENCE_PROMPTS_MAX);
    struct prompt_list list = {.arena = arena};
    list.prompts = arena_alloc_array(arena, count, sizeof *list.prompts);
    if (list.prompts == NULL)
        return err_no_memory(err, count * sizeof *list.prompts);
    if (doc_each_member(prompts, add_prompt, &list, err))
        return err->code;
    out->prompts = list.prompts;
    out->prompt_count = list.count;
    return ERR_OK;
}

static const struct sentence_prompt *find_prompt(const struct sentence_options *options,
                                                 const char *name)
{
    for (unsigned i = 0; i < options->prompt_count; i++)
        if (strcmp(options->prompts[i].name, name) == 0)
            return &options->prompts[i];
    return NULL;
}

const char *sentence_prompt_find(const struct sentence_options *options, const char *name)
{
    const struct sentence_prompt *found =
        name != NULL ? find_prompt(options, name) : options->default_prompt;
    if (found != NULL)
        return found->text;
    return name == NULL || strcmp(name, "query") == 0 || strcmp(name, "document") == 0 ? "" : NULL;
}

/* Reads the name of the default prompt. "query" and "document", if the file lacks them, are the
 * package's own empty prompts: no prompt. */
static enum err_code read_default(struct sentence_options *out, const struct json_t *object,
                                  struct err *err)
{
    const char *name = NULL;
    if (doc_get_string(object, "$", "default_prompt_name", &name, err) || name == NULL)
        return err->code;
    out->default_prompt = find_prompt(out, name);
    if (sentence_prompt_find(out, name) == NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.default_prompt_name '%s' is not one of $.prompts",
                       printable_name(name).text);
    return ERR_OK;
}

static enum err_code read_similarity(struct sentence_options *out, const struct json_t *object,
                                     struct err *err)
{
    const char *name = NULL;
    if (doc_get_string(object, "$", "similarity_fn_name", &name, err) || name == NULL)
        return err->code;
    for (int i = 0; i < SENTENCE_SIMILARITIES; i++)
        if (strcmp(name, similarities[i]) == 0) {
            out->similarity = (enum sentence_similarity)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "$.similarity_fn_name '%s' is not supported (supported: cosine, dot, euclidean, "
                   "manhattan)",
                   printable_name(name).text);
}

enum err_code sentence_options_read(struct sentence_options *out, const struct json_t *object,
                                    const char *type, struct arena *arena, struct err *err)
{
    long long width = out->truncate_width;
    if (doc_expect_string(object, "$", "model_type", type, err) ||
        read_prompts(out, object, arena, err) || read_default(out, object, err) ||
        read_similarity(out, object, err) ||
        doc_get_integer(object, "$", "truncate_dim", 1, INT_MAX, &width, err))
        return err->code;
    out->truncate_width = (unsigned)width;
    return ERR_OK;
}

/* ---- sentence_bert_config.json ---- */

/* ERR_UNSUPPORTED if the member has any content: absent, null and {} have none. */
static enum err_code refuse_content(const struct json_t *object, const char *key, struct err *err)
{
    const struct json_t *value = doc_member(object, key);
    if (value == NULL ||
        (strcmp(doc_type_name(value), "an object") == 0 && doc_object_count(value) == 0))
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "$.%s is not supported (supported: null, {})", key);
}

static enum err_code refuse_contents(const struct json_t *object, struct err *err)
{
    static const char *const keys[] = {
        "model_args",      "tokenizer_args",   "config_args",           "model_kwargs",
        "config_kwargs",   "processor_kwargs", "processing_kwargs",     "query_length",
        "query_expansion", "document_length",  "tokenizer_name_or_path"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (refuse_content(object, keys[i], err))
            return err->code;
    return ERR_OK;
}

/* Version 6 writes what a text becomes; other inputs (image, message) do not matter here. */
static enum err_code check_output(const struct json_t *object, struct err *err)
{
    static const char path[] = "$.modality_config.text";
    const struct json_t *modalities = doc_member(object, "modality_config");
    const struct json_t *text = doc_member(modalities, "text");
    if (modalities != NULL && doc_object_count(text) == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object, found %s", path,
                       doc_type_name(text));
    doc_expect_string(object, "$", "transformer_task", "feature-extraction", err);
    doc_expect_string(object, "$", "module_output_name", "token_embeddings", err);
    doc_expect_string(text, path, "method", "forward", err);
    return doc_expect_string(text, path, "method_output_name", "last_hidden_state", err);
}

/* Reads a count of tokens. transformers writes 1e30 for no limit. */
static enum err_code read_tokens(unsigned *out, const struct json_t *object, struct err *err)
{
    double tokens = 0;
    if (doc_member(object, "max_seq_length") == NULL ||
        doc_get_number(object, "$", "max_seq_length", &tokens, err))
        return err->code;
    if (!(tokens >= 1 && tokens == floor(tokens)))
        return err_set(err, ERR_UNSUPPORTED, "$.max_seq_length must be an integer of at least 1");
    *out = tokens < INT_MAX ? (unsigned)tokens : INT_MAX;
    return ERR_OK;
}

enum err_code sentence_options_read_limits(struct sentence_options *out,
                                           const struct json_t *object, struct err *err)
{
    static const char known[] =
        "max_seq_length, do_lower_case, transformer_task, modality_config, module_output_name, "
        "unpad_inputs, model_args, tokenizer_args, config_args, model_kwargs, config_kwargs, "
        "processor_kwargs, processing_kwargs, query_length, query_expansion, document_length, "
        "tokenizer_name_or_path";
    if (doc_check_members(object, "$", known, err) || refuse_contents(object, err) ||
        check_output(object, err) || read_tokens(&out->max_tokens, object, err))
        return err->code;
    return doc_get_bool(object, "$", "do_lower_case", &out->lower_case, err);
}
