#include "engine/prepare/question.h"

#include "engine/base/utf8.h"
#include "engine/text/token_list.h"
#include "engine/text/unicode.h"

#include <string.h>

/* Defaults of the pipeline. */
enum { WINDOW_TOKENS = 384, OVERLAP = 128 };

/* ---- the frame ---- */

/* Special tokens of a window: in front of the question, between it and the text, and behind. */
struct frame {
    unsigned front, between, behind;
    uint8_t text_type;
};

static bool read_frame(const struct tokenizer_template *order, struct frame *out)
{
    unsigned *count = &out->front;
    *out = (struct frame){0};
    for (unsigned i = 0; i < order->count; i++) {
        const struct template_item *item = &order->items[i];
        if (item->source == TEMPLATE_SPECIAL)
            ++*count;
        else if (item->source == TEMPLATE_TEXT && count == &out->front)
            count = &out->between;
        else if (item->source == TEMPLATE_PAIR && count == &out->between)
            count = &out->behind;
        else
            return false;
    }
    return count == &out->behind && out->front > 0;
}

bool question_is_readable(const struct pipeline *pipeline)
{
    struct frame frame;
    return read_frame(&pipeline->tokenizer->pair, &frame) && pipeline_reads_pairs(pipeline);
}

/* ---- how windows are cut ---- */

struct cut {
    struct frame frame;
    unsigned tokens_max, room, step, windows;
};

static unsigned window_tokens(const struct pipeline *pipeline, const struct question_asked *asked)
{
    const unsigned limit = pipeline->tokenizer->limit;
    const unsigned wanted = asked->tokens_max > 0 ? asked->tokens_max : WINDOW_TOKENS;
    return wanted < limit ? wanted : limit;
}

static unsigned least_step(unsigned room)
{
    return (room + WINDOWS_OVERLAP_MAX - 1) / WINDOWS_OVERLAP_MAX;
}

static enum err_code make_cut(struct cut *out, const struct pipeline *pipeline,
                              const struct question_asked *asked, size_t question, size_t text,
                              struct err *err)
{
    const unsigned limit = pipeline->tokenizer->limit;
    read_frame(&pipeline->tokenizer->pair, &out->frame);
    const unsigned specials = out->frame.front + out->frame.between + out->frame.behind;
    out->tokens_max = window_tokens(pipeline, asked);
    if (asked->tokens_max > limit)
        return err_set(err, ERR_UNUSABLE, "max_seq_len is %u; the model reads at most %u tokens",
                       asked->tokens_max, limit);
    if (question > out->tokens_max / 2 || question + specials >= out->tokens_max)
        return err_set(err, ERR_UNUSABLE,
                       "the question has %zu tokens; in windows of %u tokens it may have at most "
                       "half of them",
                       question, out->tokens_max);
    out->room = out->tokens_max - specials - (unsigned)question;
    const unsigned least = least_step(out->room), half = out->tokens_max / 2;
    const unsigned overlap = asked->overlap > 0 ? asked->overlap - 1
                             : half < OVERLAP   ? half
                                                : OVERLAP;
    out->step = overlap < out->room ? out->room - overlap : 0;
    if (asked->overlap > 0 && out->step < least && text > out->room)
        return err_set(err, ERR_UNUSABLE,
                       "doc_stride is %u; beside this question windows have room for %u tokens of "
                       "the text and may share at most %u",
                       overlap, out->room, out->room - least);
    out->step = out->step < least ? least : out->step;
    out->windows =
        text <= out->room ? 1 : 1 + ((unsigned)text - out->room + out->step - 1) / out->step;
    return ERR_OK;
}

/* ---- arrays ---- */

/* The arrays of the input in the making. */
struct arrays {
    struct token_list list;
    uint8_t *types;
    bool *asked;
    unsigned *offset;
};

static enum err_code take(struct arrays *out, unsigned tokens, unsigned windows,
                          struct arena *arena, struct err *err)
{
    if (token_list_init(&out->list, tokens, false, arena, err))
        return err->code;
    out->types = arena_alloc_array(arena, tokens, sizeof *out->types);
    out->asked = arena_alloc_array(arena, tokens, sizeof *out->asked);
    out->offset = arena_alloc_array(arena, windows + 1u, sizeof *out->offset);
    return out->types != NULL && out->asked != NULL && out->offset != NULL
               ? ERR_OK
               : err_no_memory(err, tokens * (sizeof *out->types + sizeof *out->asked));
}

/* Appends a window whose text begins with token `first`. */
static void append(struct arrays *to, const struct tokenizer *tokenizer,
                   const struct token_list *question, const struct token_list *text, unsigned first,
                   unsigned count)
{
    for (unsigned i = 0; i < tokenizer->pair.count; i++) {
        const struct template_item *item = &tokenizer->pair.items[i];
        const bool is_text = item->source == TEMPLATE_PAIR;
        const struct token_list *part = is_text ? text : question;
        const unsigned from = is_text ? first : 0;
        const unsigned tokens = item->source == TEMPLATE_SPECIAL ? 1
                                : is_text                        ? count
                                                                 : part->count;
        for (unsigned k = 0; k < tokens; k++) {
            const struct token token = item->source == TEMPLATE_SPECIAL
                                           ? (struct token){.id = item->id}
                                           : token_list_get(part, from + k);
            to->types[to->list.count] = item->type;
            to->asked[to->list.count] = is_text || token.id == tokenizer->specials.cls;
            token_list_append(&to->list, token);
        }
    }
}

static enum err_code encode(const struct pipeline *pipeline, const char *bytes, size_t len,
                            unsigned room, const char *what, struct interrupt *interrupt,
                            struct arena *arena, struct token_list *out, struct err *err)
{
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const size_t most = tokenizer->kind->tokens_max(tokenizer, bytes, len);
    if (token_list_init(out, most < room ? (unsigned)most : room, false, arena, err) ||
        tokenizer->kind->encode(tokenizer, bytes, len, interrupt, arena, out, err))
        return err->code;
    if (out->total == 0)
        return err_set(err, ERR_UNUSABLE,
                       "the %s has no token: it is empty, blank or holds only control characters",
                       what);
    return ERR_OK;
}

/* The text's characters in lower case, one for one: of a letter that becomes two, itself. */
static const uint32_t *lower(const char *text, size_t len, struct arena *arena)
{
    uint32_t *letters = arena_alloc_array(arena, len, sizeof *letters);
    unsigned count = 0;
    for (size_t at = 0; letters != NULL && at < len; count++) {
        uint32_t forms[UNICODE_LOWER_MAX];
        const uint32_t character = utf8_decode(text, &at);
        letters[count] = unicode_lower(character, forms) == 1 ? forms[0] : character;
    }
    return letters;
}

enum err_code question_encode(const struct pipeline *pipeline, const struct question_asked *asked,
                              struct interrupt *interrupt, struct arena *arena,
                              struct engine_input *out, struct err *err)
{
    struct token_list question, text;
    struct arrays arrays = {0};
    struct cut cut = {0};
    if (encode(pipeline, asked->question, asked->question_len, pipeline->tokenizer->limit,
               "question", interrupt, arena, &question, err) ||
        encode(pipeline, asked->text, asked->len, asked->text_tokens_max, "text", interrupt, arena,
               &text, err))
        return err->code;
    if (asked->asked_max > 0 && question.total > asked->asked_max)
        return err_set(err, ERR_UNUSABLE,
                       "max_question_len: the question has %zu tokens, more than %u: a question is "
                       "not cut",
                       question.total, asked->asked_max);
    if (text.total > text.count)
        return err_set(err, ERR_TOO_LARGE,
                       "the text has more than %u tokens, the limit for a text in windows "
                       "(text_tokens_max); send less of it",
                       asked->text_tokens_max);
    struct question_input *of_question = arena_alloc(arena, sizeof *of_question);
    const uint32_t *letters = lower(asked->text, asked->len, arena);
    if (of_question == NULL || letters == NULL)
        return err_no_memory(err, asked->len * sizeof *letters);
    if (make_cut(&cut, pipeline, asked, question.total, text.count, err) ||
        take(&arrays, cut.windows * cut.tokens_max, cut.windows, arena, err))
        return err->code;
    for (unsigned w = 0; w < cut.windows; w++) {
        const unsigned first = w * cut.step, left = text.count - first;
        append(&arrays, pipeline->tokenizer, &question, &text, first,
               left < cut.room ? left : cut.room);
        arrays.offset[w + 1] = arrays.list.count;
    }
    *of_question = (struct question_input){.options = asked->options,
                                           .letters = letters,
                                           .asked = arrays.asked,
                                           .behind = cut.frame.behind,
                                           .longest = arrays.offset[1]};
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = arrays.list.count,
                                 .ids = arrays.list.ids,
                                 .starts = arrays.list.starts,
                                 .ends = arrays.list.ends,
                                 .continued = arrays.list.continued,
                                 .types = pipeline->spec->token_types > 1 ? arrays.types : NULL,
                                 .pair_at = cut.frame.front + question.count + cut.frame.between,
                                 .windows = cut.windows > 1 ? cut.windows : 0,
                                 .window_offset = arrays.offset,
                                 .question = of_question};
    return ERR_OK;
}

/* ---- memory ---- */

static size_t tokens_in(const struct pipeline *pipeline, const char *text, size_t len,
                        unsigned most)
{
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const size_t tokens = tokenizer->kind->tokens_max(tokenizer, text, len);
    return tokens < most ? tokens : most;
}

/* A window advances by at least a quarter of its room; the question has at most half of it. */
struct question_size question_size(const struct pipeline *pipeline,
                                   const struct question_asked *asked)
{
    const size_t text = tokens_in(pipeline, asked->text, asked->len, asked->text_tokens_max);
    const unsigned tokens_max = window_tokens(pipeline, asked);
    struct frame frame;
    read_frame(&pipeline->tokenizer->pair, &frame);
    const unsigned taken = tokens_max / 2 + frame.front + frame.between + frame.behind;
    const size_t windows = 1 + text / least_step(taken < tokens_max ? tokens_max - taken : 1);
    return (struct question_size){.windows = windows, .tokens = windows * tokens_max};
}

size_t question_bytes(const struct pipeline *pipeline, const struct question_asked *asked)
{
    enum {
        TOKEN_BYTES = 3 * sizeof(int32_t) + sizeof(bool),
        FRAMED_BYTES = TOKEN_BYTES + 2,
        ARRAYS = 20
    };
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const struct tokenizer_kind *kind = tokenizer->kind;
    const struct question_size size = question_size(pipeline, asked);
    const size_t lists =
        tokens_in(pipeline, asked->text, asked->len, asked->text_tokens_max) +
        tokens_in(pipeline, asked->question, asked->question_len, tokenizer->limit);
    return lists * TOKEN_BYTES + size.tokens * FRAMED_BYTES +
           (size.windows + 1) * sizeof(unsigned) + asked->len * sizeof(uint32_t) +
           sizeof(struct question_input) + (size_t)ARRAYS * ARENA_ALIGNMENT +
           kind->encode_bytes(tokenizer, asked->question, asked->question_len) +
           kind->encode_bytes(tokenizer, asked->text, asked->len);
}

enum err_code question_room(const struct engine_input *input, struct extraction **out,
                            struct arena *arena, struct err *err)
{
    const struct question_input *question = input->question;
    const size_t most =
        (size_t)engine_input_windows(input) * extraction_candidates(&question->options);
    struct extraction *room = arena_alloc(arena, sizeof *room);
    if (room == NULL)
        return err_no_memory(err, sizeof *room);
    *room = (struct extraction){
        .options = question->options,
        .letters = question->letters,
        .found = arena_alloc_array(arena, most + 1, sizeof *room->found),
        .places = arena_alloc_array(arena, extraction_places(most), sizeof *room->places),
        .found_max = (unsigned)most,
        .scratch = arena_alloc_array(
            arena, extraction_scratch(&question->options, question->longest), sizeof(float))};
    *out = room;
    return room->found != NULL && room->places != NULL && room->scratch != NULL
               ? ERR_OK
               : err_no_memory(err, most * sizeof *room->found);
}

size_t question_room_bytes(const struct pipeline *pipeline, const struct question_asked *asked)
{
    enum { ARRAYS = 4 };
    const size_t windows = question_size(pipeline, asked).windows;
    const size_t most = windows * extraction_candidates(&asked->options);
    return sizeof(struct extraction) + (most + 1) * sizeof(struct extract) +
           extraction_places(most) * sizeof(uint32_t) +
           extraction_scratch(&asked->options, window_tokens(pipeline, asked)) * sizeof(float) +
           (size_t)ARRAYS * ARENA_ALIGNMENT;
}
