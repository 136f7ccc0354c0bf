#include "engine/text/decoder.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* ---- the member ---- */

/* The mark of a step, or its usual one. */
static enum err_code read_mark(struct decoder *out, const struct json_t *json, const char *key,
                               const char *usual, struct err *err)
{
    const char *mark = usual;
    if (doc_get_string(json, "$.decoder", key, &mark, err))
        return err->code;
    if (strlen(mark) >= sizeof out->mark)
        return err_set(err, ERR_UNSUPPORTED, "$.decoder.%s: it has more than %zu bytes", key,
                       sizeof out->mark - 1);
    out->mark_len = strlen(mark);
    memcpy(out->mark, mark, out->mark_len + 1);
    return ERR_OK;
}

/* The older member add_prefix_space is prepend_scheme always or never. */
static enum err_code read_metaspace(struct decoder *out, const struct json_t *json, struct err *err)
{
    const char *scheme = NULL;
    bool adds_space = true;
    if (read_mark(out, json, "replacement", "\xE2\x96\x81", err) ||
        doc_get_bool(json, "$.decoder", "add_prefix_space", &adds_space, err) ||
        doc_get_string(json, "$.decoder", "prepend_scheme", &scheme, err))
        return err->code;
    out->keeps_first = scheme != NULL ? strcmp(scheme, "never") == 0 : !adds_space;
    return ERR_OK;
}

enum err_code decoder_read(struct decoder *out, const struct json_t *json, struct err *err)
{
    const char *type = "";
    *out = (struct decoder){.kind = DECODER_NONE, .cleans = true};
    if (json == NULL)
        return ERR_OK;
    if (doc_get_string(json, "$.decoder", "type", &type, err))
        return err->code;
    if (strcmp(type, "WordPiece") == 0) {
        out->kind = DECODER_WORDPIECE;
        return doc_get_bool(json, "$.decoder", "cleanup", &out->cleans, err)
                   ? err->code
                   : read_mark(out, json, "prefix", "##", err);
    }
    if (strcmp(type, "ByteLevel") == 0) {
        out->kind = DECODER_BYTE_LEVEL;
        return ERR_OK;
    }
    if (strcmp(type, "Metaspace") == 0) {
        out->kind = DECODER_METASPACE;
        return read_metaspace(out, json, err);
    }
    out->kind = DECODER_UNSUPPORTED;
    snprintf(out->mark, sizeof out->mark, "%.60s", type);
    return ERR_OK;
}

enum err_code decoder_check(const struct decoder *decoder, struct err *err)
{
    if (decoder->kind != DECODER_UNSUPPORTED)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "tokenizer.json: $.decoder.type '%s' is not supported: tokens of this model "
                   "cannot be made a text",
                   decoder->mark);
}

/* ---- GPT-2's alphabet ---- */

enum { REST_FIRST = 256, LOW_COUNT = 33, HIGH_FIRST = 127, HIGH_COUNT = 34, SOFT_HYPHEN = 173 };

/* The other bytes are 0 to 32, then 127 to 160, then 173. */
int decoder_byte(uint32_t character)
{
    if (character < REST_FIRST) {
        bool is_rest = character < LOW_COUNT || character - HIGH_FIRST < HIGH_COUNT ||
                       character == SOFT_HYPHEN;
        return is_rest ? -1 : (int)character;
    }
    uint32_t number = character - REST_FIRST;
    if (number < LOW_COUNT)
        return (int)number;
    if (number - LOW_COUNT < HIGH_COUNT)
        return (int)(HIGH_FIRST + number - LOW_COUNT);
    return number == LOW_COUNT + HIGH_COUNT ? SOFT_HYPHEN : -1;
}

/* ---- spaces ---- */

struct replacement {
    const char *from, *to;
};

static const struct replacement of_words[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}, {NULL, NULL}};
static const struct replacement of_texts[] = {
    {" .", "."},   {" ?", "?"},   {" !", "!"},     {" ,", ","},     {" ' ", "'"}, {" n't", "n't"},
    {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}, {NULL, NULL}};

/* In place: no replacement is longer. Returns the length. */
static size_t replace(char *text, size_t len, const struct replacement *list)
{
    for (; list->from != NULL; list++) {
        const size_t from = strlen(list->from), to = strlen(list->to);
        size_t used = 0;
        for (size_t at = 0; at < len;) {
            if (len - at >= from && memcmp(text + at, list->from, from) == 0) {
                memcpy(text + used, list->to, to);
                used += to;
                at += from;
            } else
                text[used++] = text[at++];
        }
        len = used;
    }
    return len;
}

size_t decoding_tidy(char *text, size_t len)
{
    len = replace(text, len, of_texts);
    text[len] = '\0';
    return len;
}

/* ---- tokens ---- */

enum { GROWTH = 3 }; /* a byte that is no character becomes U+FFFD, three bytes */

size_t decoder_room(size_t bytes, size_t count)
{
    return GROWTH * (bytes + count + 1);
}

/* Bytes of a ByteLevel are collected in the last third of the room, so that characters, which take
 * at most three times as many, can be written from its beginning. */
void decoding_begin(struct decoding *out, const struct decoder *decoder, char *room, size_t bytes)
{
    const bool is_bytes = decoder->kind == DECODER_BYTE_LEVEL;
    const size_t start = is_bytes ? bytes / GROWTH * (GROWTH - 1) : 0;
    *out = (struct decoding){.decoder = decoder, .out = room, .at = start, .start = start};
}

/* False, with nothing added, if a character stands for no byte. */
static bool add_bytes(struct decoding *decoding, const char *token, size_t len)
{
    size_t to = decoding->at;
    for (size_t at = 0; at < len;) {
        const int byte = decoder_byte(utf8_decode(token, &at));
        if (byte < 0)
            return false;
        decoding->out[to++] = (char)byte;
    }
    decoding->at = to;
    return true;
}

static void append(struct decoding *decoding, const char *bytes, size_t len)
{
    memcpy(decoding->out + decoding->at, bytes, len);
    decoding->at += len;
}

static void add_marked(struct decoding *decoding, const char *token, size_t len)
{
    const struct decoder *decoder = decoding->decoder;
    const size_t mark = decoder->mark_len;
    for (size_t at = 0; at < len;) {
        if (mark == 0 || len - at < mark || memcmp(token + at, decoder->mark, mark) != 0) {
            append(decoding, token + at++, 1);
            continue;
        }
        if (decoding->is_later || decoder->keeps_first)
            append(decoding, " ", 1);
        at += mark;
    }
}

void decoding_add(struct decoding *decoding, const char *token, size_t len)
{
    const struct decoder *decoder = decoding->decoder;
    const size_t begin = decoding->at, mark = decoder->mark_len;
    const bool continues = decoder->kind == DECODER_WORDPIECE && len >= mark &&
                           memcmp(token, decoder->mark, mark) == 0;
    if (decoder->kind == DECODER_METASPACE) {
        add_marked(decoding, token, len);
    } else if (decoder->kind == DECODER_BYTE_LEVEL) {
        if (!add_bytes(decoding, token, len))
            append(decoding, token, len);
    } else {
        if (decoding->is_later && !continues)
            append(decoding, " ", 1);
        const size_t gone = decoding->is_later && continues ? mark : 0;
        append(decoding, token + gone, len - gone);
        if (decoder->kind == DECODER_WORDPIECE && decoder->cleans)
            decoding->at = begin + replace(decoding->out + begin, decoding->at - begin, of_words);
    }
    decoding->is_later = true;
}

/* Bytes of the longest beginning of a character, at least one: what becomes one U+FFFD (Unicode
 * Standard, section 3.9: maximal subparts). */
static size_t broken_bytes(const char *text, size_t len)
{
    char whole[UTF8_BYTES_MAX];
    for (size_t taken = len < sizeof whole ? len : sizeof whole - 1; taken > 1; taken--) {
        memset(whole, 0x80, sizeof whole);
        memcpy(whole, text, taken);
        if (utf8_character_bytes(whole, sizeof whole) > taken)
            return taken;
    }
    return 1;
}

const char *decoding_end(struct decoding *decoding, size_t *len)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    const bool is_bytes = decoding->decoder->kind == DECODER_BYTE_LEVEL;
    char *out = decoding->out;
    size_t used = is_bytes ? 0 : decoding->at;
    for (size_t at = decoding->start; is_bytes && at < decoding->at;) {
        const size_t left = decoding->at - at;
        const size_t whole = utf8_character_bytes(out + at, left);
        const size_t taken = whole > 0 ? whole : broken_bytes(out + at, left);
        const size_t bytes = whole > 0 ? whole : sizeof replacement - 1;
        memmove(out + used, whole > 0 ? out + at : replacement, bytes);
        used += bytes;
        at += taken;
    }
    out[used] = '\0';
    *len = used;
    return out;
}
