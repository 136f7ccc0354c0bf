/* text_pipeline.c - a tokenizer that tokenizer.json describes step by step, equal to Hugging Face's
 * fast tokenizers: added tokens, normaliser, pre-tokeniser, model (BPE, WordPiece, Unigram),
 * special tokens by a template. Slow tokenizers of a SentencePiece model, whose normaliser is one
 * step and which has no pre-tokeniser, take the same way (struct slow_text).
 *
 * A long text is encoded in chunks of some kilobytes, cut between two words, if the steps allow it.
 * Encoding ends with the chunk that fills the list.
 *
 * Added tokens of the raw text cut it into segments. A segment is normalised, added tokens of the
 * normalised text cut it again, and the pieces are split and given to the model. All memory but the
 * tokens' is in arenas that are freed after each chunk and piece.
 *
 * A chunk ends at a space between two ASCII letters or digits. If no step matches across such a
 * border (keep_words, cuts_words), the chunks alone give the same tokens as the whole. */
#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"
#include "engine/text/pipeline/steps.h"
#include "engine/text/token_list.h"
#include "engine/text/tokenizer_kind.h"

#include <string.h>

enum {
    CHUNK_BYTES = 4096, /* a chunk ends at the first border behind so many bytes */
    LOOK_SPLITS = 1024,
    PREFIX_BYTES = 64, /* room for what a SentencePiece model and its tokenizer put before a text */
};

struct text_pipeline {
    const struct steps *steps;
    size_t normalized_size[TEXT_KINDS]; /* most bytes that the normaliser makes of a byte */
    size_t tokens[TEXT_KINDS];          /* most tokens of a byte */
    size_t bytes[TEXT_KINDS];           /* most memory for a byte, in bytes */
    bool has_borders;                   /* a chunk may end between two words */
};

struct run {
    const struct text_pipeline *pipeline;
    struct interrupt *interrupt;
    struct token_list *list;
    size_t dropped; /* first tokens of a piece that are not kept */
    bool is_full;
};

static const struct text_pipeline *pipeline_of(const struct tokenizer *tokenizer)
{
    return tokenizer->pipeline;
}

/* ---- tokens ---- */

/* True if the character is trimmed. The reference trims white space, and the character that stands
 * for a space in the alphabet of bytes, even if the text itself contains it. */
static bool is_trimmed(const struct run *run, uint32_t character, bool is_added)
{
    enum { G_WITH_DOT = 0x120 };
    if (run->pipeline->steps->pretokenizer.is_byte_level && !is_added)
        return character == ' ';
    return character == G_WITH_DOT || character_is_space(character);
}

static uint32_t count_leading(const struct run *run, const char *text, size_t len, bool is_added)
{
    uint32_t count = 0;
    for (size_t at = 0; at < len; count++)
        if ((unsigned char)text[at] >= 0x80 && !is_added &&
            run->pipeline->steps->pretokenizer.is_byte_level)
            break;
        else if (!is_trimmed(run, utf8_decode(text, &at), is_added))
            break;
    return count;
}

static uint32_t count_trailing(const struct run *run, const char *text, size_t len, bool is_added)
{
    uint32_t count = 0;
    for (size_t at = len; at > 0; count++) {
        size_t start = character_before(text, at), next = start;
        bool is_byte = run->pipeline->steps->pretokenizer.is_byte_level && !is_added;
        if (is_byte ? text[at - 1] != ' ' : !is_trimmed(run, utf8_decode(text, &next), is_added))
            break;
        at = start;
    }
    return count;
}

/* Takes the white space at a token's ends out of its extent. As in the reference, each space counts
 * for one character, whatever its source. */
static void trim(const struct run *run, const char *text, size_t len, bool is_added,
                 struct token *token)
{
    uint32_t leading = count_leading(run, text, len, is_added);
    uint32_t trailing = count_trailing(run, text, len, is_added);
    bool is_first = run->list->total == 0 || token->start == 0;
    if (leading == 1 && is_first && run->pipeline->steps->post.adds_prefix)
        leading = 0;
    token->start = token->end - token->start > leading ? token->start + leading : token->end;
    if (trailing > 0 && token->end >= trailing)
        token->end = token->end - trailing > token->start ? token->end - trailing : token->start;
}

static void put(struct run *run, const struct aligned *text, size_t at, size_t end,
                struct token token, bool is_added)
{
    token.start = text->starts[at];
    token.end = text->ends[end - 1];
    if (run->pipeline->steps->post.trims &&
        (is_added || token.id != run->pipeline->steps->model.unknown))
        trim(run, text->bytes + at, end - at, is_added, &token);
    run->is_full = !token_list_append(run->list, token);
}

/* ---- pieces ---- */

/* A SentencePiece model gets all words in one split. */
static bool begins_word(const struct text_model *model, const char *token)
{
    return model->file != NULL && (unsigned char)token[0] == (unsigned char)SENTENCEPIECE_MARK[0] &&
           memcmp(token, SENTENCEPIECE_MARK, SENTENCEPIECE_MARK_BYTES) == 0;
}

/* Encodes text without added tokens. */
static enum err_code encode_piece(struct run *run, const struct aligned *text, struct err *err)
{
    const struct steps *steps = run->pipeline->steps;
    struct arena scratch;
    struct splits splits;
    struct text_model_work work;
    size_t longest = 0;
    if (text->len == 0)
        return ERR_OK;
    arena_init(&scratch);
    if (splits_init(&splits, text, &scratch, err) ||
        pretokenizer_steps_apply(&steps->pretokenizer, &splits, run->interrupt, err) ||
        splits.count == 0)
        goto out;
    for (size_t i = 0; i < splits.count; i++)
        longest = splits.items[i].len > longest ? splits.items[i].len : longest;
    if (text_model_work_init(&work, &steps->model, longest, &scratch, run->interrupt, err))
        goto out;
    for (size_t i = 0; i < splits.count && !run->is_full; i++) {
        const struct split split = splits.items[i];
        const char *bytes = splits.text.bytes + split.at;
        if (i % LOOK_SPLITS == LOOK_SPLITS - 1 && interrupt_look(run->interrupt, err))
            goto out;
        const size_t count = text_model_cut(&steps->model, &work, bytes, split.len, err);
        if (err->code != ERR_OK)
            goto out;
        const size_t first = count >= run->dropped ? run->dropped : 0;
        for (size_t k = first; k < count && !run->is_full; k++) {
            const size_t at = k > 0 ? work.cuts[k - 1].end : 0;
            const bool continued = k > first && !begins_word(&steps->model, bytes + at);
            put(run, &splits.text, split.at + at, split.at + work.cuts[k].end,
                (struct token){.id = work.cuts[k].id, .continued = continued}, false);
        }
    }
out:
    arena_deinit(&scratch);
    return err->code;
}

/* ---- chunks ---- */

static enum err_code encode_normalized(struct run *run, const struct aligned *text, struct err *err)
{
    struct added_cursor cursor;
    struct added_match match;
    size_t at = 0;
    added_cursor_init(&cursor, &run->pipeline->steps->added.normalized, text->bytes, text->len);
    while (!run->is_full && added_next(&cursor, &match)) {
        if (match.at > at) {
            struct aligned piece = aligned_part(text, at, match.at - at);
            if (encode_piece(run, &piece, err) || interrupt_look(run->interrupt, err))
                return err->code;
        }
        if (!run->is_full)
            put(run, text, match.at, match.end, (struct token){.id = match.id}, true);
        at = match.end;
    }
    struct aligned rest = aligned_part(text, at, text->len - at);
    return run->is_full ? ERR_OK : encode_piece(run, &rest, err);
}

static bool is_plain(char byte)
{
    return (unsigned)(byte | 32) - 'a' < 26 || (unsigned)byte - '0' < 10;
}

/* Returns the end of the chunk that begins at `at`. */
static size_t chunk_end(const struct text_pipeline *pipeline, const char *text, size_t len,
                        size_t at)
{
    if (!pipeline->has_borders || len - at <= CHUNK_BYTES)
        return len;
    for (size_t end = at + CHUNK_BYTES; end + 1 < len; end++)
        if (text[end] == ' ' && is_plain(text[end - 1]) && is_plain(text[end + 1]))
            return end;
    return len;
}

/* Makes the text that is normalised, with a prefix before it, which has the extent of the first
 * character; *index moves behind it. */
static enum err_code align(struct aligned *out, const char *prefix, const char *text, size_t len,
                           uint32_t *index, struct arena *arena, struct err *err)
{
    const size_t prefix_len = strlen(prefix);
    const uint32_t first = *index, added = (uint32_t)utf8_count(prefix, prefix_len);
    char *both = NULL;
    if (prefix_len > 0) {
        both = arena_alloc(arena, prefix_len + len);
        if (both == NULL)
            return err_no_memory(err, prefix_len + len);
        memcpy(both, prefix, prefix_len);
        memcpy(both + prefix_len, text, len);
    }
    if (aligned_of_text(out, both != NULL ? both : text, prefix_len + len, first, arena, err))
        return err->code;
    for (size_t i = 0; prefix_len > 0 && i < out->len; i++) {
        out->starts[i] = i < prefix_len ? first : out->starts[i] - added;
        out->ends[i] = i < prefix_len ? first + 1 : out->ends[i] - added;
    }
    *index = out->ends[out->len - 1];
    return ERR_OK;
}

/* Returns what a slow tokenizer puts before a part of the text, which may be nothing. */
static const char *prefix_of(const struct slow_text *slow, const char *text, uint32_t index)
{
    if (index == 0 && slow->first != NULL)
        return slow->first;
    return slow->spaced != NULL && text[0] == ' ' ? slow->spaced : "";
}

/* Encodes a chunk. *index is the number of its first character and moves behind the chunk. */
static enum err_code encode_chunk(struct run *run, const char *text, size_t len, uint32_t *index,
                                  bool is_first, bool is_last, struct err *err)
{
    struct arena pair[2];
    struct aligned aligned;
    struct text_bytes bytes = text_cost_count(text, len);
    const struct slow_text *slow = &run->pipeline->steps->slow;
    const char *prefix = prefix_of(slow, text, *index);
    const struct normalizer_work work = {
        .interrupt = run->interrupt,
        .is_first = is_first,
        .is_last = is_last,
        .size_max = text_cost_total(&bytes, run->pipeline->normalized_size) +
                    (run->pipeline->steps->model.file != NULL ? PREFIX_BYTES : 0)};
    arena_init(&pair[0]);
    arena_init(&pair[1]);
    run->dropped = prefix[0] != '\0' ? slow->dropped : 0;
    if (!interrupt_look(run->interrupt, err) &&
        !align(&aligned, prefix, text, len, index, &pair[0], err)) {
        if (!normalizer_steps_apply(&run->pipeline->steps->normalizer, &aligned, pair, &work, err))
            encode_normalized(run, &aligned, err);
    }
    arena_deinit(&pair[0]);
    arena_deinit(&pair[1]);
    return err->code;
}

/* Marian: ">>deu<<" at the beginning is a token. Returns its bytes. */
static size_t take_code(struct run *run, const char *text, size_t len, uint32_t *index)
{
    enum { MARK = 2 };
    const struct text_model *model = &run->pipeline->steps->model;
    const char *end = NULL;
    if (run->pipeline->steps->slow.class == PIECES_MARIAN && len >= MARK &&
        memcmp(text, ">>", MARK) == 0)
        end = memmem(text, len, "<<", MARK);
    if (end == NULL)
        return 0;
    const size_t bytes = (size_t)(end - text) + MARK;
    const int32_t id =
        bytes <= VOCAB_PIECE_BYTES_MAX ? vocab_find(&model->tokens, text, bytes) : VOCAB_NONE;
    struct token token = {.id = id != VOCAB_NONE ? id : model->unknown, .start = *index};
    token.end = *index += (uint32_t)utf8_count(text, bytes);
    run->is_full = !token_list_append(run->list, token);
    return bytes;
}

static enum err_code encode_segment(struct run *run, const char *text, size_t len, uint32_t *index,
                                    struct err *err)
{
    const size_t code = take_code(run, text, len, index);
    text += code;
    len -= code;
    for (size_t at = 0, end; at < len && !run->is_full; at = end) {
        end = chunk_end(run->pipeline, text, len, at);
        if (encode_chunk(run, text + at, end - at, index, at == 0, end == len, err))
            return err->code;
    }
    return ERR_OK;
}

/* T5: a mark in the text is a space. Characters keep their numbers. */
static enum err_code space_marks(const char **text, size_t *len, struct arena *arena,
                                 struct err *err)
{
    const char *mark = memmem(*text, *len, SENTENCEPIECE_MARK, SENTENCEPIECE_MARK_BYTES);
    size_t to = 0;
    if (mark == NULL)
        return ERR_OK;
    char *copy = arena_alloc(arena, *len);
    if (copy == NULL)
        return err_no_memory(err, *len);
    for (size_t at = 0; at < *len; to++) {
        const bool is_mark = *len - at >= SENTENCEPIECE_MARK_BYTES &&
                             memcmp(*text + at, SENTENCEPIECE_MARK, SENTENCEPIECE_MARK_BYTES) == 0;
        copy[to] = is_mark ? ' ' : (*text)[at];
        at += is_mark ? SENTENCEPIECE_MARK_BYTES : 1;
    }
    *text = copy;
    *len = to;
    return ERR_OK;
}

static enum err_code encode(const struct tokenizer *tokenizer, const char *text, size_t len,
                            struct interrupt *interrupt, struct arena *arena,
                            struct token_list *list, struct err *err)
{
    struct run run = {.pipeline = pipeline_of(tokenizer), .interrupt = interrupt, .list = list};
    const struct steps *steps = run.pipeline->steps;
    struct added_cursor cursor;
    struct added_match match;
    size_t at = 0;
    uint32_t index = 0;
    if (steps->slow.spaced != NULL && space_marks(&text, &len, arena, err))
        return err->code;
    added_cursor_init(&cursor, &steps->added.raw, text, len);
    while (!run.is_full && added_next(&cursor, &match)) {
        if (match.at > at && encode_segment(&run, text + at, match.at - at, &index, err))
            return err->code;
        at = match.end;
        if (run.is_full)
            break;
        /* an added token of the raw text: its extent is its characters */
        struct token token = {.id = match.id, .start = index};
        token.end = index += (uint32_t)utf8_count(text + match.at, match.end - match.at);
        if (steps->post.trims)
            trim(&run, text + match.at, match.end - match.at, true, &token);
        run.is_full = !token_list_append(list, token);
    }
    return run.is_full ? ERR_OK : encode_segment(&run, text + at, len - at, &index, err);
}

/* ---- memory ---- */

/* Returns the longest chunk that a text can have. Cuts by added tokens are ignored. */
static size_t longest_chunk(const struct text_pipeline *pipeline, const char *text, size_t len)
{
    size_t longest = 0, border = 0;
    if (!pipeline->has_borders || len <= CHUNK_BYTES)
        return len;
    for (size_t i = 1; i + 1 < len; i++)
        if (text[i] == ' ' && is_plain(text[i - 1]) && is_plain(text[i + 1])) {
            longest = i - border > longest ? i - border : longest;
            border = i;
        }
    longest = len - border > longest ? len - border : longest;
    return longest < len - CHUNK_BYTES ? longest + CHUNK_BYTES : len;
}

static size_t encode_bytes(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    enum { OVERHEAD = 64 * 1024 };
    const struct text_pipeline *pipeline = pipeline_of(tokenizer);
    size_t chunk = longest_chunk(pipeline, text, len);
    struct text_bytes bytes = text_cost_count(text, len);
    for (int kind = TEXT_KINDS - 1; kind >= 0; kind--) {
        bytes.of[kind] = bytes.of[kind] < chunk ? bytes.of[kind] : chunk;
        chunk -= bytes.of[kind];
    }
    const size_t copies = pipeline->steps->slow.spaced != NULL ? 2 * (len + ARENA_ALIGNMENT) : 0;
    return OVERHEAD + copies + text_cost_total(&bytes, pipeline->bytes);
}

static size_t tokens_max(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    struct text_bytes bytes = text_cost_count(text, len);
    return text_cost_total(&bytes, pipeline_of(tokenizer)->tokens);
}

/* ---- open ---- */

static const struct tokenizer_kind kinds[] = {
    [MODEL_BPE] = {"BPE", encode, encode_bytes, tokens_max},
    [MODEL_WORDPIECE] = {"WordPiece", encode, encode_bytes, tokens_max},
    [MODEL_UNIGRAM] = {"Unigram", encode, encode_bytes, tokens_max},
};

/* Counts the tokens of what T5 puts before a part that begins with a space. */
static enum err_code count_dropped(struct steps *steps, struct err *err)
{
    const char *text = steps->slow.spaced;
    const struct normalizer_work work = {NULL, NULL, true, true, VOCAB_PIECE_BYTES_MAX};
    struct arena pair[2];
    struct aligned aligned;
    struct text_model_work cutting;
    arena_init(&pair[0]);
    arena_init(&pair[1]);
    if (!aligned_of_text(&aligned, text, strlen(text), 0, &pair[0], err) &&
        !normalizer_steps_apply(&steps->normalizer, &aligned, pair, &work, err) &&
        !text_model_work_init(&cutting, &steps->model, aligned.len, &pair[0], NULL, err))
        steps->slow.dropped =
            (unsigned)text_model_cut(&steps->model, &cutting, aligned.bytes, aligned.len, err);
    arena_deinit(&pair[0]);
    arena_deinit(&pair[1]);
    return err->code;
}

enum err_code text_pipeline_init(struct tokenizer *tokenizer, struct err *err)
{
    const struct steps *steps = tokenizer->steps;
    const struct pretokenizer_steps *splits = &steps->pretokenizer;
    struct text_pipeline *pipeline = arena_alloc(&tokenizer->arena, sizeof *pipeline);
    struct text_cost cost = TEXT_COST_OF_TEXT;
    size_t marks = 1;
    if (pipeline == NULL)
        return err_no_memory(err, sizeof *pipeline);
    if (steps->slow.spaced != NULL && count_dropped(tokenizer->steps, err))
        return err->code;
    *pipeline =
        (struct text_pipeline){.steps = steps,
                               .has_borders = steps->normalizer.keep_words && splits->cuts_words &&
                                              steps->added.keep_words};
    /* A mark in front of a split is one more character, whatever bytes it has. The growth of a
     * SentencePiece model has room for its mark, unless a character becomes a token a byte. */
    marks += steps->model.file != NULL && steps->model.file->falls_back;
    for (size_t i = 0; i < splits->count; i++)
        marks += splits->items[i].prefix != PREFIX_NEVER;
    normalizer_steps_cost(&steps->normalizer, &cost);
    for (int kind = 0; kind < TEXT_KINDS; kind++) {
        pipeline->normalized_size[kind] = cost.size[kind];
        pipeline->tokens[kind] = marks * cost.size[kind];
    }
    pretokenizer_steps_cost(splits, &cost);
    text_cost_add(&cost, TEXT_MODEL_WORK_BYTES);
    memcpy(pipeline->bytes, cost.bytes, sizeof pipeline->bytes);
    tokenizer->pipeline = pipeline;
    tokenizer->kind = &kinds[steps->model.kind];
    return ERR_OK;
}
