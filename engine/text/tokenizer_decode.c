/* tokenizer_decode.c - see tokenizer_decode of tokenizer.h.
 *
 * A fast tokenizer gives all tokens to the decoder of its tokenizer.json (decoder.h). A slow one
 * (transformers 4.57: PreTrainedTokenizer._decode and each class's convert_tokens_to_string) joins
 * sub-texts with spaces: a sub-text is an added token that is not special, or the tokens between
 * two of these. Within it, runs of pieces between special tokens are decoded as by SentencePiece
 * 0.2 (its sentencepiece_processor.cc, Decode). */
#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"
#include "engine/text/pipeline/steps.h"
#include "engine/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ---- fast tokenizers ---- */

/* Takes Python's white space off both ends of text[from .. end); returns the new end. */
static size_t strip(char *text, size_t from, size_t end)
{
    size_t at = from;
    for (size_t next = at; at < end; at = next)
        if (!character_is_python_space(utf8_decode(text, &next)))
            break;
    while (end > at) {
        size_t last = character_before(text, end), next = last;
        if (!character_is_python_space(utf8_decode(text, &next)))
            break;
        end = last;
    }
    memmove(text + from, text + at, end - at);
    return from + end - at;
}

/* Replaces a string by a space from `from` on; returns the new end. */
static size_t space_out(char *text, size_t from, size_t end, const char *string)
{
    const size_t len = strlen(string);
    size_t to = from;
    for (size_t at = from; at < end;) {
        const bool is_there = len > 0 && end - at >= len && memcmp(text + at, string, len) == 0;
        text[to++] = is_there ? ' ' : text[at];
        at += is_there ? len : 1;
    }
    return to;
}

static bool is_decoded(const struct token_string *string, bool skips_specials)
{
    return string != NULL && !(skips_specials && string->is_special);
}

static size_t decode_fast(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                          bool skips_specials, char *room, size_t room_bytes)
{
    const struct steps *steps = tokenizer->steps;
    struct decoding decoding;
    size_t len;
    decoding_begin(&decoding, &steps->decoder, room, room_bytes);
    for (size_t i = 0; i < count; i++) {
        const struct token_string *string = tokenizer_string(tokenizer, ids[i]);
        if (is_decoded(string, skips_specials))
            decoding_add(&decoding, string->text, string->len);
    }
    decoding_end(&decoding, &len);
    if (steps->ends_words && steps->model.kind == MODEL_BPE)
        len = strip(room, 0, space_out(room, 0, len, bpe_suffix(steps->model.bpe)));
    return len;
}

/* ---- pieces ---- */

/* A text that is written. All of it fits into the room of decode_slow. */
struct joining {
    const struct steps *steps;
    const struct sentencepiece *file;
    char *out;
    size_t at;
    char *bytes; /* [byte_count] byte pieces that are not written yet */
    size_t byte_count;
    size_t run;         /* where the run of pieces begins */
    bool is_start;      /* nothing of the run is written: the mark of a piece is left out */
    bool had_mark;      /* the piece before gave its mark */
    size_t begin;       /* where the sub-text begins */
    bool is_open;       /* the sub-text has a token */
    bool is_later;      /* there is a sub-text before */
    bool is_spaced;     /* a space is between them */
    bool after_special; /* the token before is special */
};

static void append(struct joining *joining, const char *text, size_t len)
{
    memcpy(joining->out + joining->at, text, len);
    joining->at += len;
}

/* True for tokenizers that join the texts of their tokens and put spaces for marks at the end. */
static bool joins_marks(const struct steps *steps)
{
    return steps->slow.class == PIECES_MARIAN || steps->slow.class == PIECES_NLLB ||
           steps->slow.class == PIECES_MBART;
}

/* Writes the byte pieces; a byte that belongs to no character becomes U+FFFD. */
static void flush_bytes(struct joining *joining)
{
    for (size_t at = 0; at < joining->byte_count;) {
        const size_t whole = utf8_character_bytes(joining->bytes + at, joining->byte_count - at);
        append(joining, whole > 0 ? joining->bytes + at : "\xEF\xBF\xBD", whole > 0 ? whole : 3);
        at += whole > 0 ? whole : 1;
    }
    joining->byte_count = 0;
}

static void begin_run(struct joining *joining)
{
    flush_bytes(joining);
    joining->run = joining->at;
    joining->is_start = true;
    joining->had_mark = false;
}

static void add_piece(struct joining *joining, const char *text, size_t len)
{
    const struct sentencepiece *file = joining->file;
    if (joins_marks(joining->steps) && joining->steps->slow.class != PIECES_MARIAN) {
        append(joining, text, len);
        return;
    }
    const int32_t found =
        len <= VOCAB_PIECE_BYTES_MAX ? vocab_find(&file->names, text, len) : VOCAB_NONE;
    const struct sentencepiece_piece *piece =
        &file->pieces[found != VOCAB_NONE ? found : file->unknown];
    if (piece->type == PIECE_BYTE) {
        joining->bytes[joining->byte_count++] = (char)sentencepiece_byte(piece);
        return;
    }
    flush_bytes(joining);
    joining->is_start &= !joining->had_mark && joining->at == joining->run;
    joining->had_mark = false;
    if (piece->type == PIECE_CONTROL)
        return;
    if (piece->type == PIECE_UNKNOWN) {
        append(joining, found != VOCAB_NONE ? file->unknown_surface : text,
               found != VOCAB_NONE ? file->unknown_surface_len : len);
        return;
    }
    if (joining->is_start && (file->adds_prefix || file->removes_spaces) &&
        len >= SENTENCEPIECE_MARK_BYTES &&
        memcmp(text, SENTENCEPIECE_MARK, SENTENCEPIECE_MARK_BYTES) == 0) {
        text += SENTENCEPIECE_MARK_BYTES;
        len -= SENTENCEPIECE_MARK_BYTES;
        joining->had_mark = !file->removes_spaces;
    }
    const size_t begin = joining->at;
    append(joining, text, len);
    joining->at = space_out(joining->out, begin, joining->at, SENTENCEPIECE_MARK);
}

/* ---- sub-texts ---- */

/* A special token within a sub-text. T5 and mBART-50 put a space before the run that it ends. */
static void add_special(struct joining *joining, const char *text, size_t len)
{
    const enum piece_class class = joining->steps->slow.class;
    flush_bytes(joining);
    if ((class == PIECES_T5 || class == PIECES_MBART50) && !joining->after_special) {
        memmove(joining->out + joining->run + 1, joining->out + joining->run,
                joining->at - joining->run);
        joining->out[joining->run] = ' ';
        joining->at++;
    }
    append(joining, text, len);
    if (class == PIECES_MARIAN)
        append(joining, " ", 1);
    begin_run(joining);
}

/* Ends a sub-text. One that is empty counts only at the end. */
static void close_text(struct joining *joining, bool is_last)
{
    if (!joining->is_open)
        return;
    flush_bytes(joining);
    if (joins_marks(joining->steps))
        joining->at = space_out(joining->out, joining->begin, joining->at, SENTENCEPIECE_MARK);
    joining->at = strip(joining->out, joining->begin, joining->at);
    joining->is_open = false;
    if (joining->at == joining->begin && !is_last)
        joining->at -= joining->is_spaced;
    else
        joining->is_later = true;
}

static void open_text(struct joining *joining)
{
    joining->is_spaced = joining->is_later;
    append(joining, " ", joining->is_spaced);
    joining->begin = joining->at;
    joining->is_open = true;
    joining->after_special = false;
    begin_run(joining);
}

/* True for a token that is a sub-text of its own. */
static bool stands_alone(const struct steps *steps, const struct token_string *string)
{
    const struct added_token *added = added_tokens_entry(&steps->added, string->text, string->len);
    return added != NULL &&
           (!added->is_special || (!added->is_named && (unsigned)added->id >= steps->slow.strings));
}

static void add_token(struct joining *joining, const struct token_string *string, bool is_special)
{
    const struct steps *steps = joining->steps;
    const char *text = string->text;
    size_t len = string->len;
    if (stands_alone(steps, string)) {
        close_text(joining, false);
        append(joining, " ", joining->is_later);
        append(joining, text, len);
        joining->is_later = true;
        return;
    }
    if (!joining->is_open) {
        open_text(joining);
        if (steps->slow.strips_first && len >= SENTENCEPIECE_MARK_BYTES &&
            memcmp(text, SENTENCEPIECE_MARK, SENTENCEPIECE_MARK_BYTES) == 0) {
            text += SENTENCEPIECE_MARK_BYTES;
            len -= SENTENCEPIECE_MARK_BYTES;
        }
    }
    if (is_special)
        add_special(joining, text, len);
    else
        add_piece(joining, text, len);
    joining->after_special = is_special;
}

/* ---- slow tokenizers ---- */

/* The string of an id. Vocabularies of their own, Marian's and M2M100's, have the unknown token for
 * an id that they lack. NULL: none. */
static const struct token_string *string_of(const struct tokenizer *tokenizer, int32_t id)
{
    const enum piece_class class = tokenizer->steps->slow.class;
    const struct token_string *string = tokenizer_string(tokenizer, id);
    return string == NULL && (class == PIECES_MARIAN || class == PIECES_M2M100)
               ? tokenizer_string(tokenizer, tokenizer->steps->model.unknown)
               : string;
}

/* True if the string is a special token's, whatever id it came from. */
static bool is_special(const struct tokenizer *tokenizer, const struct token_string *string)
{
    const struct added_token *added =
        string->is_special
            ? NULL
            : added_tokens_entry(&tokenizer->steps->added, string->text, string->len);
    return string->is_special || (added != NULL && added->is_special);
}

enum { SPACES = 3 }; /* more bytes than the spaces of a token, or than U+FFFD */

static size_t decode_slow(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                          bool skips_specials, char *room, size_t room_bytes)
{
    struct joining joining = {.steps = tokenizer->steps,
                              .file = tokenizer->steps->model.file,
                              .out = room,
                              .bytes = room + room_bytes - count - 1};
    for (size_t i = 0; i < count; i++) {
        const struct token_string *string = string_of(tokenizer, ids[i]);
        const bool special = string != NULL && is_special(tokenizer, string);
        if (string != NULL && !(special && skips_specials))
            add_token(&joining, string, special);
    }
    close_text(&joining, true);
    return joining.at;
}

bool tokenizer_decodes(const struct tokenizer *tokenizer, int32_t id)
{
    const struct token_string *string = string_of(tokenizer, id);
    return tokenizer->steps->slow.class != 0 ? string != NULL && !is_special(tokenizer, string)
                                             : is_decoded(tokenizer_string(tokenizer, id), true);
}

size_t tokenizer_decode_bytes(const struct tokenizer *tokenizer, size_t bytes, size_t count)
{
    const struct steps *steps = tokenizer->steps;
    if (steps->slow.class == 0)
        return decoder_room(bytes, count);
    return bytes + count * (steps->model.file->unknown_surface_len + SPACES) + 1 + count + 1;
}

const char *tokenizer_decode_into(const struct tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, bool skips_specials, char *room, size_t room_bytes,
                                  size_t *len)
{
    const bool is_slow = tokenizer->steps->slow.class != 0;
    *len = (is_slow ? decode_slow : decode_fast)(tokenizer, ids, count, skips_specials, room,
                                                 room_bytes);
    room[*len] = '\0';
    if (tokenizer->steps->decoder.tidies)
        *len = decoding_tidy(room, *len);
    return room;
}

enum err_code tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                               bool skips_specials, const char **text, size_t *len,
                               struct arena *arena, struct err *err)
{
    size_t bytes = 0;
    if (decoder_check(&tokenizer->steps->decoder, err))
        return err->code;
    for (size_t i = 0; i < count; i++) {
        const struct token_string *string = string_of(tokenizer, ids[i]);
        bytes += string != NULL ? string->len : 0;
    }
    const size_t room_bytes = tokenizer_decode_bytes(tokenizer, bytes, count);
    char *room = arena_alloc(arena, room_bytes);
    if (room == NULL)
        return err_no_memory(err, room_bytes);
    *text = tokenizer_decode_into(tokenizer, ids, count, skips_specials, room, room_bytes, len);
    return ERR_OK;
}

/* ---- what a token adds ---- */

/* A piece of a slow tokenizer; of the first one white space is stripped. */
static size_t add_slow(const struct tokenizer *tokenizer, const struct token_string *string,
                       bool is_first, char *room, size_t room_bytes)
{
    const struct steps *steps = tokenizer->steps;
    struct joining joining = {
        .steps = steps, .file = steps->model.file, .out = room, .bytes = room + room_bytes - 1};
    if (is_special(tokenizer, string) || stands_alone(steps, string))
        return 0;
    add_piece(&joining, string->text, string->len);
    if (joining.byte_count > 0) {
        const unsigned char byte = (unsigned char)(room[0] = joining.bytes[0]);
        return is_first && byte < 0x80 && character_is_python_space(byte) ? 0 : 1;
    }
    if (joins_marks(steps))
        joining.at = space_out(room, 0, joining.at, SENTENCEPIECE_MARK);
    size_t at = 0;
    for (size_t next = 0; is_first && at < joining.at; at = next)
        if (!character_is_python_space(utf8_decode(room, &next)))
            break;
    memmove(room, room + at, joining.at - at);
    return joining.at - at;
}

/* Writes what a token adds to a text; returns the bytes. */
static size_t add_one(const struct tokenizer *tokenizer, int32_t id, bool is_first, char *room,
                      size_t room_bytes)
{
    const struct token_string *string = string_of(tokenizer, id);
    struct decoding decoding;
    if (string != NULL && tokenizer->steps->slow.class != 0)
        return add_slow(tokenizer, string, is_first, room, room_bytes);
    if (!is_decoded(string, true))
        return 0;
    decoding_begin(&decoding, &tokenizer->steps->decoder, room, room_bytes);
    const size_t begin = decoding.at;
    decoding.is_later = !is_first;
    decoding_add(&decoding, string->text, string->len);
    memmove(room, room + begin, decoding.at - begin);
    return decoding.at - begin;
}

/* Writes the offsets and, unless `bytes` is NULL, the bytes. */
static void add_all(const struct tokenizer *tokenizer, unsigned count, bool is_first, char *room,
                    size_t room_bytes, uint32_t *offset, char *bytes)
{
    offset[0] = 0;
    for (unsigned id = 0; id < count; id++) {
        const size_t len = add_one(tokenizer, (int32_t)id, is_first, room, room_bytes);
        offset[id + 1] = offset[id] + (uint32_t)len;
        if (bytes != NULL)
            memcpy(bytes + offset[id], room, len);
    }
}

enum err_code tokenizer_additions(const struct tokenizer *tokenizer, unsigned count, bool is_first,
                                  const char **bytes, const uint32_t **offset, struct arena *arena,
                                  struct err *err)
{
    const struct steps *steps = tokenizer->steps;
    size_t longest = 0;
    if (steps->slow.class == 0 && decoder_check(&steps->decoder, err))
        return err->code;
    if (steps->ends_words && steps->model.kind == MODEL_BPE)
        return err_set(err, ERR_UNSUPPORTED,
                       "the tokens say where words end: what one adds depends on the next");
    for (unsigned id = 0; id < count; id++) {
        const struct token_string *string = tokenizer_string(tokenizer, (int32_t)id);
        longest = string != NULL && string->len > longest ? string->len : longest;
    }
    const size_t room_bytes = tokenizer_decode_bytes(tokenizer, longest, 1);
    uint32_t *starts = arena_alloc_array(arena, count + (size_t)1, sizeof *starts);
    char *room = malloc(room_bytes);
    char *out = NULL;
    if (starts != NULL && room != NULL) {
        add_all(tokenizer, count, is_first, room, room_bytes, starts, NULL);
        out = arena_alloc_array(arena, starts[count] + (size_t)1, 1);
    }
    if (out != NULL)
        add_all(tokenizer, count, is_first, room, room_bytes, starts, out);
    else
        err_no_memory(err, room_bytes + count * sizeof *starts);
    free(room);
    *bytes = out;
    *offset = starts;
    return err->code;
}

size_t tokenizer_additions_bytes(const struct tokenizer *tokenizer, unsigned count)
{
    const struct steps *steps = tokenizer->steps;
    size_t bytes = (count + (size_t)1) * sizeof(uint32_t) + 2 * (size_t)ARENA_ALIGNMENT + 1;
    if (steps->slow.class != 0)
        bytes += steps->model.file->unknown_surface_len;
    for (unsigned id = 0; id < count; id++) {
        const struct token_string *string = tokenizer_string(tokenizer, (int32_t)id);
        bytes += string != NULL ? string->len + (size_t)1 : 0;
    }
    return bytes;
}

bool tokenizer_first_differs(const struct tokenizer *tokenizer)
{
    const struct decoder *decoder = &tokenizer->steps->decoder;
    return tokenizer_strips(tokenizer) ||
           !(decoder->kind == DECODER_BYTE_LEVEL ||
             (decoder->kind == DECODER_METASPACE && decoder->keeps_first));
}

bool tokenizer_strips(const struct tokenizer *tokenizer)
{
    return tokenizer->steps->slow.class != 0;
}

size_t tokenizer_finish(const struct tokenizer *tokenizer, char *text, size_t len)
{
    if (tokenizer_strips(tokenizer))
        len = strip(text, 0, len);
    return tokenizer->steps->decoder.tidies ? decoding_tidy(text, len) : len;
}
