#include "engine/text/pipeline/steps.h"

#include "engine/base/doc.h"
#include "engine/text/pipeline/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ADDED_MAX = 20000, LENGTH_MIN = 3 };

static const char tokenizer_name[] = "tokenizer.json";
static const char config_name[] = "tokenizer_config.json";

/* In the order in which the reference adds them. */
static const char *const special_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};
enum { SPECIAL_KEYS = sizeof special_keys / sizeof *special_keys };

struct reader {
    struct steps *steps;
    struct piece_list pieces;
    struct arena *arena;
};

/* ---- added tokens ---- */

/* The id that the reference gives a token that no vocabulary has. */
static int32_t next_id(const struct reader *reader)
{
    const struct added_tokens *added = &reader->steps->added;
    unsigned pieces = reader->steps->model.pieces;
    return (int32_t)(added->count > 0 && added->vocab_size > pieces ? added->vocab_size : pieces);
}

static int32_t id_of(const struct reader *reader, const char *content)
{
    size_t len = strlen(content);
    int32_t id = added_tokens_find(&reader->steps->added, content, len);
    if (id == VOCAB_NONE)
        id = text_model_find(&reader->steps->model, &reader->pieces, content, len);
    return id != VOCAB_NONE ? id : next_id(reader);
}

static enum err_code read_flags(struct added_token *token, const struct json_t *json,
                                struct err *err)
{
    static const char what[] = "added token";
    if (doc_get_bool(json, what, "special", &token->is_special, err))
        return err->code;
    token->normalized = !token->is_special;
    if (doc_get_bool(json, what, "normalized", &token->normalized, err) ||
        doc_get_bool(json, what, "single_word", &token->single_word, err) ||
        doc_get_bool(json, what, "lstrip", &token->lstrip, err))
        return err->code;
    return doc_get_bool(json, what, "rstrip", &token->rstrip, err);
}

/* A token whose id the files give: it should be the one that the reference gives it. */
static enum err_code add_listed(struct reader *reader, const struct json_t *json, double number,
                                struct err *err)
{
    struct added_token token = {0};
    if (doc_get_string(json, "added token", "content", &token.content, err) ||
        read_flags(&token, json, err))
        return err->code;
    if (token.content == NULL || token.content[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "an added token has no content");
    token.len = strlen(token.content);
    if (token.len > VOCAB_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "an added token is longer than %d bytes",
                       VOCAB_PIECE_BYTES_MAX);
    token.id = id_of(reader, token.content);
    if (number != token.id)
        return err_set(err, ERR_UNSUPPORTED, "added token '%s' has the id %.0f instead of %d",
                       token.content, number, (int)token.id);
    return added_tokens_add(&reader->steps->added, &token, err);
}

static enum err_code add_from_tokenizer(struct reader *reader, const struct json_t *list,
                                        struct err *err)
{
    static const char *const known[] = {"id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL};
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const struct json_t *token = doc_array_item(list, i);
        double id = -1;
        if (members_check(token, "$.added_tokens[]", known, err) ||
            doc_get_number(token, "$.added_tokens[]", "id", &id, err) ||
            add_listed(reader, token, id, err))
            return err->code;
    }
    return ERR_OK;
}

/* added_tokens_decoder, {"0": token, ...}, in the order of the ids. */
struct decoder_entry {
    double id;
    const struct json_t *token;
};

struct decoder {
    struct decoder_entry *entries;
    size_t count;
};

static enum err_code take_entry(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct decoder *decoder = context;
    char *end;
    double id = strtod(key, &end);
    if (*end != '\0' || end == key || !(id >= 0 && id <= PIECE_ID_MAX))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.added_tokens_decoder: a name is not an id from 0 to %d", PIECE_ID_MAX);
    decoder->entries[decoder->count++] = (struct decoder_entry){id, value};
    return ERR_OK;
}

static int compare_entries(const void *a, const void *b)
{
    double left = ((const struct decoder_entry *)a)->id;
    double right = ((const struct decoder_entry *)b)->id;
    return (left > right) - (left < right);
}

static enum err_code add_from_config(struct reader *reader, const struct json_t *config,
                                     struct err *err)
{
    const struct json_t *json = doc_member(config, "added_tokens_decoder");
    size_t bytes = doc_object_count(json) * sizeof(struct decoder_entry);
    struct decoder decoder = {.entries = arena_alloc(reader->arena, bytes)};
    if (decoder.entries == NULL)
        return err_no_memory(err, bytes);
    if (doc_each_member(json, take_entry, &decoder, err))
        return err->code;
    qsort(decoder.entries, decoder.count, sizeof *decoder.entries, compare_entries);
    for (size_t i = 0; i < decoder.count; i++)
        if (add_listed(reader, decoder.entries[i].token, decoder.entries[i].id, err))
            return err->code;
    return ERR_OK;
}

/* A special token by name, or {"content": name, ...}; added unless it is already. */
static enum err_code add_special(struct reader *reader, const struct json_t *value, const char *key,
                                 struct err *err)
{
    const struct json_t *content = doc_member(value, "content");
    const char *name = doc_as_string(content != NULL ? content : value);
    if (value == NULL)
        return ERR_OK;
    if (name == NULL || strlen(name) > VOCAB_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected a string of at most %d bytes", key,
                       VOCAB_PIECE_BYTES_MAX);
    if (name[0] == '\0' ||
        added_tokens_find(&reader->steps->added, name, strlen(name)) != VOCAB_NONE)
        return ERR_OK;
    struct added_token token = {.content = name, .len = strlen(name), .id = id_of(reader, name)};
    if (content != NULL) {
        token.normalized = true;
        if (read_flags(&token, value, err))
            return err->code;
    }
    token.is_special = true;
    return added_tokens_add(&reader->steps->added, &token, err);
}

static enum err_code add_specials(struct reader *reader, const struct json_t *config,
                                  struct err *err)
{
    const struct json_t *more = doc_member(config, "additional_special_tokens");
    for (size_t i = 0; i < SPECIAL_KEYS; i++)
        if (add_special(reader, doc_member(config, special_keys[i]), special_keys[i], err))
            return err->code;
    for (size_t i = 0; i < doc_array_count(more); i++)
        if (add_special(reader, doc_array_item(more, i), "additional_special_tokens", err))
            return err->code;
    return ERR_OK;
}

static enum err_code init_added(struct reader *reader, const struct json_t *root,
                                const struct json_t *config, struct err *err)
{
    size_t count = doc_array_count(doc_member(root, "added_tokens")) +
                   doc_object_count(doc_member(config, "added_tokens_decoder")) +
                   doc_array_count(doc_member(config, "additional_special_tokens")) + SPECIAL_KEYS;
    if (count > ADDED_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu added tokens; at most %d are supported", count,
                       ADDED_MAX);
    return added_tokens_init(&reader->steps->added, count, reader->arena, err);
}

/* ---- the files ---- */

static enum err_code read_tokenizer(struct reader *reader, const struct json_t *root,
                                    struct err *err)
{
    static const char *const known[] = {
        "version",       "truncation",     "padding", "added_tokens", "normalizer",
        "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    struct steps *steps = reader->steps;
    if (members_check(root, "$", known, err) ||
        normalizer_steps_read(&steps->normalizer, doc_member(root, "normalizer"), reader->arena,
                              err) ||
        pretokenizer_steps_read(&steps->pretokenizer, doc_member(root, "pre_tokenizer"),
                                reader->arena, err) ||
        post_processor_read(&steps->post, doc_member(root, "post_processor"), err) ||
        text_model_read(&steps->model, doc_member(root, "model"), steps->pretokenizer.is_byte_level,
                        &reader->pieces, reader->arena, err))
        return err->code;
    return add_from_tokenizer(reader, doc_member(root, "added_tokens"), err);
}

static int32_t find_named(const struct reader *reader, const struct json_t *config, const char *key,
                          const char *const *usual)
{
    const struct json_t *value = doc_member(config, key);
    const struct json_t *content = doc_member(value, "content");
    const char *name = doc_as_string(content != NULL ? content : value);
    int32_t id = VOCAB_NONE;
    if (name != NULL)
        return added_tokens_find(&reader->steps->added, name, strlen(name));
    for (; *usual != NULL && id == VOCAB_NONE; usual++)
        id = added_tokens_find(&reader->steps->added, *usual, strlen(*usual));
    return id;
}

static enum err_code read_config(struct reader *reader, const struct json_t *root,
                                 const struct json_t *config, struct err *err)
{
    struct steps *steps = reader->steps;
    steps->length_max = HUGE_VAL;
    if (doc_get_number(config, "$", "model_max_length", &steps->length_max, err) ||
        normalizer_steps_override(&steps->normalizer, doc_member(root, "normalizer"), config,
                                  err) ||
        pretokenizer_steps_override(&steps->pretokenizer, doc_member(root, "pre_tokenizer"), config,
                                    err) ||
        post_processor_override(&steps->post, doc_member(root, "post_processor"), config, err) ||
        add_from_config(reader, config, err) || add_specials(reader, config, err))
        return err->code;
    if (!(steps->length_max >= LENGTH_MIN))
        return err_set(err, ERR_UNSUPPORTED, "$.model_max_length: must be at least %d", LENGTH_MIN);
    return ERR_OK;
}

static unsigned largest_id(const struct tokenizer_template *order, unsigned size)
{
    for (unsigned i = 0; i < order->count; i++)
        if (order->items[i].source == TEMPLATE_SPECIAL && (unsigned)order->items[i].id >= size)
            size = (unsigned)order->items[i].id + 1;
    return size;
}

static unsigned count_ids(const struct steps *steps)
{
    unsigned size = steps->model.vocab_size;
    size = steps->added.vocab_size > size ? steps->added.vocab_size : size;
    return largest_id(&steps->post.pair, largest_id(&steps->post.single, size));
}

enum err_code steps_read(struct steps *out, const struct json_t *root, const struct json_t *config,
                         struct arena *arena, struct err *err)
{
    static const char *const pads[] = {"<pad>", "[PAD]", NULL};
    static const char *const masks[] = {"<mask>", "[MASK]", NULL};
    struct reader reader = {.steps = out, .arena = arena};
    *out = (struct steps){0};
    if (init_added(&reader, root, config, err) || read_tokenizer(&reader, root, err))
        return err_prefix(err, "%s: ", tokenizer_name);
    if (read_config(&reader, root, config, err))
        return err_prefix(err, "%s: ", config_name);
    if (added_tokens_build(&out->added, &out->normalizer, err))
        return err_prefix(err, "%s: ", tokenizer_name);
    out->pad = find_named(&reader, config, "pad_token", pads);
    out->mask = find_named(&reader, config, "mask_token", masks);
    out->vocab_size = count_ids(out);
    return ERR_OK;
}

/* ---- BERT ---- */

static bool is_literal(const struct json_t *token)
{
    struct added_token flags = {0};
    struct err err = {0};
    return read_flags(&flags, token, &err) == ERR_OK && !flags.normalized && !flags.lstrip &&
           !flags.rstrip && !flags.single_word;
}

/* [CLS] A [SEP] B [SEP] with types 0 and 1, whatever the tokens are called. */
static bool is_bert_template(const struct json_t *json)
{
    static const enum template_source order[] = {TEMPLATE_SPECIAL, TEMPLATE_TEXT, TEMPLATE_SPECIAL,
                                                 TEMPLATE_PAIR, TEMPLATE_SPECIAL};
    struct post_processor post;
    struct err err = {0};
    if (json == NULL)
        return true;
    if (post_processor_read(&post, json, &err) || post.trims || post.single.count != 3 ||
        post.pair.count != 5)
        return false;
    for (unsigned i = 0; i < 5; i++)
        if (post.pair.items[i].source != order[i] || post.pair.items[i].type != i / 3 ||
            (i < 3 && post.single.items[i].source != order[i]))
            return false;
    return true;
}

bool steps_are_bert(const struct json_t *root)
{
    const struct json_t *normalizer = doc_member(root, "normalizer");
    const struct json_t *added = doc_member(root, "added_tokens");
    for (size_t i = 0; i < doc_array_count(added); i++)
        if (!is_literal(doc_array_item(added, i)))
            return false;
    return members_has_type(doc_member(root, "model"), "WordPiece") &&
           (normalizer == NULL || members_has_type(normalizer, "BertNormalizer")) &&
           members_has_type(doc_member(root, "pre_tokenizer"), "BertPreTokenizer") &&
           is_bert_template(doc_member(root, "post_processor"));
}
