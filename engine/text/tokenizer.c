/* tokenizer.c - see tokenizer.h.
 *
 * A kind of tokenizer makes the tokens of one text. This file cuts a text or a pair to the limit
 * and puts the tokens into the family's template. */
#include "engine/text/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/text/pipeline/steps.h"
#include "engine/text/token_list.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

/* ---- open and close ---- */

static int32_t special_at(const struct tokenizer_template *order, unsigned at)
{
    return order->items[at].source == TEMPLATE_SPECIAL ? order->items[at].id : VOCAB_NONE;
}

void tokenizer_fit(struct tokenizer *tokenizer, unsigned rows)
{
    struct steps *steps = tokenizer->steps;
    const struct tokenizer_template *single = &steps->post.single;
    steps_fit(steps, rows);
    tokenizer->vocab_size = steps->vocab_size;
    tokenizer->specials =
        (struct tokenizer_specials){special_at(single, 0), special_at(single, single->count - 1),
                                    steps->model.unknown, steps->pad, steps->mask};
}

/* Reads the files. A tokenizer lives in one arena, which it holds itself. */
static enum err_code read_files(struct tokenizer **out, const struct tokenizer_files *files,
                                unsigned tokens_max, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct tokenizer *tokenizer = arena_alloc(&arena, sizeof *tokenizer);
    struct steps *steps = arena_alloc(&arena, sizeof *steps);
    if (tokenizer == NULL || steps == NULL) {
        arena_deinit(&arena);
        return err_no_memory(err, sizeof *tokenizer + sizeof *steps);
    }
    *tokenizer = (struct tokenizer){.arena = arena, .steps = steps};
    if (steps_read(steps, files, &tokenizer->arena, err))
        goto out;
    tokenizer_fit(tokenizer, UINT_MAX);
    tokenizer->keeps_end = steps->keeps_end;
    tokenizer->ends_once = steps->post.ends_once;
    tokenizer->single = steps->post.single;
    tokenizer->pair = steps->post.pair;
    if (steps_limit(&tokenizer->limit, steps, tokens_max, err) ||
        (!steps->is_plain && text_pipeline_init(tokenizer, err)))
        err_prefix(err, "%s: ", tokenizer_files_name(files));
    else if (steps->is_plain)
        wordpiece_init(tokenizer);
out:
    if (err->code == ERR_OK)
        *out = tokenizer;
    else
        tokenizer_close(tokenizer);
    return err->code;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    struct arena arena = tokenizer->arena;
    arena_deinit(&arena);
}

static enum err_code open_files(struct tokenizer **out, const char *dir, unsigned tokens_max,
                                enum tokenizer_json_use use, struct err *err)
{
    struct tokenizer_files files;
    *out = NULL;
    if (!tokenizer_files_open(&files, dir, use, err))
        read_files(out, &files, tokens_max, err);
    tokenizer_files_close(&files);
    return err->code;
}

enum err_code tokenizer_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                             struct err *err)
{
    return open_files(out, dir, tokens_max, TOKENIZER_JSON_COUNTS, err);
}

enum err_code tokenizer_open_target(struct tokenizer **out, const char *dir, unsigned tokens_max,
                                    struct err *err)
{
    return open_files(out, dir, tokens_max, TOKENIZER_OF_TARGET, err);
}

/* ---- templates ---- */

static unsigned count_specials(const struct tokenizer_template *order)
{
    unsigned count = 0;
    for (unsigned i = 0; i < order->count; i++)
        count += order->items[i].source == TEMPLATE_SPECIAL ||
                 order->items[i].source == TEMPLATE_LANGUAGE;
    return count;
}

/* Most tokens that a text can have, at most `limit`. */
static unsigned room_for(const struct tokenizer *tokenizer, const char *text, size_t len,
                         unsigned limit)
{
    size_t most = tokenizer->kind->tokens_max(tokenizer, text, len);
    return most < limit ? (unsigned)most : limit;
}

static struct encoding encoding_of(const struct token_list *list, bool truncated)
{
    return (struct encoding){.count = list->count,
                             .truncated = truncated,
                             .ids = list->ids,
                             .starts = list->starts,
                             .ends = list->ends,
                             .continued = list->continued};
}

static enum err_code check_len(size_t len, struct err *err)
{
    if (len < UINT32_MAX)
        return ERR_OK;
    return err_set(err, ERR_TOO_LARGE, "a text of %zu bytes; the limit is %u", len, UINT32_MAX - 1);
}

/* ---- one text ---- */

/* Returns the id of a template's token, with the language; VOCAB_NONE: there is none. */
static int32_t template_id(const struct template_item *item, int32_t language)
{
    return item->source == TEMPLATE_LANGUAGE && language != VOCAB_NONE ? language : item->id;
}

/* The text is known to be UTF-8. */
static enum err_code encode_one(const struct tokenizer *tokenizer, int32_t language, unsigned limit,
                                const char *text, size_t len, struct interrupt *interrupt,
                                struct arena *arena, struct encoding *out, struct err *err)
{
    const struct tokenizer_template *order = &tokenizer->single;
    struct token_list list;
    bool truncated = false;
    unsigned specials = 0;
    if (check_len(len, err))
        return err->code;
    limit = limit != 0 ? limit : tokenizer->limit;
    for (unsigned i = 0; i < order->count; i++)
        specials += order->items[i].source != TEMPLATE_TEXT &&
                    template_id(&order->items[i], language) != VOCAB_NONE;
    if (limit <= specials)
        return err_set(err, ERR_UNSUPPORTED, "a limit of %u tokens; at least %u are needed", limit,
                       specials + 1);
    unsigned room = room_for(tokenizer, text, len, limit - specials);
    if (token_list_init(&list, room + specials, false, arena, err))
        return err->code;
    for (unsigned i = 0; i < order->count; i++) {
        const int32_t id = template_id(&order->items[i], language);
        if (order->items[i].source != TEMPLATE_TEXT) {
            const bool is_there =
                tokenizer->ends_once && list.count > 0 && list.ids[list.count - 1] == id;
            if (id != VOCAB_NONE && !is_there)
                token_list_append(&list, (struct token){.id = id});
            continue;
        }
        struct token_list part = token_list_rest(&list, room, tokenizer->keeps_end);
        if (tokenizer->kind->encode(tokenizer, text, len, interrupt, arena, &part, err))
            return err->code;
        token_list_finish(&part);
        list.count += part.count;
        truncated = part.total > part.count;
    }
    *out = encoding_of(&list, truncated);
    return ERR_OK;
}

enum err_code tokenizer_encode_utf8(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, struct interrupt *interrupt,
                                    struct arena *arena, struct encoding *out, struct err *err)
{
    return encode_one(tokenizer, VOCAB_NONE, limit, text, len, interrupt, arena, out, err);
}

enum err_code tokenizer_encode_language(const struct tokenizer *tokenizer, int32_t language,
                                        unsigned limit, const char *text, size_t len,
                                        struct interrupt *interrupt, struct arena *arena,
                                        struct encoding *out, struct err *err)
{
    if (len < UINT32_MAX && err_check_utf8(err, text, len, "the text"))
        return err->code;
    return encode_one(tokenizer, language, limit, text, len, interrupt, arena, out, err);
}

enum err_code tokenizer_encode(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                               size_t len, struct interrupt *interrupt, struct arena *arena,
                               struct encoding *out, struct err *err)
{
    return tokenizer_encode_language(tokenizer, VOCAB_NONE, limit, text, len, interrupt, arena, out,
                                     err);
}

bool tokenizer_has_token(const struct encoding *encoding)
{
    for (unsigned t = 0; t < encoding->count; t++)
        if (encoding->ends[t] > 0)
            return true;
    return false;
}

/* ---- two texts ---- */

struct side {
    const char *text;
    size_t len;
    struct token_list list;
};

/* Arguments that are the same for both texts of a pair. */
struct pair_work {
    const struct tokenizer *tokenizer;
    struct interrupt *interrupt;
    struct arena *arena;
};

static enum err_code encode_side(const struct pair_work *work, struct side *side, unsigned room,
                                 struct err *err)
{
    room = room_for(work->tokenizer, side->text, side->len, room);
    if (token_list_init(&side->list, room, work->tokenizer->keeps_end, work->arena, err) ||
        work->tokenizer->kind->encode(work->tokenizer, side->text, side->len, work->interrupt,
                                      work->arena, &side->list, err))
        return err->code;
    token_list_finish(&side->list);
    return ERR_OK;
}

/* Counts the tokens of a side, up to `enough`. */
static size_t count_side(const struct pair_work *work, const struct side *side, size_t enough,
                         struct err *err)
{
    struct token_list list = {.enough = enough};
    work->tokenizer->kind->encode(work->tokenizer, side->text, side->len, work->interrupt,
                                  work->arena, &list, err);
    return list.total;
}

/* Tokens that stay of two texts in `room`, cut as the reference does. The shorter one stays whole
 * if it has at most half of them. Otherwise each gets a half, and the longer one the odd token. */
static void share_room(const size_t counts[2], unsigned room, unsigned kept[2])
{
    const unsigned shorter = counts[0] > counts[1], longer = 1 - shorter;
    const bool fits = counts[0] + counts[1] <= room;
    const bool is_whole = fits || counts[shorter] <= room / 2;
    kept[shorter] = is_whole ? (unsigned)counts[shorter] : room / 2;
    kept[longer] = fits ? (unsigned)counts[longer] : room - kept[shorter];
}

/* Cuts the sides to `room` tokens together. The encoding tells which is longer, unless both are
 * longer than the room. */
static enum err_code cut_sides(const struct pair_work *work, struct side *sides, unsigned room,
                               struct err *err)
{
    size_t counts[2] = {sides[0].list.total, sides[1].list.total};
    unsigned kept[2];
    if (counts[0] > room && counts[1] > room && room % 2 == 1) {
        counts[0] = count_side(work, &sides[0], SIZE_MAX, err);
        counts[1] = err->code == ERR_OK ? count_side(work, &sides[1], counts[0], err) : 0;
    }
    share_room(counts, room, kept);
    token_list_cut(&sides[0].list, kept[0]);
    token_list_cut(&sides[1].list, kept[1]);
    return err->code;
}

/* Writes both sides in the order of the template. Types are written only if one is not 0. */
static enum err_code lay_out(const struct tokenizer_template *order, const struct side *sides,
                             unsigned room, struct arena *arena, struct encoding *out,
                             struct err *err)
{
    struct token_list list;
    if (token_list_init(&list, room, false, arena, err))
        return err->code;
    uint8_t *types = arena_alloc_array(arena, room, sizeof *types);
    if (types == NULL)
        return err_no_memory(err, room);
    bool has_types = false;
    unsigned pair_at = 0;
    for (unsigned i = 0; i < order->count; i++) {
        const struct template_item *item = &order->items[i];
        const struct token_list *part = &sides[item->source == TEMPLATE_PAIR].list;
        unsigned count = item->source == TEMPLATE_SPECIAL ? 1 : part->count;
        pair_at = item->source == TEMPLATE_PAIR ? list.count : pair_at;
        memset(types + list.count, item->type, count);
        has_types |= item->type != 0 && count > 0;
        for (unsigned k = 0; k < count; k++)
            token_list_append(&list, item->source == TEMPLATE_SPECIAL
                                         ? (struct token){.id = item->id}
                                         : (struct token){part->ids[k], part->starts[k],
                                                          part->ends[k], part->continued[k]});
    }
    *out = encoding_of(&list, sides[0].list.total > sides[0].list.count ||
                                  sides[1].list.total > sides[1].list.count);
    out->types = has_types ? types : NULL;
    out->pair_at = pair_at;
    return ERR_OK;
}

/* *limit: 0 becomes the tokenizer's. */
static enum err_code check_pair_limit(const struct tokenizer *tokenizer, unsigned *limit,
                                      struct err *err)
{
    const unsigned least = count_specials(&tokenizer->pair) + 2;
    *limit = *limit != 0 ? *limit : tokenizer->limit;
    if (tokenizer->pair.count == 0)
        return err_set(err, ERR_UNSUPPORTED, "the tokenizer takes one text, not a pair");
    if (*limit < least)
        return err_set(err, ERR_UNSUPPORTED, "a limit of %u tokens; a pair needs at least %u",
                       *limit, least);
    return ERR_OK;
}

enum err_code tokenizer_encode_pair(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, const char *pair, size_t pair_len,
                                    struct interrupt *interrupt, struct arena *arena,
                                    struct encoding *out, struct err *err)
{
    if (pair_len == 0)
        return tokenizer_encode_utf8(tokenizer, limit, text, len, interrupt, arena, out, err);
    const struct pair_work work = {tokenizer, interrupt, arena};
    struct side sides[2] = {{.text = text, .len = len}, {.text = pair, .len = pair_len}};
    if (check_pair_limit(tokenizer, &limit, err))
        return err->code;
    unsigned specials = count_specials(&tokenizer->pair), room = limit - specials;
    if (check_len(len, err) || check_len(pair_len, err) ||
        encode_side(&work, &sides[0], room, err) || encode_side(&work, &sides[1], room, err) ||
        cut_sides(&work, sides, room, err))
        return err->code;
    return lay_out(&tokenizer->pair, sides, sides[0].list.count + sides[1].list.count + specials,
                   arena, out, err);
}

unsigned tokenizer_pair_specials(const struct tokenizer *tokenizer)
{
    return count_specials(&tokenizer->pair);
}

enum err_code tokenizer_join_pair(const struct tokenizer *tokenizer, unsigned limit,
                                  const int32_t *const ids[2], const unsigned counts[2],
                                  struct arena *arena, struct encoding *out, struct err *err)
{
    const struct tokenizer_template *order = &tokenizer->pair;
    unsigned kept[2], room;
    if (check_pair_limit(tokenizer, &limit, err))
        return err->code;
    room = limit - count_specials(order);
    share_room((const size_t[]){counts[0], counts[1]}, room, kept);
    int32_t *all = arena_alloc_array(arena, limit, sizeof *all);
    uint8_t *types = arena_alloc_array(arena, limit, sizeof *types);
    if (all == NULL || types == NULL)
        return err_no_memory(err, limit * sizeof *all);
    *out = (struct encoding){.ids = all, .truncated = kept[0] + kept[1] < counts[0] + counts[1]};
    for (unsigned i = 0; i < order->count; i++) {
        const struct template_item *item = &order->items[i];
        const bool is_special = item->source == TEMPLATE_SPECIAL;
        const unsigned side = item->source == TEMPLATE_PAIR, count = is_special ? 1 : kept[side];
        const int32_t *from = is_special ? &item->id : ids[side];
        if (!is_special && tokenizer->keeps_end)
            from += counts[side] - count;
        if (side == 1)
            out->pair_at = out->count;
        memcpy(all + out->count, from, count * sizeof *all);
        memset(types + out->count, item->type, count);
        if (item->type != 0 && count > 0)
            out->types = types;
        out->count += count;
    }
    return ERR_OK;
}

/* ---- memory ---- */

enum { ARRAYS = 4, BYTES_PER_TOKEN = 3 * sizeof(int32_t) + sizeof(bool) };

static size_t list_bytes(size_t tokens)
{
    return tokens * BYTES_PER_TOKEN + ARRAYS * ARENA_ALIGNMENT;
}

unsigned tokenizer_tokens_max(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len)
{
    unsigned specials = count_specials(&tokenizer->single);
    limit = limit != 0 ? limit : tokenizer->limit;
    return room_for(tokenizer, text, len, limit - specials) + specials;
}

size_t tokenizer_encode_bytes(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len)
{
    return list_bytes(tokenizer_tokens_max(tokenizer, limit, text, len)) +
           tokenizer->kind->encode_bytes(tokenizer, text, len);
}

/* Counting encodes both sides again, in memory of its own. */
size_t tokenizer_encode_pair_bytes(const struct tokenizer *tokenizer, const char *text, size_t len,
                                   const char *pair, size_t pair_len)
{
    const struct tokenizer_kind *kind = tokenizer->kind;
    if (pair_len == 0)
        return tokenizer_encode_bytes(tokenizer, 0, text, len);
    unsigned first = room_for(tokenizer, text, len, tokenizer->limit);
    unsigned second = room_for(tokenizer, pair, pair_len, tokenizer->limit);
    return list_bytes(first) + list_bytes(second) + list_bytes(tokenizer->limit) +
           tokenizer->limit + ARENA_ALIGNMENT +
           2 * (kind->encode_bytes(tokenizer, text, len) +
                kind->encode_bytes(tokenizer, pair, pair_len));
}

size_t tokenizer_bytes(const struct tokenizer *tokenizer)
{
    return tokenizer->arena.bytes;
}

/* ---- strings of tokens ---- */

enum err_code tokenizer_piece_lengths(const struct tokenizer *tokenizer, const uint32_t **lengths,
                                      struct arena *arena, struct err *err)
{
    const struct text_model *model = &tokenizer->steps->model;
    *lengths = NULL;
    if (!model->has_prefix)
        return ERR_OK;
    if (model->kind != MODEL_WORDPIECE)
        return err_set(err, ERR_UNSUPPORTED,
                       "a %s with a continuing_subword_prefix is not supported for this task",
                       model->name);
    uint32_t *out = arena_alloc_array(arena, tokenizer->vocab_size, sizeof *out);
    if (out == NULL)
        return err_no_memory(err, tokenizer->vocab_size * sizeof *out);
    for (unsigned id = 0; id < tokenizer->vocab_size; id++) {
        const struct token_string *string = tokenizer_string(tokenizer, (int32_t)id);
        out[id] = string != NULL ? (uint32_t)utf8_count(string->text, string->len) : 0;
    }
    *lengths = out;
    return ERR_OK;
}

const struct token_string *tokenizer_string(const struct tokenizer *tokenizer, int32_t id)
{
    const struct steps *steps = tokenizer->steps;
    const bool is_there = id >= 0 && (unsigned)id < tokenizer->vocab_size &&
                          (unsigned)id < steps->string_count && steps->strings[id].text != NULL;
    return is_there ? &steps->strings[id] : NULL;
}

int32_t tokenizer_find(const struct tokenizer *tokenizer, const char *string, size_t len)
{
    const struct text_model *model = &tokenizer->steps->model;
    const int32_t added = added_tokens_find(&tokenizer->steps->added, string, len);
    char bytes[VOCAB_PIECE_BYTES_MAX];
    size_t used = 0;
    if (added != VOCAB_NONE || len == 0 || len > sizeof bytes)
        return added;
    if (model->file != NULL)
        return vocab_find(&model->tokens, string, len);
    if (model->kind == MODEL_UNIGRAM)
        return unigram_find(model->unigram, string, len);
    if (model->kind == MODEL_WORDPIECE)
        return vocab_find(&model->initial, string, len);
    if (!tokenizer->steps->pretokenizer.is_byte_level)
        return vocab_find(bpe_vocabulary(model->bpe), string, len);
    for (size_t at = 0; at < len;) {
        const int byte = decoder_byte(utf8_decode(string, &at));
        if (byte < 0)
            return VOCAB_NONE;
        bytes[used++] = (char)byte;
    }
    return vocab_find(bpe_vocabulary(model->bpe), bytes, used);
}

const struct tokenizer_language *tokenizer_languages(const struct tokenizer *tokenizer,
                                                     unsigned *count)
{
    *count = tokenizer->steps->language_count;
    return tokenizer->steps->languages;
}

/* True for "de", "DE" and "de_DE": the same language by its letters before the region. */
static bool is_same_language(const char *a, const char *b)
{
    const size_t len = strcspn(a, "_-");
    return len == strcspn(b, "_-") && strncasecmp(a, b, len) == 0;
}

enum err_code tokenizer_find_language(const struct tokenizer *tokenizer, const char *name,
                                      const char *code, int32_t *out, struct err *err)
{
    const char *near = NULL;
    unsigned count = 0;
    const struct tokenizer_language *languages =
        tokenizer != NULL ? tokenizer_languages(tokenizer, &count) : NULL;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(languages[i].code, code) == 0) {
            *out = languages[i].id;
            return ERR_OK;
        }
        if (near == NULL && is_same_language(languages[i].code, code))
            near = languages[i].code;
    }
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "%s: the model has no languages to choose from", name);
    return err_set(err, ERR_UNUSABLE,
                   "%s: the model does not have this one; %s%s%sGET /models and attnd-inspect list "
                   "its %u",
                   name, near != NULL ? "did you mean \"" : "", near != NULL ? near : "",
                   near != NULL ? "\"? " : "", count);
}

const struct decoder *tokenizer_decoder(const struct tokenizer *tokenizer)
{
    return &tokenizer->steps->decoder;
}

enum err_code tokenizer_texts(const struct tokenizer *tokenizer, unsigned count,
                              const char *const **texts, struct arena *arena, struct err *err)
{
    const struct text_model *model = &tokenizer->steps->model;
    const struct decoder *decoder = tokenizer_decoder(tokenizer);
    struct decoding decoding;
    size_t len;
    if (model->file != NULL)
        return err_set(err, ERR_UNSUPPORTED, "a %s is not supported for this task", model->name);
    if (decoder_check(decoder, err))
        return err->code;
    const char **out = arena_alloc_array(arena, count, sizeof *out);
    if (out == NULL)
        return err_no_memory(err, count * sizeof *out);
    for (unsigned id = 0; id < count; id++) {
        const struct token_string *string = tokenizer_string(tokenizer, (int32_t)id);
        if (string == NULL)
            continue;
        const size_t bytes = decoder_room(string->len, 1);
        char *room = arena_alloc(arena, bytes);
        if (room == NULL)
            return err_no_memory(err, bytes);
        decoding_begin(&decoding, decoder, room, bytes);
        decoding_add(&decoding, string->text, string->len);
        out[id] = decoding_end(&decoding, &len);
    }
    *texts = out;
    return ERR_OK;
}
