/* normalizer.c - see normalizer.h.
 *
 * The reference runs several passes over the whole text, each with a table of its characters'
 * sources. Here the passes are one stream: an encoding that has reached its limit can stop, and a
 * long text needs no copy. A cursor cleans, spaces and decomposes character by character. Canonical
 * reordering is the exception: a run of combining characters (class not 0), however long, is sorted
 * by class.
 *
 * Nearly all combining characters are marks, which strip_accents removes. So a run is first
 * searched for characters that survive; mostly there are none, and no memory is needed. The
 * survivors (musical stems, Hangul tone marks, characters newer than the reference's tables) are
 * sorted by counting over the 256 classes: linear, because a hostile text may be one long run.
 *
 * The source of a reordered character is exactly the reference's. Decomposition flags each
 * character as the first of its source or as an additional one, and the flags stay with the
 * characters in the sort. Then the k-th first character takes the k-th source, and an additional
 * one shares the source of the first before it. */
#include "engine/text/normalizer.h"

#include "engine/base/utf8.h"

#include <string.h>

enum { CLASS_COUNT = 256 };

/* A character of the decomposed text. */
struct item {
    uint32_t character;
    uint32_t source;
    const struct unicode_properties *properties;
    bool first; /* the first character of its source */
};

void normalizer_init(struct normalizer *normalizer, struct normalizer_flags flags, const char *text,
                     size_t len, uint32_t first_index, struct arena *arena)
{
    *normalizer = (struct normalizer){
        .flags = flags, .text = text, .len = len, .arena = arena, .cursor = {.index = first_index}};
}

/* False if cleaning removes the character. */
static bool clean(uint32_t *character)
{
    if (*character == '\t' || *character == '\n' || *character == '\r') {
        *character = ' ';
        return true;
    }
    unsigned flags = unicode_properties(*character)->flags;
    if (flags & UNICODE_CONTROL)
        return false;
    if (flags & UNICODE_SPACE)
        *character = ' ';
    return true;
}

/* Reads the next character of the text into cursor->pending; nothing if cleaning removes it. */
static void read_character(const struct normalizer *normalizer, struct normalizer_cursor *cursor)
{
    const struct normalizer_flags *flags = &normalizer->flags;
    uint32_t character = utf8_decode(normalizer->text, &cursor->at);
    cursor->source = cursor->index++;
    cursor->pending_count = cursor->pending_next = 0;
    if (flags->clean_text && !clean(&character))
        return;
    bool spaced = flags->space_cjk && unicode_properties(character)->flags & UNICODE_CJK;
    uint32_t *out = cursor->pending;
    if (spaced)
        *out++ = ' ';
    if (flags->strip_accents)
        out += unicode_decompose(character, out);
    else
        *out++ = character;
    if (spaced)
        *out++ = ' ';
    cursor->pending_count = (unsigned)(out - cursor->pending);
}

/* Takes the next character. False at the end, and when interrupted. */
static bool cursor_next(const struct normalizer *normalizer, struct normalizer_cursor *cursor,
                        struct item *item, struct err *err)
{
    while (cursor->pending_next == cursor->pending_count) {
        if (cursor->at == normalizer->len || (cursor->index % NORMALIZER_LOOK_CHARACTERS == 0 &&
                                              interrupt_look(normalizer->interrupt, err)))
            return false;
        read_character(normalizer, cursor);
    }
    item->first = cursor->pending_next == 0;
    item->character = cursor->pending[cursor->pending_next++];
    item->source = cursor->source;
    item->properties = unicode_properties(item->character);
    return true;
}

/* Undoes one cursor_next. */
static void cursor_back(struct normalizer_cursor *cursor)
{
    cursor->pending_next--;
}

/* Takes the next character of a run. False at its end: the cursor is at the starter behind it. */
static bool run_next(const struct normalizer *normalizer, struct normalizer_cursor *cursor,
                     struct item *item, struct err *err)
{
    if (!cursor_next(normalizer, cursor, item, err))
        return false;
    if (item->properties->combining_class != 0)
        return true;
    cursor_back(cursor);
    return false;
}

static bool survives(const struct item *item)
{
    return !(item->properties->flags & UNICODE_MARK);
}

/* Tables of the counting sort, by class: the place of its first survivor, and the number of first
 * characters (see the top of the file) in the classes before it. */
struct run_counts {
    size_t survivors[CLASS_COUNT];
    size_t firsts[CLASS_COUNT];
};

static void run_count(const struct normalizer *normalizer, struct normalizer_cursor cursor,
                      struct run_counts *counts, struct err *err)
{
    *counts = (struct run_counts){0};
    for (struct item item; run_next(normalizer, &cursor, &item, err);) {
        counts->survivors[item.properties->combining_class] += survives(&item);
        counts->firsts[item.properties->combining_class] += item.first;
    }
    size_t survivors = 0, firsts = 0;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        size_t of_class = counts->survivors[i];
        counts->survivors[i] = survivors;
        survivors += of_class;
        of_class = counts->firsts[i];
        counts->firsts[i] = firsts;
        firsts += of_class;
    }
}

/* Sorts the survivors; `source` is for now the number of first characters up to and including the
 * character. */
static void run_sort(struct normalizer *normalizer, struct normalizer_cursor cursor,
                     struct run_counts *counts, struct err *err)
{
    for (struct item item; run_next(normalizer, &cursor, &item, err);) {
        uint8_t class = item.properties->combining_class;
        counts->firsts[class] += item.first;
        if (survives(&item))
            normalizer->run[counts->survivors[class]++] =
                (struct normalized){item.character, (uint32_t)counts->firsts[class]};
    }
}

/* Replaces the number k of the k-th first character by the k-th source; k grows along the run. */
static void run_resolve(struct normalizer *normalizer, struct normalizer_cursor cursor,
                        struct err *err)
{
    uint32_t firsts = 0, source = cursor.source;
    for (size_t i = 0; i < normalizer->run_count && err->code == ERR_OK; i++) {
        struct item item;
        while (firsts < normalizer->run[i].source && run_next(normalizer, &cursor, &item, err)) {
            if (!item.first)
                continue;
            firsts++;
            source = item.source;
        }
        normalizer->run[i].source = source;
    }
}

/* Makes room for a run. The next run uses the same memory, which doubles if it is too small:
 * otherwise each short run would take a line of the arena (160 MB for 10 MB of letter and mark). */
static bool run_make_room(struct normalizer *normalizer, struct err *err)
{
    if (normalizer->run_count <= normalizer->run_room)
        return true;
    size_t room = 2 * normalizer->run_room;
    room = room > normalizer->run_count ? room : normalizer->run_count;
    normalizer->run = arena_alloc(normalizer->arena, room * sizeof *normalizer->run);
    normalizer->run_room = normalizer->run != NULL ? room : 0;
    if (normalizer->run == NULL)
        err_no_memory(err, room * sizeof *normalizer->run);
    return normalizer->run != NULL;
}

/* Moves the cursor, which is at a combining character, behind the run and keeps the survivors.
 * After an interrupt the run is unfinished and must not be read. */
static bool run_take(struct normalizer *normalizer, struct err *err)
{
    struct normalizer_cursor start = normalizer->cursor;
    normalizer->run_count = normalizer->run_next = 0;
    for (struct item item; run_next(normalizer, &normalizer->cursor, &item, err);)
        normalizer->run_count += survives(&item);
    if (err->code != ERR_OK || normalizer->run_count == 0)
        return err->code == ERR_OK;
    if (!run_make_room(normalizer, err))
        return false;
    struct run_counts counts;
    run_count(normalizer, start, &counts, err);
    if (err->code == ERR_OK)
        run_sort(normalizer, start, &counts, err);
    if (err->code == ERR_OK)
        run_resolve(normalizer, start, err);
    return err->code == ERR_OK;
}

/* Takes the next character before lower-casing. */
static bool next_cased(struct normalizer *normalizer, struct normalized *out, struct err *err)
{
    bool strip = normalizer->flags.strip_accents;
    for (struct item item;;) {
        if (normalizer->run_next < normalizer->run_count) {
            *out = normalizer->run[normalizer->run_next++];
            return true;
        }
        if (!cursor_next(normalizer, &normalizer->cursor, &item, err))
            return false;
        if (strip && item.properties->combining_class != 0) {
            cursor_back(&normalizer->cursor);
            if (!run_take(normalizer, err))
                return false;
        } else if (!strip || survives(&item)) {
            *out = (struct normalized){item.character, item.source};
            return true;
        }
    }
}

/* Takes a printable ASCII character, which needs no table. Logs consist of them. */
static bool next_ascii(struct normalizer *normalizer, struct normalized *out)
{
    struct normalizer_cursor *cursor = &normalizer->cursor;
    if (cursor->pending_next < cursor->pending_count || cursor->at == normalizer->len ||
        normalizer->run_next < normalizer->run_count)
        return false;
    unsigned char byte = (unsigned char)normalizer->text[cursor->at];
    if (byte < ' ' || byte > '~')
        return false;
    bool lower = normalizer->flags.lower_case && byte >= 'A' && byte <= 'Z';
    *out = (struct normalized){lower ? byte + ('a' - 'A') : byte, cursor->index};
    cursor->at++;
    cursor->index++;
    return true;
}

bool normalizer_next(struct normalizer *normalizer, struct normalized *out, struct err *err)
{
    if (normalizer->has_second) {
        normalizer->has_second = false;
        *out = normalizer->second;
        return true;
    }
    if (next_ascii(normalizer, out))
        return true;
    if (!next_cased(normalizer, out, err))
        return false;
    if (!normalizer->flags.lower_case)
        return true;
    uint32_t lower[UNICODE_LOWER_MAX];
    normalizer->has_second = unicode_lower(out->character, lower) == 2;
    out->character = lower[0];
    if (normalizer->has_second)
        normalizer->second = (struct normalized){lower[1], out->source};
    return true;
}
