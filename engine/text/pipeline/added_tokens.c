/* added_tokens.c - see added_tokens.h. A token that is added twice, with different flags, behaves
 * as in the reference. For a special token, the first entry decides in which text it is searched
 * for, and the last one what a match does with the white space beside it. */
#include "engine/text/pipeline/added_tokens.h"

#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"

#include <string.h>

enum err_code added_tokens_init(struct added_tokens *added, size_t room, struct arena *arena,
                                struct err *err)
{
    *added = (struct added_tokens){.room = room, .arena = arena, .keep_words = true};
    added->entries = arena_alloc_array(arena, room, sizeof *added->entries);
    added->sought = arena_alloc_array(arena, room, sizeof *added->sought);
    if (added->entries == NULL || added->sought == NULL)
        return err_no_memory(err, room * sizeof *added->entries);
    return vocab_init(&added->raw.contents, room, arena, err) ||
                   vocab_init(&added->normalized.contents, room, arena, err)
               ? err->code
               : ERR_OK;
}

static bool is_same(const struct added_token *a, const char *content, size_t len)
{
    return a->len == len && memcmp(a->content, content, len) == 0;
}

struct added_token *added_tokens_entry(const struct added_tokens *added, const char *content,
                                       size_t len)
{
    for (size_t i = 0; i < added->count; i++)
        if (is_same(&added->entries[i], content, len))
            return &added->entries[i];
    return NULL;
}

int32_t added_tokens_find(const struct added_tokens *added, const char *content, size_t len)
{
    const struct added_token *entry = added_tokens_entry(added, content, len);
    return entry != NULL ? entry->id : VOCAB_NONE;
}

static struct added_token *find_id(const struct added_tokens *added, int32_t id)
{
    for (size_t i = 0; i < added->count; i++)
        if (added->entries[i].id == id)
            return &added->entries[i];
    return NULL;
}

bool added_tokens_has(const struct added_tokens *added, int32_t id)
{
    return find_id(added, id) != NULL;
}

enum err_code added_tokens_add(struct added_tokens *added, const struct added_token *token,
                               struct err *err)
{
    struct added_token *entry = find_id(added, token->id);
    if (entry == NULL) {
        if (added->count == added->room)
            return err_set(err, ERR_INTERNAL, "more added tokens than announced");
        entry = &added->entries[added->count++];
    }
    bool was_special = false;
    for (size_t i = 0; i < added->sought_count && !was_special; i++)
        was_special =
            added->sought[i]->is_special && is_same(added->sought[i], token->content, token->len);
    *entry = *token;
    entry->content = arena_copy(added->arena, token->content, token->len);
    if (entry->content == NULL)
        return err_no_memory(err, token->len);
    if ((unsigned)token->id >= added->vocab_size)
        added->vocab_size = (unsigned)token->id + 1;
    if (was_special || added->sought_count == added->room)
        return ERR_OK;
    struct added_token *sought = arena_alloc(added->arena, sizeof *sought);
    if (sought == NULL)
        return err_no_memory(err, sizeof *sought);
    *sought = *entry;
    added->sought[added->sought_count++] = sought;
    return ERR_OK;
}

/* ---- sets ---- */

/* False if a match can contain a letter or digit with a space behind it, or depends on the text
 * after it. */
static bool keeps_words(const struct added_token *token, const char *content, size_t len)
{
    if (token->rstrip || token->single_word)
        return false;
    for (size_t i = 0; i + 1 < len; i++)
        if (content[i + 1] == ' ' && (unsigned char)content[i] < 0x80 &&
            character_is_word((unsigned char)content[i]))
            return false;
    return true;
}

/* Adds a token to a set. Of two with the same content the first counts. */
static enum err_code set_add(struct added_tokens *added, struct added_set *set,
                             const struct added_token *token, const char *content, size_t len,
                             struct err *err)
{
    if (len == 0 || vocab_find(&set->contents, content, len) != VOCAB_NONE)
        return ERR_OK;
    set->items[set->count] = find_id(added, token->id);
    return vocab_add(&set->contents, content, len, (int32_t)set->count++, err);
}

static enum err_code add_normalized(struct added_tokens *added,
                                    const struct normalizer_steps *steps,
                                    const struct added_token *token, struct err *err)
{
    const struct normalizer_work work = {NULL, NULL, true, true, VOCAB_PIECE_BYTES_MAX};
    struct arena pair[2];
    struct aligned text;
    const char *content = NULL;
    arena_init(&pair[0]);
    arena_init(&pair[1]);
    if (!aligned_of_text(&text, token->content, token->len, 0, &pair[0], err) &&
        !normalizer_steps_apply(steps, &text, pair, &work, err)) {
        content = arena_copy(added->arena, text.bytes, text.len);
        if (content == NULL)
            err_no_memory(err, text.len);
    }
    arena_deinit(&pair[0]);
    arena_deinit(&pair[1]);
    if (content == NULL)
        return err->code;
    added->keep_words &= keeps_words(token, content, text.len);
    return set_add(added, &added->normalized, token, content, text.len, err);
}

/* Adds all tokens to the sets, special tokens first. */
static enum err_code add_all(struct added_tokens *added, const struct normalizer_steps *steps,
                             bool is_special, struct err *err)
{
    for (size_t i = 0; i < added->sought_count; i++) {
        const struct added_token *token = added->sought[i];
        if (token->is_special != is_special)
            continue;
        if (token->normalized ? add_normalized(added, steps, token, err)
                              : set_add(added, &added->raw, token, token->content, token->len, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code added_tokens_build(struct added_tokens *added, const struct normalizer_steps *steps,
                                 struct err *err)
{
    size_t bytes = added->room * sizeof *added->raw.items;
    added->raw.items = arena_alloc(added->arena, bytes);
    added->normalized.items = arena_alloc(added->arena, bytes);
    if (added->raw.items == NULL || added->normalized.items == NULL)
        return err_no_memory(err, bytes);
    return add_all(added, steps, true, err) || add_all(added, steps, false, err) ? err->code
                                                                                 : ERR_OK;
}

/* A content whose number is VOCAB_NONE never matches. */
void added_tokens_fit(struct added_tokens *added, unsigned rows)
{
    struct err err = {0};
    added->vocab_size = 0;
    for (size_t i = 0; i < added->count; i++) {
        const struct added_token *token = &added->entries[i];
        if (token->is_usual && (unsigned)token->id >= rows)
            vocab_add(&added->raw.contents, token->content, token->len, VOCAB_NONE, &err);
        else if ((unsigned)token->id >= added->vocab_size)
            added->vocab_size = (unsigned)token->id + 1;
    }
}

/* ---- matches ---- */

void added_cursor_init(struct added_cursor *cursor, const struct added_set *set, const char *text,
                       size_t len)
{
    *cursor = (struct added_cursor){.set = set, .text = text, .len = len};
}

static bool is_single_word(const struct added_cursor *cursor, size_t at, size_t end)
{
    const char *text = cursor->text;
    size_t left = at > 0 ? character_before(text, at) : 0, right = end;
    if (at > 0 && character_is_word(utf8_decode(text, &left)))
        return false;
    return end == cursor->len || !character_is_word(utf8_decode(text, &right));
}

static bool is_space(const struct added_cursor *cursor, uint32_t character)
{
    return cursor->set->is_python ? character_is_python_space(character)
                                  : character_is_space(character);
}

/* Returns the start of the white space that ends at `at`, but not before `floor`. */
static size_t strip_left(const struct added_cursor *cursor, size_t at, size_t floor)
{
    while (at > floor) {
        size_t last = character_before(cursor->text, at), next = last;
        if (!is_space(cursor, utf8_decode(cursor->text, &next)))
            break;
        at = last;
    }
    return at;
}

/* Returns the end of the white space at `at`; all up to `known` is white space. */
static size_t strip_right(const struct added_cursor *cursor, size_t at, size_t known)
{
    at = at > known ? at : known;
    for (size_t next = at; at < cursor->len; at = next)
        if (!is_space(cursor, utf8_decode(cursor->text, &next)))
            break;
    return at;
}

/* Finds the next content in the text; returns its number. */
static int32_t seek(struct added_cursor *cursor, size_t *at, size_t *end)
{
    const struct vocab *contents = &cursor->set->contents;
    for (; cursor->at < cursor->len; cursor->at++) {
        size_t taken;
        if (contents->longest[(unsigned char)cursor->text[cursor->at]] == 0)
            continue;
        int32_t number =
            vocab_longest(contents, cursor->text + cursor->at, cursor->len - cursor->at, &taken);
        if (number == VOCAB_NONE)
            continue;
        *at = cursor->at;
        *end = cursor->at += taken;
        return number;
    }
    return VOCAB_NONE;
}

bool added_next(struct added_cursor *cursor, struct added_match *out)
{
    int32_t number;
    if (cursor->set->count == 0)
        return false;
    while ((number = seek(cursor, &out->at, &out->end)) != VOCAB_NONE) {
        const struct added_token *token = cursor->set->items[number];
        if (token->single_word && !is_single_word(cursor, out->at, out->end))
            continue;
        if (token->lstrip && out->at > cursor->taken)
            out->at = strip_left(cursor, out->at, cursor->taken);
        if (token->rstrip)
            out->end = strip_right(cursor, out->end, cursor->taken);
        cursor->taken = out->end;
        out->id = token->id;
        return true;
    }
    return false;
}
