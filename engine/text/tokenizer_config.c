/* tokenizer_config.c - see tokenizer_config.h.
 *
 * The files say the same things in different places, so each reader only fills a `struct draft`;
 * tokenizer_config_read turns the draft into vocabularies and ids after all files are read.
 * Refused, because ignoring them would give other ids than the reference: models, normalisers and
 * pre-tokenisers other than BERT's, and added tokens that want more than a literal match. */
#include "engine/text/tokenizer_config.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/text/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 64 * 1024 * 1024,
    ID_MAX = (1 << 24) - 1,
    LIMIT_MIN = 3, /* [CLS], one token, [SEP] */
};

static const char vocab_name[] = "vocab.txt";
static const char tokenizer_name[] = "tokenizer.json";
static const char config_name[] = "tokenizer_config.json";

struct piece {
    const char *text;
    size_t len;
    int32_t id;
};

struct piece_list {
    struct piece *items;
    size_t count;
};

enum tristate { UNSET, NO, YES };
enum special { CLS, SEP, UNK, PAD, MASK, SPECIAL_COUNT };

static const char *const special_keys[SPECIAL_COUNT] = {
    [CLS] = "cls_token", [SEP] = "sep_token",   [UNK] = "unk_token",
    [PAD] = "pad_token", [MASK] = "mask_token",
};

struct draft {
    struct arena *arena;
    struct piece_list pieces;
    struct piece_list added[2]; /* of tokenizer.json, of tokenizer_config.json */
    const char *special[SPECIAL_COUNT];
    const char *prefix;
    struct normalizer_flags flags; /* but strip_accents */
    enum tristate strip_accents;
    long long word_characters_max;
    double length_max;
};

static enum err_code list_init(struct piece_list *list, size_t count_max, struct arena *arena,
                               struct err *err)
{
    *list = (struct piece_list){.items = arena_alloc_array(arena, count_max, sizeof *list->items)};
    return list->items != NULL ? ERR_OK : err_no_memory(err, count_max * sizeof *list->items);
}

/* ---- vocab.txt: a piece a line, numbered from 0 ---- */

/* Lines end as Python's text files do: with \n, \r or \r\n. */
static size_t line_end(const char *text, size_t len, size_t at, size_t *next)
{
    while (at < len && text[at] != '\n' && text[at] != '\r')
        at++;
    *next = at + 1;
    if (at + 1 < len && text[at] == '\r' && text[at + 1] == '\n')
        *next = at + 2;
    return at;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len; count++)
        line_end(text, len, at, &at);
    return count;
}

static enum err_code split_lines(struct draft *draft, const char *text, size_t len, struct err *err)
{
    size_t offset, lines = count_lines(text, len);
    if (!utf8_valid(text, len, &offset))
        return err_set(err, ERR_UNSUPPORTED, "invalid UTF-8 at byte %zu", offset);
    if (lines > ID_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu lines; at most %d are supported", lines, ID_MAX);
    if (list_init(&draft->pieces, lines, draft->arena, err))
        return err->code;
    for (size_t at = 0, next; at < len; at = next) {
        size_t end = line_end(text, len, at, &next);
        struct piece *piece = &draft->pieces.items[draft->pieces.count];
        *piece = (struct piece){text + at, end - at, (int32_t)draft->pieces.count++};
    }
    return ERR_OK;
}

static enum err_code read_vocab(struct draft *draft, const char *path, struct err *err)
{
    char *bytes;
    size_t len;
    if (file_read(&bytes, &len, path, FILE_BYTES_MAX, err))
        return err->code;
    char *text = arena_copy(draft->arena, bytes, len);
    free(bytes);
    return text != NULL ? split_lines(draft, text, len, err) : err_no_memory(err, len);
}

/* ---- pieces and names of both JSON files ---- */

static enum err_code copy_name(struct draft *draft, const char **name, const char *text,
                               struct err *err)
{
    *name = arena_copy(draft->arena, text, strlen(text));
    return *name != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

static bool parse_id(double number, int32_t *id)
{
    bool fits = number >= 0 && number <= ID_MAX && number == floor(number);
    *id = fits ? (int32_t)number : 0;
    return fits;
}

/* Refuses options that a literal match does not implement. */
static enum err_code check_added(const struct json_t *token, int32_t id, struct err *err)
{
    static const char *const wishes[] = {"single_word", "lstrip", "rstrip", "normalized"};
    bool special = false;
    if (doc_get_bool(token, "added token", "special", &special, err))
        return err->code;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        bool wish = !special && strcmp(wishes[i], "normalized") == 0; /* the reference's default */
        if (doc_get_bool(token, "added token", wishes[i], &wish, err))
            return err->code;
        if (wish)
            return err_set(err, ERR_UNSUPPORTED, "added token %d has '%s', which is not supported",
                           (int)id, wishes[i]);
    }
    return ERR_OK;
}

static enum err_code add_token(struct draft *draft, struct piece_list *list,
                               const struct json_t *token, double number, struct err *err)
{
    struct piece *piece = &list->items[list->count];
    const char *content = NULL;
    if (!parse_id(number, &piece->id))
        return err_set(err, ERR_UNSUPPORTED, "an added token's id is not from 0 to %d", ID_MAX);
    if (check_added(token, piece->id, err) ||
        doc_get_string(token, "added token", "content", &content, err))
        return err->code;
    if (content == NULL)
        return err_set(err, ERR_UNSUPPORTED, "added token %d has no content", (int)piece->id);
    if (copy_name(draft, &piece->text, content, err))
        return err->code;
    piece->len = strlen(content);
    list->count++;
    return ERR_OK;
}

/* ---- tokenizer.json ---- */

struct vocab_visit {
    struct draft *draft;
    char *text; /* where the next piece's text goes; NULL while bytes are counted */
    size_t bytes;
};

static enum err_code count_piece(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    (void)value, (void)err;
    ((struct vocab_visit *)context)->bytes += strlen(key);
    return ERR_OK;
}

static enum err_code visit_piece(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct vocab_visit *visit = context;
    struct piece_list *list = &visit->draft->pieces;
    struct piece *piece = &list->items[list->count];
    double number = -1;
    doc_as_number(value, &number);
    if (!parse_id(number, &piece->id))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.model.vocab: entry %zu is not an integer from 0 to %d", list->count,
                       ID_MAX);
    piece->text = visit->text;
    piece->len = strlen(key);
    memcpy(visit->text, key, piece->len);
    visit->text += piece->len;
    list->count++;
    return ERR_OK;
}

static enum err_code read_json_vocab(struct draft *draft, const struct json_t *vocab,
                                     struct err *err)
{
    struct vocab_visit visit = {.draft = draft};
    doc_each_member(vocab, count_piece, &visit, err);
    visit.text = arena_alloc(draft->arena, visit.bytes);
    if (visit.text == NULL)
        return err_no_memory(err, visit.bytes);
    if (list_init(&draft->pieces, doc_object_count(vocab), draft->arena, err))
        return err->code;
    return doc_each_member(vocab, visit_piece, &visit, err);
}

/* Refuses a component of another type than the one that is implemented. */
static enum err_code check_type(const struct json_t *component, const char *path,
                                const char *expected, struct err *err)
{
    const char *type = NULL;
    if (doc_get_string(component, path, "type", &type, err))
        return err->code;
    if (type == NULL || strcmp(type, expected) != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s.type is '%s', only '%s' is supported", path,
                       type != NULL ? type : "", expected);
    return ERR_OK;
}

static enum err_code read_model(struct draft *draft, const struct json_t *model, struct err *err)
{
    const char *prefix = draft->prefix, *unk = draft->special[UNK];
    if (check_type(model, "$.model", "WordPiece", err) ||
        doc_get_string(model, "$.model", "continuing_subword_prefix", &prefix, err) ||
        doc_get_string(model, "$.model", "unk_token", &unk, err) ||
        doc_get_integer(model, "$.model", "max_input_chars_per_word", 1,
                        TOKENIZER_WORD_CHARACTERS_MAX, &draft->word_characters_max, err) ||
        copy_name(draft, &draft->prefix, prefix, err) ||
        copy_name(draft, &draft->special[UNK], unk, err))
        return err->code;
    return read_json_vocab(draft, doc_member(model, "vocab"), err);
}

static enum err_code read_strip_accents(struct draft *draft, const struct json_t *object,
                                        const char *path, struct err *err)
{
    bool strip = draft->strip_accents == YES;
    if (doc_member(object, "strip_accents") == NULL)
        return ERR_OK;
    if (doc_get_bool(object, path, "strip_accents", &strip, err))
        return err->code;
    draft->strip_accents = strip ? YES : NO;
    return ERR_OK;
}

static enum err_code read_normalizer(struct draft *draft, const struct json_t *normalizer,
                                     struct err *err)
{
    static const char path[] = "$.normalizer";
    struct normalizer_flags *flags = &draft->flags;
    if (normalizer == NULL) {
        *flags = (struct normalizer_flags){0};
        return ERR_OK;
    }
    if (check_type(normalizer, path, "BertNormalizer", err) ||
        doc_get_bool(normalizer, path, "clean_text", &flags->clean_text, err) ||
        doc_get_bool(normalizer, path, "handle_chinese_chars", &flags->space_cjk, err) ||
        doc_get_bool(normalizer, path, "lowercase", &flags->lower_case, err))
        return err->code;
    return read_strip_accents(draft, normalizer, path, err);
}

static enum err_code read_added_tokens(struct draft *draft, const struct json_t *tokens,
                                       struct err *err)
{
    size_t count = doc_array_count(tokens);
    if (list_init(&draft->added[0], count, draft->arena, err))
        return err->code;
    for (size_t i = 0; i < count; i++) {
        const struct json_t *token = doc_array_item(tokens, i);
        double id = -1;
        if (doc_get_number(token, "$.added_tokens[]", "id", &id, err) ||
            add_token(draft, &draft->added[0], token, id, err))
            return err->code;
    }
    return ERR_OK;
}

static enum err_code read_tokenizer(struct draft *draft, const struct json_t *root, struct err *err)
{
    if (read_model(draft, doc_member(root, "model"), err) ||
        read_normalizer(draft, doc_member(root, "normalizer"), err) ||
        check_type(doc_member(root, "pre_tokenizer"), "$.pre_tokenizer", "BertPreTokenizer", err))
        return err->code;
    return read_added_tokens(draft, doc_member(root, "added_tokens"), err);
}

/* ---- tokenizer_config.json ---- */

/* The name of a special token is a string or, as some versions save it, {"content": string}. */
static enum err_code read_special(struct draft *draft, const struct json_t *root,
                                  enum special special, struct err *err)
{
    const struct json_t *value = doc_member(root, special_keys[special]);
    const struct json_t *content = doc_member(value, "content");
    if (value == NULL)
        return ERR_OK;
    const char *name = doc_as_string(content != NULL ? content : value);
    if (name == NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected a string, found %s",
                       special_keys[special], doc_type_name(value));
    return copy_name(draft, &draft->special[special], name, err);
}

static enum err_code visit_added(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct draft *draft = context;
    char *end;
    double id = strtod(key, &end);
    return add_token(draft, &draft->added[1], value, *end == '\0' && end != key ? id : -1, err);
}

static enum err_code read_length_max(struct draft *draft, const struct json_t *root,
                                     struct err *err)
{
    if (doc_get_number(root, "$", "model_max_length", &draft->length_max, err))
        return err->code;
    if (!(draft->length_max >= LIMIT_MIN))
        return err_set(err, ERR_UNSUPPORTED, "$.model_max_length: must be at least %d", LIMIT_MIN);
    return ERR_OK;
}

static enum err_code read_config(struct draft *draft, const struct json_t *root, struct err *err)
{
    struct normalizer_flags *flags = &draft->flags;
    const struct json_t *added = doc_member(root, "added_tokens_decoder");
    if (doc_get_bool(root, "$", "do_lower_case", &flags->lower_case, err) ||
        doc_get_bool(root, "$", "tokenize_chinese_chars", &flags->space_cjk, err) ||
        read_strip_accents(draft, root, "$", err) || read_length_max(draft, root, err) ||
        list_init(&draft->added[1], doc_object_count(added), draft->arena, err))
        return err->code;
    for (enum special i = 0; i < SPECIAL_COUNT; i++)
        if (read_special(draft, root, i, err))
            return err->code;
    return doc_each_member(added, visit_added, draft, err);
}

/* ---- draft -> configuration ---- */

static enum err_code build_pieces(struct tokenizer_config *config, const struct draft *draft,
                                  struct err *err)
{
    const struct piece_list *pieces = &draft->pieces;
    size_t prefix_len = strlen(draft->prefix);
    if (vocab_init(&config->initial, pieces->count, draft->arena, err) ||
        vocab_init(&config->continued, pieces->count, draft->arena, err))
        return err->code;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        if (vocab_add(&config->initial, piece->text, piece->len, piece->id, err))
            return err->code;
        bool continues =
            piece->len >= prefix_len && memcmp(piece->text, draft->prefix, prefix_len) == 0;
        if (continues && vocab_add(&config->continued, piece->text + prefix_len,
                                   piece->len - prefix_len, piece->id, err))
            return err->code;
        if ((unsigned)piece->id >= config->vocab_size)
            config->vocab_size = (unsigned)piece->id + 1;
    }
    return ERR_OK;
}

/* An added token that is a piece of the vocabulary has that piece's id. */
static enum err_code add_special(struct tokenizer_config *config, const char *text, size_t len,
                                 int32_t id, struct err *err)
{
    int32_t known = vocab_find(&config->initial, text, len);
    id = known != VOCAB_NONE ? known : id;
    if (id == VOCAB_NONE)
        return ERR_OK;
    if ((unsigned)id >= config->vocab_size)
        config->vocab_size = (unsigned)id + 1;
    return vocab_add(&config->specials, text, len, id, err);
}

static enum err_code build_specials(struct tokenizer_config *config, const struct draft *draft,
                                    struct err *err)
{
    size_t count = SPECIAL_COUNT + draft->added[0].count + draft->added[1].count;
    if (vocab_init(&config->specials, count, draft->arena, err))
        return err->code;
    for (unsigned k = 0; k < 2; k++) {
        const struct piece_list *list = &draft->added[k];
        for (size_t i = 0; i < list->count; i++)
            if (add_special(config, list->items[i].text, list->items[i].len, list->items[i].id,
                            err))
                return err->code;
    }
    for (unsigned i = 0; i < SPECIAL_COUNT; i++)
        if (add_special(config, draft->special[i], strlen(draft->special[i]), VOCAB_NONE, err))
            return err->code;
    return ERR_OK;
}

static enum err_code find_special(const struct tokenizer_config *config, const struct draft *draft,
                                  enum special special, int32_t *id, struct err *err)
{
    const char *name = draft->special[special];
    *id = vocab_find(&config->specials, name, strlen(name));
    if (*id != VOCAB_NONE)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "the vocabulary has no %s '%s'", special_keys[special],
                   name);
}

static int32_t find_optional(const struct tokenizer_config *config, const struct draft *draft,
                             enum special special)
{
    const char *name = draft->special[special];
    return vocab_find(&config->specials, name, strlen(name));
}

static enum err_code build(struct tokenizer_config *config, const struct draft *draft,
                           unsigned tokens_max, struct err *err)
{
    config->flags = draft->flags;
    config->flags.strip_accents =
        draft->strip_accents == UNSET ? draft->flags.lower_case : draft->strip_accents == YES;
    config->word_characters_max = (unsigned)draft->word_characters_max;
    config->limit = draft->length_max < tokens_max ? (unsigned)draft->length_max : tokens_max;
    if (config->limit < LIMIT_MIN)
        return err_set(err, ERR_UNSUPPORTED, "a limit of %u tokens; at least %d are needed",
                       config->limit, LIMIT_MIN);
    if (build_pieces(config, draft, err) || build_specials(config, draft, err) ||
        find_special(config, draft, CLS, &config->cls, err) ||
        find_special(config, draft, SEP, &config->sep, err))
        return err->code;
    config->pad = find_optional(config, draft, PAD);
    config->mask = find_optional(config, draft, MASK);
    return find_special(config, draft, UNK, &config->unk, err);
}

/* ---- files ---- */

static enum err_code read_json(struct draft *draft, const char *path,
                               enum err_code (*reader)(struct draft *, const struct json_t *,
                                                       struct err *),
                               struct err *err)
{
    struct json_t *root = NULL;
    if (!doc_parse_file(&root, path, FILE_BYTES_MAX, err))
        reader(draft, root, err);
    doc_free(root);
    return err->code;
}

static enum err_code read_files(struct tokenizer_config *out, struct draft *draft, const char *dir,
                                unsigned tokens_max, struct err *err)
{
    const char *vocab = arena_format(draft->arena, "%s/%s", dir, vocab_name);
    const char *tokenizer = arena_format(draft->arena, "%s/%s", dir, tokenizer_name);
    const char *config = arena_format(draft->arena, "%s/%s", dir, config_name);
    bool has_vocab, has_tokenizer, has_config;
    if (vocab == NULL || tokenizer == NULL || config == NULL)
        return err_no_memory(err, strlen(dir));
    if (file_exists(vocab, &has_vocab, err) || file_exists(tokenizer, &has_tokenizer, err) ||
        file_exists(config, &has_config, err))
        return err->code;
    if (!has_vocab && !has_tokenizer)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: missing, and there is no %s either: with transformers, "
                       "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes one of what "
                       "the checkpoint has (spm.model, sentencepiece.bpe.model)",
                       vocab_name, tokenizer_name);
    const char *source = has_vocab ? vocab_name : tokenizer_name;
    if (has_vocab ? read_vocab(draft, vocab, err)
                  : read_json(draft, tokenizer, read_tokenizer, err))
        return err_prefix(err, "%s: ", source);
    if (has_config && read_json(draft, config, read_config, err))
        return err_prefix(err, "%s: ", config_name);
    return build(out, draft, tokens_max, err) ? err_prefix(err, "%s: ", source) : ERR_OK;
}

enum err_code tokenizer_config_read(struct tokenizer_config *out, const char *dir,
                                    unsigned tokens_max, struct arena *arena, struct err *err)
{
    struct draft draft = {
        .arena = arena,
        .special = {"[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"},
        .prefix = "##",
        .flags = {.clean_text = true, .space_cjk = true, .lower_case = true},
        .word_characters_max = 100,
        .length_max = HUGE_VAL,
    };
    *out = (struct tokenizer_config){0};
    return read_files(out, &draft, dir, tokens_max, err);
}
