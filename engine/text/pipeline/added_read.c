#include "engine/base/doc.h"
#include "engine/text/pipeline/added_tokens.h"
#include "engine/text/pipeline/members.h"
#include "engine/text/pipeline/text_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ADDED_MAX = 20000 };

static const char additional_key[] = "additional_special_tokens";
static const char extra_key[] = "extra_special_tokens";
static const char config_name[] = "tokenizer_config.json";

struct reader {
    struct added_tokens *added;
    const struct tokenizer_files *files;
    const struct text_model *model;
    const struct piece_list *pieces;
    struct arena *arena;
    struct added_token
        *said; /* [said_count] entries of the files so far; a token may have several */
    size_t said_count;
    bool is_slow; /* a slow tokenizer: ids of the files count, and only named tokens are special */
    unsigned others; /* added tokens that the vocabulary lacks */
};

/* ---- ids ---- */

/* Returns the id of an added token or of a piece of the vocabulary; VOCAB_NONE: it is neither. */
static int32_t known_id(const struct reader *reader, const char *content)
{
    size_t len = strlen(content);
    int32_t id = added_tokens_find(reader->added, content, len);
    return id != VOCAB_NONE ? id : text_model_find(reader->model, reader->pieces, content, len);
}

/* Returns the id of a known token, else the id that the reference gives to a new one. A slow
 * tokenizer counts the different strings that it has. */
static int32_t id_of(const struct reader *reader, const char *content)
{
    const struct added_tokens *added = reader->added;
    const unsigned pieces = reader->model->pieces;
    const int32_t id = known_id(reader, content);
    if (id != VOCAB_NONE)
        return id;
    if (reader->is_slow)
        return (int32_t)(reader->pieces->distinct + reader->others);
    return (int32_t)(added->count > 0 && added->vocab_size > pieces ? added->vocab_size : pieces);
}

/* ---- special tokens by name ---- */

/* A special token is written as a string, or as an object with its content. */
static const char *content_of(const struct json_t *value)
{
    const struct json_t *content = doc_member(value, "content");
    return doc_as_string(content != NULL ? content : value);
}

/* Called for each special token, in the order in which the reference adds them; json is NULL for a
 * name that comes from the class. */
typedef enum err_code visit_special(void *context, const char *key, const struct json_t *json,
                                    const char *content, struct err *err);

struct special_walk {
    visit_special *visit;
    void *context;
};

static enum err_code walk_member(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    const struct special_walk *walk = context;
    (void)key;
    return walk->visit(walk->context, extra_key, value, content_of(value), err);
}

static enum err_code walk_list(const struct special_walk *walk, const char *key,
                               const struct json_t *list, struct err *err)
{
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const struct json_t *value = doc_array_item(list, i);
        if (walk->visit(walk->context, key, value, content_of(value), err))
            return err->code;
    }
    return ERR_OK;
}

/* The class's own count unless a file lists them; of T5's, the first extra_ids. A null of a class
 * with a SentencePiece model lists none. */
static enum err_code walk_additional(const struct tokenizer_files *files,
                                     const struct special_walk *walk, struct err *err)
{
    const struct tokenizer_class *class = files->class;
    const char *const *usual = class->additional;
    bool is_said;
    const bool is_listed = tokenizer_files_special(files, additional_key, &is_said) != NULL;
    long long most = ADDED_MAX;
    if ((class->pieces == PIECES_T5 &&
         doc_get_integer(files->config, "$", "extra_ids", 0, ADDED_MAX, &most, err)) ||
        walk_list(walk, additional_key, doc_member(files->config, additional_key), err) ||
        walk_list(walk, additional_key, doc_member(files->special_map, additional_key), err))
        return err->code;
    is_said &= !class->adds_additional && (is_listed || class->pieces == 0);
    for (; !is_said && usual != NULL && *usual != NULL && most > 0; usual++, most--)
        if (walk->visit(walk->context, additional_key, NULL, *usual, err))
            return err->code;
    return ERR_OK;
}

/* extra_special_tokens is an object of names, or a list, which transformers 5 writes in place of
 * additional_special_tokens. */
static enum err_code walk_specials(const struct tokenizer_files *files, visit_special *visit,
                                   void *context, struct err *err)
{
    struct special_walk walk = {visit, context};
    const struct json_t *extra = doc_member(files->config, extra_key);
    for (enum special_name i = 0; i < SPECIAL_NAMES; i++) {
        bool is_said;
        const struct json_t *value = tokenizer_files_special(files, special_keys[i], &is_said);
        const char *usual = is_said ? NULL : tokenizer_files_usual(files, i);
        if ((value != NULL || usual != NULL) &&
            visit(context, special_keys[i], value, value != NULL ? content_of(value) : usual, err))
            return err->code;
    }
    if (walk_additional(files, &walk, err) || walk_list(&walk, extra_key, extra, err))
        return err->code;
    return doc_each_member(doc_object_count(extra) > 0 ? extra : NULL, walk_member, &walk, err);
}

/* The search for a special token with this content. */
struct search {
    const char *content;
    bool is_found;
    bool said_only; /* only tokens in the files, not those of the class */
};

static enum err_code compare(void *context, const char *key, const struct json_t *json,
                             const char *content, struct err *err)
{
    struct search *search = context;
    (void)key, (void)err;
    if (content != NULL && !(search->said_only && json == NULL))
        search->is_found |= strcmp(content, search->content) == 0;
    return ERR_OK;
}

static bool is_special_name(const struct reader *reader, const char *content, bool said_only)
{
    struct search search = {.content = content, .said_only = said_only};
    struct err err = {0};
    walk_specials(reader->files, compare, &search, &err);
    return search.is_found;
}

/* ---- tokens whose id a file gives ---- */

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

/* True: the files listed the token before with the same flags. The reference then ignores it, even
 * if it was listed with other flags in between. */
static bool is_said(const struct reader *reader, const struct added_token *token)
{
    for (size_t i = 0; i < reader->said_count; i++) {
        const struct added_token *said = &reader->said[i];
        if (said->single_word == token->single_word && said->lstrip == token->lstrip &&
            said->rstrip == token->rstrip && said->normalized == token->normalized &&
            said->is_special == token->is_special && strcmp(said->content, token->content) == 0)
            return true;
    }
    return false;
}

static enum err_code say(struct reader *reader, struct added_token *token, struct err *err)
{
    token->len = strlen(token->content);
    if (is_said(reader, token))
        return ERR_OK;
    reader->said[reader->said_count++] = *token;
    reader->others +=
        !added_tokens_has(reader->added, token->id) &&
        text_model_find(reader->model, reader->pieces, token->content, token->len) == VOCAB_NONE;
    return added_tokens_add(reader->added, token, err);
}

/* An entry of a file; entries are sorted by id. */
struct entry {
    double id;
    const char *content; /* only for added_tokens.json */
    const struct json_t *token;
};

/* True if a piece with another text has the id. A slow tokenizer other than Marian's and Pegasus's
 * then loses the piece. */
static bool hides_piece(const struct reader *reader, const struct added_token *token)
{
    const struct piece_list *pieces = reader->pieces;
    const enum piece_class class = reader->files->class->pieces;
    bool hides = false;
    if (!reader->is_slow || class == PIECES_MARIAN || class == PIECES_PEGASUS ||
        (unsigned)token->id >= pieces->vocab_size ||
        vocab_find(&pieces->names, token->content, strlen(token->content)) == token->id)
        return false;
    for (size_t i = 0; i < pieces->count; i++)
        hides |= pieces->items[i].id == token->id;
    return hides;
}

/* Adds a token with an id, which must be the one that the reference gives it. */
static enum err_code add_listed(struct reader *reader, struct added_token *token, double number,
                                struct err *err)
{
    if (token->content == NULL || token->content[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "added token %.0f has no content", number);
    if (strlen(token->content) > VOCAB_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "an added token is longer than %d bytes",
                       VOCAB_PIECE_BYTES_MAX);
    token->id = reader->is_slow ? (int32_t)number : id_of(reader, token->content);
    if (number != token->id)
        return err_set(err, ERR_UNSUPPORTED, "added token '%s' has the id %.0f instead of %d",
                       token->content, number, (int)token->id);
    if (hides_piece(reader, token))
        return err_set(err, ERR_UNSUPPORTED, "added token '%s' has the id %d of another piece",
                       token->content, (int)token->id);
    return say(reader, token, err);
}

/* Adds an entry of added_tokens_decoder. */
static enum err_code add_decoded(struct reader *reader, const struct entry *decoded,
                                 struct err *err)
{
    struct added_token token = {0};
    if (doc_get_string(decoded->token, "added token", "content", &token.content, err) ||
        read_flags(&token, decoded->token, err))
        return err->code;
    if (reader->is_slow) {
        if (token.single_word)
            return err_set(err, ERR_UNSUPPORTED, "added token: single_word is not supported");
        token.normalized = token.is_special = false; /* until it is named */
    } else if (token.content != NULL && !is_said(reader, &token))
        token.is_special |= is_special_name(reader, token.content, false);
    return add_listed(reader, &token, decoded->id, err);
}

static enum err_code add_from_tokenizer(struct reader *reader, const struct json_t *list,
                                        struct err *err)
{
    static const char *const known[] = {"id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL};
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const struct json_t *json = doc_array_item(list, i);
        struct added_token token = {0};
        double id = -1;
        if (members_check(json, "$.added_tokens[]", known, err) ||
            doc_get_number(json, "$.added_tokens[]", "id", &id, err) ||
            doc_get_string(json, "added token", "content", &token.content, err) ||
            read_flags(&token, json, err) || add_listed(reader, &token, id, err))
            return err->code;
    }
    return ERR_OK;
}

struct entries {
    struct entry *items;
    size_t count;
};

static enum err_code take_decoder_entry(void *context, const char *key, const struct json_t *value,
                                        struct err *err)
{
    struct entries *entries = context;
    char *end;
    double id = strtod(key, &end);
    if (*end != '\0' || end == key || !(id >= 0 && id <= PIECE_ID_MAX) || id != floor(id))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.added_tokens_decoder: a name is not an id from 0 to %d", PIECE_ID_MAX);
    entries->items[entries->count++] = (struct entry){id, NULL, value};
    return ERR_OK;
}

static enum err_code take_encoder_entry(void *context, const char *key, const struct json_t *value,
                                        struct err *err)
{
    struct entries *entries = context;
    double id = -1;
    if (!doc_as_number(value, &id) || !(id >= 0 && id <= PIECE_ID_MAX))
        return err_set(err, ERR_UNSUPPORTED, "$: the id of a token is not from 0 to %d",
                       PIECE_ID_MAX);
    entries->items[entries->count++] = (struct entry){id, key, NULL};
    return ERR_OK;
}

static int compare_entries(const void *a, const void *b)
{
    double left = ((const struct entry *)a)->id, right = ((const struct entry *)b)->id;
    return (left > right) - (left < right);
}

/* Adds an entry of added_tokens.json. It has no flags: they depend only on whether the token is
 * special. A token of tokenizer.json with the same id wins. */
static enum err_code add_plain(struct reader *reader, const struct entry *entry, struct err *err)
{
    struct added_token token = {.content = entry->content};
    token.normalized = !reader->is_slow && !is_special_name(reader, entry->content, true);
    token.is_special = is_special_name(reader, entry->content, false);
    return added_tokens_has(reader->added, (int32_t)entry->id)
               ? ERR_OK
               : add_listed(reader, &token, entry->id, err);
}

static enum err_code add_entries(struct reader *reader, const struct json_t *json,
                                 enum err_code (*take)(void *, const char *, const struct json_t *,
                                                       struct err *),
                                 struct err *err)
{
    size_t bytes = doc_object_count(json) * sizeof(struct entry);
    struct entries entries = {.items = arena_alloc(reader->arena, bytes)};
    if (entries.items == NULL)
        return err_no_memory(err, bytes);
    if (doc_each_member(json, take, &entries, err))
        return err->code;
    qsort(entries.items, entries.count, sizeof *entries.items, compare_entries);
    for (size_t i = 0; i < entries.count; i++) {
        const struct entry *entry = &entries.items[i];
        if (entry->token != NULL ? add_decoded(reader, entry, err) : add_plain(reader, entry, err))
            return err->code;
    }
    return ERR_OK;
}

/* ---- tokens by name ---- */

struct listed {
    const char *content;
    bool is_found;
};

static enum err_code compare_listed(void *context, const char *key, const struct json_t *value,
                                    struct err *err)
{
    struct listed *listed = context;
    const char *content = content_of(value);
    (void)key, (void)err;
    listed->is_found |= content != NULL && strcmp(content, listed->content) == 0;
    return ERR_OK;
}

/* True if added_tokens_decoder lists the token. Without that member, tokenizer.json's list is
 * searched. The flags of the entry found there count. */
static bool is_listed(const struct reader *reader, const char *content)
{
    const struct json_t *decoder = doc_member(reader->files->config, "added_tokens_decoder");
    const struct json_t *list = doc_member(reader->files->root, "added_tokens");
    struct listed listed = {.content = content};
    struct err err = {0};
    doc_each_member(decoder, compare_listed, &listed, &err);
    for (size_t i = 0; i < doc_array_count(list) && decoder == NULL; i++)
        compare_listed(&listed, NULL, doc_array_item(list, i), &err);
    return listed.is_found;
}

/* True: the entry changes nothing. The first name of a token counts. A token that is already added
 * changes only if the entry has flags of its own or of the class. */
static bool says_nothing(const struct reader *reader, const char *key, const struct json_t *json,
                         const char *content)
{
    const struct tokenizer_class *class = reader->files->class;
    bool is_single = key != additional_key && key != extra_key;
    struct added_token *known = added_tokens_entry(reader->added, content, strlen(content));
    if (known == NULL)
        return content[0] == '\0';
    bool has_flags = doc_member(json, "content") != NULL ||
                     (is_single && class->names_have_flags) ||
                     (key == special_keys[MASK] && class->mask_takes_space);
    bool is_settled = known->is_named || (is_single && json != NULL && is_listed(reader, content));
    known->is_named = true;
    return is_settled || !has_flags;
}

static enum err_code add_special(void *context, const char *key, const struct json_t *json,
                                 const char *content, struct err *err)
{
    struct reader *reader = context;
    const struct tokenizer_files *files = reader->files;
    if (content == NULL || strlen(content) > VOCAB_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected a string of at most %d bytes", key,
                       VOCAB_PIECE_BYTES_MAX);
    struct added_token *known = added_tokens_entry(reader->added, content, strlen(content));
    const bool is_single = key != additional_key && key != extra_key;
    if (reader->is_slow && known != NULL) {
        known->is_special = true;
        known->is_named |= is_single;
        return ERR_OK;
    }
    if (says_nothing(reader, key, json, content))
        return ERR_OK;
    struct added_token token = {.content = content, .is_named = is_single || !reader->is_slow};
    if (doc_member(json, "content") != NULL ? read_flags(&token, json, err) : ERR_OK)
        return err->code;
    if (doc_member(json, "content") == NULL && key == special_keys[MASK])
        token.lstrip = files->class->mask_takes_space;
    /* A slow tokenizer of older files copies the flags of tokenizer_config.json before it makes the
     * token special: then the token is matched in the normalised text. */
    if (reader->is_slow)
        token.normalized = false;
    else if (files->older == OLDER_NONE || doc_member(json, "__type") == NULL)
        token.normalized &= doc_member(json, "normalized") != NULL;
    token.normalized |= key == special_keys[MASK] && doc_member(json, "content") == NULL &&
                        files->class->mask_is_normalized;
    token.is_special = true;
    token.is_usual = json == NULL && known_id(reader, content) == VOCAB_NONE;
    token.id = id_of(reader, content);
    return say(reader, &token, err);
}

/* Checks that cls_token and sep_token exist: the frame of older files needs both. A slow tokenizer
 * needs eos_token and unk_token. */
static enum err_code check_frame(const struct reader *reader, struct err *err)
{
    static const enum special_name frame[] = {CLS, SEP}, slow[] = {EOS, UNK};
    const enum special_name *needed = reader->is_slow ? slow : frame;
    for (size_t i = 0; i < 2 && reader->files->older != OLDER_NONE; i++) {
        const char *content = tokenizer_files_content(reader->files, needed[i]);
        bool is_said;
        if (content == NULL &&
            tokenizer_files_special(reader->files, special_keys[needed[i]], &is_said) != NULL)
            continue; /* add_special refuses it */
        if (content == NULL || known_id(reader, content) == VOCAB_NONE)
            return err_set(err, ERR_UNSUPPORTED, "%s: the vocabulary has no %s '%.60s'",
                           tokenizer_files_name(reader->files), special_keys[needed[i]],
                           content != NULL ? content : "");
    }
    return ERR_OK;
}

/* ---- tokens of slow classes ---- */

enum { EXTRA_IDS = 100, OFFSET = 103, OFFSET_MIN = 2, UNSHIFTED = 2 };

/* T5: the number of <extra_id_N>, which the special tokens that are listed must agree with. */
static enum err_code count_extra(long long *out, const struct tokenizer_files *files,
                                 struct err *err)
{
    bool is_said;
    const struct json_t *list = tokenizer_files_special(files, additional_key, &is_said);
    long long listed = 0;
    *out = EXTRA_IDS;
    if (doc_get_integer(files->config, "$", "extra_ids", 0, ADDED_MAX, out, err))
        return err->code;
    for (size_t i = 0; i < doc_array_count(list); i++) {
        const char *content = content_of(doc_array_item(list, i));
        listed += content != NULL && strstr(content, "<extra_id_") != NULL;
    }
    if (list != NULL ? listed == *out : *out <= EXTRA_IDS)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.extra_ids: %lld, but $.additional_special_tokens lists %lld of <extra_id_0> "
                   "and so on",
                   *out, listed);
}

/* Adds a token of the class. T5: a file's token with the id wins; Pegasus: there must be none. */
static enum err_code add_numbered(struct reader *reader, const char *content, long long id,
                                  struct err *err)
{
    const bool is_t5 = reader->files->class->pieces == PIECES_T5;
    struct added_token token = {
        .content = content, .lstrip = is_t5, .rstrip = is_t5, .is_special = !is_t5};
    if (content == NULL)
        return err_no_memory(err, sizeof token);
    token.id = (int32_t)id;
    struct added_token *known = added_tokens_entry(reader->added, content, strlen(content));
    if (!added_tokens_has(reader->added, token.id))
        return say(reader, &token, err);
    if (is_t5)
        return ERR_OK;
    if (known == NULL || known->id != token.id)
        return err_set(err, ERR_UNSUPPORTED, "added token %d must be '%s'", (int)id, content);
    known->is_special = true;
    return ERR_OK;
}

static enum err_code add_of_t5(struct reader *reader, struct err *err)
{
    long long count = 0;
    const unsigned pieces = reader->model->pieces;
    if (count_extra(&count, reader->files, err))
        return err->code;
    for (long long i = 0; i < count; i++)
        if (add_numbered(reader, arena_format(reader->arena, "<extra_id_%lld>", i),
                         pieces + count - 1 - i, err))
            return err->code;
    return ERR_OK;
}

enum err_code added_offset(long long *out, const struct tokenizer_files *files, struct err *err)
{
    *out = files->class->pieces == PIECES_PEGASUS ? OFFSET : 0;
    if (*out == 0)
        return ERR_OK;
    return doc_get_integer(files->config, "$", "offset", OFFSET_MIN, ADDED_MAX, out, err);
}

/* The padding, the end, two masks, then <unk_2> to <unk_102>. */
static enum err_code add_of_pegasus(struct reader *reader, struct err *err)
{
    static const enum special_name named[] = {PAD, EOS};
    const struct json_t *config = reader->files->config;
    const char *sentence = "<mask_1>", *mask = tokenizer_files_content(reader->files, MASK);
    long long offset, id = 0;
    if (added_offset(&offset, reader->files, err) ||
        doc_get_string(config, "$", "mask_token_sent", &sentence, err))
        return err->code;
    if (doc_has_null(config, "mask_token_sent") || mask == NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: null is not supported",
                       mask == NULL ? special_keys[MASK] : "mask_token_sent");
    for (; id < UNSHIFTED; id++) {
        const char *content = tokenizer_files_content(reader->files, named[id]);
        if (content == NULL)
            return err_set(err, ERR_UNSUPPORTED, "$.%s: null is not supported",
                           special_keys[named[id]]);
        if (add_numbered(reader, content, id, err))
            return err->code;
    }
    if (add_numbered(reader, sentence, id++, err) || add_numbered(reader, mask, id++, err))
        return err->code;
    for (long long i = UNSHIFTED; i < offset; i++)
        if (add_numbered(reader, arena_format(reader->arena, "<unk_%lld>", i), id++, err))
            return err->code;
    return ERR_OK;
}

/* T5's fast tokenizer has no tokens of its own, but the same rule for their number. */
static enum err_code add_of_class(struct reader *reader, struct err *err)
{
    const enum piece_class class = reader->files->class->pieces;
    long long count;
    if (class == PIECES_T5)
        return reader->is_slow ? add_of_t5(reader, err) : count_extra(&count, reader->files, err);
    return reader->is_slow && class == PIECES_PEGASUS ? add_of_pegasus(reader, err) : ERR_OK;
}

static size_t count_all(const struct tokenizer_files *files)
{
    const struct json_t *extra = doc_member(files->config, extra_key);
    size_t usual = 0;
    for (const char *const *name = files->class->additional; name != NULL && *name != NULL; name++)
        usual++;
    return SPECIAL_NAMES + usual + doc_array_count(doc_member(files->root, "added_tokens")) +
           doc_object_count(doc_member(files->config, "added_tokens_decoder")) +
           doc_object_count(files->added) +
           doc_array_count(doc_member(files->config, additional_key)) +
           doc_array_count(doc_member(files->special_map, additional_key)) +
           doc_array_count(extra) + doc_object_count(extra);
}

enum err_code added_read(struct added_tokens *out, const struct tokenizer_files *files,
                         const struct text_model *model, const struct piece_list *pieces,
                         struct arena *arena, struct err *err)
{
    struct reader reader = {.added = out,
                            .files = files,
                            .model = model,
                            .pieces = pieces,
                            .arena = arena,
                            .is_slow = files->older == OLDER_PIECES};
    long long offset = 0;
    if (added_offset(&offset, files, err))
        return err_prefix(err, "%s: ", config_name);
    size_t count = count_all(files) + (size_t)offset + UNSHIFTED;
    if (count > ADDED_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu added tokens; at most %d are supported", count,
                       ADDED_MAX);
    reader.said = arena_alloc(arena, count * sizeof *reader.said);
    if (reader.said == NULL)
        return err_no_memory(err, count * sizeof *reader.said);
    if (added_tokens_init(out, count, arena, err))
        return err->code;
    if (add_from_tokenizer(&reader, doc_member(files->root, "added_tokens"), err))
        return err_prefix(err, "%s: ", tokenizer_files_name(files));
    if (add_entries(&reader, doc_member(files->config, "added_tokens_decoder"), take_decoder_entry,
                    err))
        return err_prefix(err, "%s: ", config_name);
    if (add_entries(&reader, files->added, take_encoder_entry, err))
        return err_prefix(err, "added_tokens.json: ");
    if (add_of_class(&reader, err))
        return err_prefix(err, "%s: ", config_name);
    if (check_frame(&reader, err))
        return err->code;
    if (walk_specials(files, add_special, &reader, err))
        return err_prefix(
            err, "%s: ", files->special_map != NULL ? "special_tokens_map.json" : config_name);
    out->raw.is_python = reader.is_slow;
    return ERR_OK;
}
