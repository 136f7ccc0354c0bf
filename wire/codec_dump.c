/* codec_dump.c - see codec_dump.h. The text goes into pieces: the first has the room that was asked
 * for, and a text that fits stands where it is; of a longer one the pieces are put together at the
 * end. */
#include "wire/codec_dump.h"

#include "engine/base/utf8.h"
#include "wire/answer.h"

#include <jansson.h>
#include <string.h>

enum { FIRST_BYTES = 2048, PIECE_BYTES = 16 * 1024 };

struct codec_piece {
    struct codec_piece *next;
    size_t len, size;
    char bytes[];
};

static bool add_piece(struct codec_text *text, size_t size)
{
    struct codec_piece *piece = arena_alloc(text->arena, sizeof *piece + size);
    if (piece == NULL)
        return false;
    *piece = (struct codec_piece){.size = size};
    if (text->last != NULL)
        text->last->next = piece;
    else
        text->first = piece;
    text->last = piece;
    return true;
}

void codec_text_open(struct codec_text *out, size_t bytes, struct arena *arena)
{
    *out = (struct codec_text){.arena = arena};
    out->has_failed = !add_piece(out, bytes > 0 ? bytes : FIRST_BYTES);
}

void codec_text_bytes(struct codec_text *text, const char *bytes, size_t len)
{
    while (len > 0 && !text->has_failed) {
        struct codec_piece *piece = text->last;
        size_t room = piece->size - piece->len, part = len < room ? len : room;
        memcpy(piece->bytes + piece->len, bytes, part);
        piece->len += part;
        text->total += part;
        bytes += part;
        len -= part;
        text->has_failed = len > 0 && !add_piece(text, PIECE_BYTES);
    }
}

void codec_text_add(struct codec_text *text, const char *more)
{
    codec_text_bytes(text, more, strlen(more));
}

static int take_all(const char *bytes, size_t len, void *context)
{
    struct codec_text *text = context;
    codec_text_bytes(text, bytes, len);
    return text->has_failed ? -1 : 0;
}

static void put_string(struct codec_text *text, json_t *value)
{
    if (value == NULL || json_dump_callback(value, take_all, text, JSON_ENCODE_ANY) != 0)
        text->has_failed = true;
    json_decref(value);
}

void codec_text_string(struct codec_text *text, const char *string)
{
    put_string(text, json_string(UTF8_SHOWN(string)));
}

void codec_text_string_of(struct codec_text *text, const char *bytes, size_t len)
{
    put_string(text, json_stringn(bytes, len));
}

/* The dump of an object, without its opening brace. */
struct members {
    struct codec_text *text;
    bool has_begun;
};

static int take(const char *bytes, size_t len, void *context)
{
    struct members *members = context;
    const size_t brace = !members->has_begun && len > 0 ? 1 : 0;
    members->has_begun = members->has_begun || len > 0;
    codec_text_bytes(members->text, bytes + brace, len - brace);
    return members->text->has_failed ? -1 : 0;
}

/* has_failed is looked at, too: jansson 2.14 ignores a callback's failure at an object's key. */
static void put_members(struct codec_text *text, const struct json_t *object)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS);
    struct members members = {.text = text};
    if (object == NULL || text->has_failed ||
        json_dump_callback(object, take, &members, flags) != 0)
        text->has_failed = true;
    if (text->has_failed)
        return;
    text->last->len--; /* the closing brace */
    text->total--;
}

void codec_text_members(struct codec_text *text, struct json_t *object)
{
    put_members(text, object);
    json_decref(object);
}

const char *codec_text_end(struct codec_text *text, size_t *len)
{
    codec_text_bytes(text, "", 1);
    if (text->has_failed)
        return NULL;
    *len = text->total - 1;
    if (text->first == text->last)
        return text->first->bytes;
    char *whole = arena_alloc(text->arena, text->total), *at = whole;
    for (const struct codec_piece *piece = text->first; piece != NULL && whole != NULL;
         piece = piece->next) {
        memcpy(at, piece->bytes, piece->len);
        at += piece->len;
    }
    return whole;
}

const char *codec_dump(const struct json_t *object, const char *tail, struct arena *arena,
                       size_t *len)
{
    struct codec_text text;
    codec_text_open(&text, 0, arena);
    codec_text_add(&text, "{");
    put_members(&text, object);
    codec_text_add(&text, tail);
    codec_text_add(&text, "}");
    return codec_text_end(&text, len);
}

const char *codec_finish(struct json_t *object, const char *tail, struct arena *arena, size_t *len)
{
    const char *text = object != NULL ? codec_dump(object, tail, arena, len) : NULL;
    json_decref(object);
    return text;
}

int codec_add(struct json_t *object, const char *key, struct json_t *value)
{
    return json_object_set_new_nocheck(object, key, value);
}

struct json_t *codec_whole(struct json_t *object, int failed)
{
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}
