/* codec_dump.c - see codec_dump.h. The text goes into pieces: the first has room for the usual
 * reply, which then stands where it is; of a longer one the pieces are put together at the end. */
#include "server/protocol/codec_dump.h"

#include "engine/answer.h"

#include <jansson.h>
#include <string.h>

enum { FIRST_BYTES = 2048, PIECE_BYTES = 16 * 1024 };

struct piece {
    struct piece *next;
    size_t len, size;
    char bytes[];
};

struct dump {
    struct arena *arena;
    struct piece *first, *last;
    size_t total;
    bool has_failed; /* since jansson 2.14 ignores a callback's failure at an object's key */
};

static struct piece *add_piece(struct dump *dump, size_t size)
{
    struct piece *piece = arena_alloc(dump->arena, sizeof *piece + size);
    if (piece == NULL)
        return NULL;
    *piece = (struct piece){.size = size};
    if (dump->last != NULL)
        dump->last->next = piece;
    else
        dump->first = piece;
    return dump->last = piece;
}

static int take(const char *text, size_t len, void *context)
{
    struct dump *dump = context;
    dump->total += len;
    while (len > 0 && !dump->has_failed) {
        struct piece *piece = dump->last;
        size_t room = piece->size - piece->len, part = len < room ? len : room;
        memcpy(piece->bytes + piece->len, text, part);
        piece->len += part;
        text += part;
        len -= part;
        dump->has_failed = len > 0 && add_piece(dump, PIECE_BYTES) == NULL;
    }
    return dump->has_failed ? -1 : 0;
}

static const char *put_together(const struct dump *dump)
{
    char *text = arena_alloc(dump->arena, dump->total), *at = text;
    for (const struct piece *piece = dump->first; piece != NULL && text != NULL;
         piece = piece->next) {
        memcpy(at, piece->bytes, piece->len);
        at += piece->len;
    }
    return text;
}

const char *codec_dump(const struct json_t *object, const char *tail, struct arena *arena,
                       size_t *len)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(ANSWER_DIGITS);
    struct dump dump = {.arena = arena};
    if (add_piece(&dump, FIRST_BYTES) == NULL ||
        json_dump_callback(object, take, &dump, flags) != 0)
        return NULL;
    dump.last->len--; /* the closing brace, which comes last */
    dump.total--;
    if (take(tail, strlen(tail), &dump) != 0 || take("}", sizeof "}", &dump) != 0)
        return NULL;
    *len = dump.total - 1;
    return dump.first == dump.last ? dump.first->bytes : put_together(&dump);
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
