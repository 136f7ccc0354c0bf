#include "engine/prepare/pipeline.h"

#include <string.h>

enum { SPECIALS = 2 }; /* of each window, one at each end */

enum err_code windows_shape_make(struct windows_shape *out, unsigned room, unsigned stride,
                                 struct err *err)
{
    const unsigned least = (room + WINDOWS_OVERLAP_MAX - 1) / WINDOWS_OVERLAP_MAX;
    *out = (struct windows_shape){.room = room, .stride = stride != 0 ? stride : room};
    if (out->stride >= least && out->stride <= room)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "the window stride is %u; this model's windows hold %u tokens of a text, so it "
                   "must be from %u to %u",
                   stride, room, least, room);
}

unsigned windows_count(const struct windows_shape *shape, unsigned tokens)
{
    if (tokens <= shape->room)
        return 1;
    return 1 + (tokens - shape->room + shape->stride - 1) / shape->stride;
}

unsigned windows_first(const struct windows_shape *shape, unsigned tokens, unsigned window,
                       unsigned count)
{
    if (window + 1 < count)
        return window * shape->stride;
    return tokens > shape->room ? tokens - shape->room : 0;
}

/* The arrays of an input in the making. */
struct cut {
    int32_t *ids;
    uint32_t *starts, *ends;
    bool *continued;
    unsigned *offset, *first;
    unsigned tokens;
};

static enum err_code take(struct cut *cut, unsigned windows, unsigned tokens, struct arena *arena,
                          struct err *err)
{
    cut->ids = arena_alloc_array(arena, tokens, sizeof *cut->ids);
    cut->starts = arena_alloc_array(arena, tokens, sizeof *cut->starts);
    cut->ends = arena_alloc_array(arena, tokens, sizeof *cut->ends);
    cut->continued = arena_alloc_array(arena, tokens, sizeof *cut->continued);
    cut->offset = arena_alloc_array(arena, windows + 1, sizeof *cut->offset);
    cut->first = arena_alloc_array(arena, windows, sizeof *cut->first);
    if (cut->ids == NULL || cut->starts == NULL || cut->ends == NULL || cut->continued == NULL ||
        cut->offset == NULL || cut->first == NULL)
        return err_no_memory(err, tokens * (3 * sizeof *cut->ids + sizeof *cut->continued));
    return ERR_OK;
}

static void append(struct cut *cut, const struct encoding *whole, unsigned at, unsigned count)
{
    memcpy(cut->ids + cut->tokens, whole->ids + at, count * sizeof *cut->ids);
    memcpy(cut->starts + cut->tokens, whole->starts + at, count * sizeof *cut->starts);
    memcpy(cut->ends + cut->tokens, whole->ends + at, count * sizeof *cut->ends);
    memcpy(cut->continued + cut->tokens, whole->continued + at, count * sizeof *cut->continued);
    cut->tokens += count;
}

struct engine_input windows_whole(const struct encoding *whole)
{
    return (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = whole->count,
                                 .truncated = whole->truncated,
                                 .ids = whole->ids,
                                 .types = whole->types,
                                 .pair_at = whole->pair_at,
                                 .starts = whole->starts,
                                 .ends = whole->ends,
                                 .continued = whole->continued};
}

enum err_code windows_cut(const struct encoding *whole, const struct windows_shape *shape,
                          struct arena *arena, struct engine_input *out, struct err *err)
{
    const unsigned tokens = whole->count - SPECIALS, count = windows_count(shape, tokens);
    struct cut cut = {0};
    *out = windows_whole(whole);
    if (count == 1)
        return ERR_OK;
    if (take(&cut, count, count * (shape->room + SPECIALS), arena, err))
        return err->code;
    for (unsigned i = 0; i < count; i++) {
        cut.offset[i] = cut.tokens;
        cut.first[i] = windows_first(shape, tokens, i, count);
        append(&cut, whole, 0, 1);
        append(&cut, whole, 1 + cut.first[i], shape->room);
        append(&cut, whole, whole->count - 1, 1);
    }
    cut.offset[count] = cut.tokens;
    out->tokens = cut.tokens;
    out->ids = cut.ids;
    out->starts = cut.starts;
    out->ends = cut.ends;
    out->continued = cut.continued;
    out->windows = count;
    out->window_offset = cut.offset;
    out->window_first = cut.first;
    return ERR_OK;
}

size_t windows_bytes(const struct windows_shape *shape, unsigned tokens)
{
    enum { BYTES_PER_TOKEN = 3 * sizeof(int32_t) + sizeof(bool), ARRAYS = 6 };
    const size_t count = windows_count(shape, tokens);
    if (count == 1)
        return 0;
    return count * (shape->room + SPECIALS) * BYTES_PER_TOKEN + (2 * count + 1) * sizeof(unsigned) +
           (size_t)ARRAYS * ARENA_ALIGNMENT;
}
