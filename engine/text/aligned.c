#include "engine/text/aligned.h"

#include "engine/base/utf8.h"

#include <assert.h>
#include <string.h>

enum { BYTES_PER_BYTE = 1 + 2 * sizeof(uint32_t) };

static bool arrays_alloc(struct aligned *out, size_t room, struct arena *arena, struct err *err)
{
    out->bytes = arena_alloc(arena, room);
    out->starts = arena_alloc(arena, room * sizeof *out->starts);
    out->ends = arena_alloc(arena, room * sizeof *out->ends);
    if (out->bytes != NULL && out->starts != NULL && out->ends != NULL)
        return true;
    err_no_memory(err, room * BYTES_PER_BYTE);
    return false;
}

enum err_code aligned_of_text(struct aligned *out, const char *text, size_t len, uint32_t first,
                              struct arena *arena, struct err *err)
{
    *out = (struct aligned){.len = len};
    if (len == 0 || !arrays_alloc(out, len, arena, err))
        return err->code;
    memcpy(out->bytes, text, len);
    uint32_t character = first;
    for (size_t at = 0; at < len; character++) {
        size_t end = at + 1;
        while (end < len && ((unsigned char)text[end] & 0xC0) == 0x80)
            end++;
        for (; at < end; at++) {
            out->starts[at] = character;
            out->ends[at] = character + 1;
        }
    }
    return ERR_OK;
}

struct aligned aligned_part(const struct aligned *text, size_t at, size_t len)
{
    assert(at <= text->len && len <= text->len - at);
    if (len == 0)
        return (struct aligned){.bytes = text->bytes};
    return (struct aligned){text->bytes + at, text->starts + at, text->ends + at, len};
}

void aligned_builder_init(struct aligned_builder *builder, const struct aligned *from,
                          struct arena *arena)
{
    *builder = (struct aligned_builder){.from = from, .arena = arena};
}

uint32_t aligned_peek(const struct aligned_builder *builder)
{
    size_t at = builder->at;
    assert(at < builder->from->len);
    return utf8_decode(builder->from->bytes, &at);
}

/* Makes room for `more` bytes. The first arrays fit a text that does not grow. */
static bool make_room(struct aligned_builder *builder, size_t more, struct err *err)
{
    struct aligned *out = &builder->out;
    if (more <= builder->room - out->len)
        return true;
    size_t room = builder->room == 0 ? builder->from->len : 2 * builder->room;
    room = room >= out->len + more ? room : out->len + more;
    struct aligned grown = {.len = out->len};
    if (!arrays_alloc(&grown, room, builder->arena, err))
        return false;
    if (out->len > 0) {
        memcpy(grown.bytes, out->bytes, out->len);
        memcpy(grown.starts, out->starts, out->len * sizeof *out->starts);
        memcpy(grown.ends, out->ends, out->len * sizeof *out->ends);
    }
    *out = grown;
    builder->room = room;
    return true;
}

bool aligned_put(struct aligned_builder *builder, uint32_t character, long change, struct err *err)
{
    const struct aligned *from = builder->from;
    struct aligned *out = &builder->out;
    char bytes[UTF8_BYTES_MAX];
    unsigned count = utf8_encode(character, bytes);
    if (!make_room(builder, count, err))
        return false;
    assert(change > 0 ? builder->at > 0 : builder->at < from->len);
    size_t source = change > 0 ? builder->at - 1 : builder->at;
    for (unsigned i = 0; i < count; i++, out->len++) {
        out->bytes[out->len] = bytes[i];
        out->starts[out->len] = from->starts[source];
        out->ends[out->len] = from->ends[source];
    }
    for (; change <= 0 && builder->at < from->len; change++)
        utf8_decode(from->bytes, &builder->at);
    return true;
}

bool aligned_keep(struct aligned_builder *builder, size_t len, struct err *err)
{
    struct aligned part = aligned_part(builder->from, builder->at, len);
    struct aligned *out = &builder->out;
    if (!make_room(builder, len, err))
        return false;
    if (len > 0) {
        memcpy(out->bytes + out->len, part.bytes, len);
        memcpy(out->starts + out->len, part.starts, len * sizeof *part.starts);
        memcpy(out->ends + out->len, part.ends, len * sizeof *part.ends);
    }
    out->len += len;
    builder->at += len;
    return true;
}

void aligned_drop(struct aligned_builder *builder, size_t len)
{
    assert(len <= builder->from->len - builder->at);
    builder->at += len;
}
