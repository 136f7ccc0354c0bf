/* precompiled.c - see precompiled.h.
 *
 * The trie is a double array (Aoe 1989) in the layout of darts-clone. A unit holds its label (the
 * byte that leads to it), the offset of its children, and a flag: one of them is a leaf. A leaf
 * holds the offset of its replacement. The child by byte b of the unit at i is at i ^ offset ^ b,
 * and exists if that unit's label is b.
 *
 * A lookup of a cluster goes at most five bytes deep, so five passes over the units find all units
 * that a text can reach: the unit at i is a child of the unit whose children are around i ^ (its
 * own byte). Lookups as by SentencePiece go to the end of the longest key, and so do the passes.
 * These leaves are checked once, at load. A lookup compares the place of children with the size at
 * every step. */
#include "engine/text/precompiled.h"

#include "engine/base/base64.h"
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLUSTER_BYTES_MAX = 5, /* longer clusters go character by character */
    DECODED_BYTES_MAX = 64 * 1024 * 1024,
    LOOK_CLUSTERS = 4096,
    ASCII_END = 0x80,
};

struct precompiled {
    const unsigned char *units; /* [unit_count] of 4 bytes, little endian */
    size_t unit_count;
    const char *strings; /* [strings_len] valid UTF-8, each replacement ended by a NUL */
    size_t strings_len;
    size_t space_bytes; /* that a space of a replacement counts in the growth */
    unsigned depth;     /* most bytes of a key that is looked up */
    struct precompiled_growth growth;
    bool is_plain[ASCII_END]; /* stays as it is, if another ASCII character follows */
};

static uint32_t unit_at(const struct precompiled *table, size_t index)
{
    const unsigned char *bytes = table->units + 4 * index;
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

static bool has_leaf(uint32_t unit)
{
    return (unit >> 8 & 1) != 0;
}

/* Returns the byte that leads to a unit; for a leaf, a number above 255. */
static uint32_t label_of(uint32_t unit)
{
    return unit & (1u << 31 | 0xFF);
}

static size_t value_of(uint32_t leaf)
{
    return leaf & ~(1u << 31);
}

/* ---- reading ---- */

/* Kinds of bytes on the way to a unit's children: bits of `reached`. */
enum { BY_ASCII = 1, BY_OTHER = 2 };

static size_t replacement_bytes(const struct precompiled *table, size_t at)
{
    const char *end = memchr(table->strings + at, '\0', table->strings_len - at);
    return (end != NULL ? (size_t)(end - table->strings) : table->strings_len) - at;
}

/* Checks that the replacement of a leaf, whose keys have `key_bytes` bytes, is inside the strings;
 * notes how much the text grows by it. */
static bool leaf_check(struct precompiled *table, size_t index, unsigned key_bytes, unsigned by,
                       struct err *err)
{
    if (index >= table->unit_count) {
        err_set(err, ERR_UNUSABLE, "precompiled_charsmap: a leaf at unit %zu of %zu", index,
                table->unit_count);
        return false;
    }
    size_t at = value_of(unit_at(table, index));
    if (at > table->strings_len ||
        (at < table->strings_len && ((unsigned char)table->strings[at] & 0xC0) == 0x80)) {
        err_set(err, ERR_UNUSABLE,
                "precompiled_charsmap: unit %zu: no replacement begins at byte %zu of %zu", index,
                at, table->strings_len);
        return false;
    }
    size_t bytes = replacement_bytes(table, at), grown = bytes;
    for (size_t i = 0; i < bytes; i++)
        grown += table->strings[at + i] == ' ' ? table->space_bytes - 1 : 0;
    size_t growth = (grown + key_bytes - 1) / key_bytes;
    if (bytes > PRECOMPILED_REPLACEMENT_BYTES_MAX) {
        err_set(err, ERR_UNSUPPORTED,
                "precompiled_charsmap: a replacement of %zu bytes; supported are %d", bytes,
                PRECOMPILED_REPLACEMENT_BYTES_MAX);
        return false;
    }
    if (by & BY_ASCII && growth > table->growth.ascii)
        table->growth.ascii = growth;
    if (by & BY_OTHER && growth > table->growth.other)
        table->growth.other = growth;
    return true;
}

/* Returns the number of places around which units can lie: they differ from a unit's place in the
 * last byte. */
static size_t places(const struct precompiled *table)
{
    return (table->unit_count | 0xFF) + 1;
}

/* Goes one byte deeper: from the places of children to the places of their children. False at the
 * end: no unit lies there. */
static bool level_check(struct precompiled *table, const uint8_t *reached, uint8_t *deeper,
                        unsigned key_bytes, struct err *err)
{
    bool is_deeper = false;
    for (size_t i = 0; i < table->unit_count; i++) {
        uint32_t unit = unit_at(table, i), label = label_of(unit);
        unsigned by = label > 0 && label <= 0xFF ? reached[i ^ label] : 0;
        if (by == 0)
            continue;
        is_deeper = true;
        by = (key_bytes > 1 ? by : 0) | (label < ASCII_END ? BY_ASCII : BY_OTHER);
        size_t children = i ^ offset_of(unit);
        if (has_leaf(unit) && !leaf_check(table, children, key_bytes, by, err))
            return false;
        if (children < places(table))
            deeper[children] |= (uint8_t)by;
    }
    return is_deeper;
}

static enum err_code leaves_check(struct precompiled *table, struct err *err)
{
    size_t size = places(table), root = offset_of(unit_at(table, 0));
    uint8_t *reached = calloc(2, size);
    if (reached == NULL)
        return err_no_memory(err, 2 * size);
    uint8_t *deeper = reached + size;
    if (root < size)
        reached[root] = BY_ASCII | BY_OTHER;
    unsigned bytes = 1;
    for (; bytes <= table->depth && level_check(table, reached, deeper, bytes, err); bytes++) {
        memcpy(reached, deeper, size);
        memset(deeper, 0, size);
    }
    free(reached);
    if (err->code == ERR_OK && bytes > PRECOMPILED_KEY_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "precompiled_charsmap: a key of more than %d bytes",
                       PRECOMPILED_KEY_BYTES_MAX);
    return err->code;
}

static enum err_code parts_find(struct precompiled *table, const char *bytes, size_t len,
                                struct err *err)
{
    enum { SIZE_BYTES = 4 };
    table->units = (const unsigned char *)bytes;
    size_t size = len < SIZE_BYTES ? 0 : unit_at(table, 0), at;
    if (size < 4 || size > len - SIZE_BYTES)
        return err_set(err, ERR_UNUSABLE,
                       "precompiled_charsmap: a trie of %zu bytes in %zu; at least 4, and 4 less "
                       "than there are",
                       size, len);
    table->units += SIZE_BYTES;
    table->unit_count = size / 4;
    table->strings = bytes + SIZE_BYTES + 4 * table->unit_count;
    table->strings_len = len - SIZE_BYTES - 4 * table->unit_count;
    if (!utf8_valid(table->strings, table->strings_len, &at))
        return err_set(err, ERR_UNUSABLE,
                       "precompiled_charsmap: invalid UTF-8 at byte %zu of the replacements", at);
    return ERR_OK;
}

/* ---- looking up ---- */

/* Finds the next longer prefix of key[len] that has a replacement: *taken bytes, 0 at first, and
 * *node, which belongs to them. False: there is none. */
static bool next_prefix(const struct precompiled *table, const char *key, size_t len, size_t *node,
                        size_t *taken, size_t *value)
{
    size_t at = *taken == 0 ? offset_of(unit_at(table, 0)) : *node;
    for (size_t i = *taken; i < len && key[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)key[i];
        at ^= byte;
        if (at >= table->unit_count)
            return false;
        uint32_t unit = unit_at(table, at);
        if (label_of(unit) != byte)
            return false;
        at ^= offset_of(unit);
        if (!has_leaf(unit))
            continue;
        *node = at;
        *taken = i + 1;
        *value = value_of(unit_at(table, at));
        return true;
    }
    return false;
}

/* Finds the replacement of the shortest prefix of key[len] that has one. False: none has. */
static bool find(const struct precompiled *table, const char *key, size_t len, const char **out,
                 size_t *out_len)
{
    size_t node, taken = 0, value;
    if (!next_prefix(table, key, len, &node, &taken, &value))
        return false;
    *out = table->strings + value;
    *out_len = replacement_bytes(table, value);
    return true;
}

bool precompiled_longest(const struct precompiled *table, const char *text, size_t len,
                         size_t *taken, const char **out, size_t *out_len)
{
    size_t node, value;
    *taken = 0;
    while (next_prefix(table, text, len, &node, taken, &value))
        ;
    if (*taken == 0)
        return false;
    *out = table->strings + value;
    *out_len = replacement_bytes(table, value);
    return true;
}

enum err_code precompiled_of_bytes(struct precompiled **out, const char *bytes, size_t len,
                                   size_t space_bytes, struct arena *arena, struct err *err)
{
    struct precompiled *table = *out = arena_alloc_array(arena, 1, sizeof *table);
    if (table == NULL)
        return err_no_memory(err, sizeof *table);
    table->growth = (struct precompiled_growth){1, 1};
    table->space_bytes = space_bytes;
    table->depth = PRECOMPILED_KEY_BYTES_MAX;
    return parts_find(table, bytes, len, err) || leaves_check(table, err) ? err->code : ERR_OK;
}

enum err_code precompiled_read(struct precompiled **out, const char *base64, size_t len,
                               struct arena *arena, struct err *err)
{
    *out = NULL;
    if (len / 4 * 3 > DECODED_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "precompiled_charsmap: more than %d bytes",
                       DECODED_BYTES_MAX);
    struct precompiled *table = arena_alloc_array(arena, 1, sizeof *table);
    char *bytes = arena_alloc(arena, base64_decoded_size(len));
    size_t count;
    if (table == NULL || bytes == NULL)
        return err_no_memory(err, base64_decoded_size(len));
    if (base64_decode(bytes, &count, base64, len, 0, err))
        return err_prefix(err, "precompiled_charsmap: ");
    table->growth = (struct precompiled_growth){1, 1};
    table->space_bytes = 1;
    table->depth = CLUSTER_BYTES_MAX;
    if (parts_find(table, bytes, count, err) || leaves_check(table, err))
        return err->code;
    for (unsigned c = 0; c < ASCII_END; c++) {
        const char *replacement;
        char key = (char)c;
        table->is_plain[c] = c != '\r' && !find(table, &key, 1, &replacement, &count);
    }
    *out = table;
    return ERR_OK;
}

struct precompiled_growth precompiled_growth(const struct precompiled *table)
{
    return table->growth;
}

/* ---- applying ---- */

/* Holds the last character back: characters dropped behind it are added to its change. */
struct writer {
    const struct precompiled *table;
    struct aligned_builder builder;
    bool is_changed, has_last;
    uint32_t last;
    long last_change;
};

static bool writer_flush(struct writer *writer, struct err *err)
{
    bool has_last = writer->has_last;
    writer->has_last = false;
    return !has_last || aligned_put(&writer->builder, writer->last, writer->last_change, err);
}

static bool writer_put(struct writer *writer, uint32_t character, long change, struct err *err)
{
    if (!writer_flush(writer, err))
        return false;
    writer->has_last = true;
    writer->last = character;
    writer->last_change = change;
    return true;
}

/* Replaces the next `characters` by those of text[len]. If text has more, its last ones are
 * insertions. If it has fewer, the rest is dropped behind its last one. As in the reference, if
 * nothing has been written before an empty text, nothing is dropped and all extents are late. */
static bool writer_replace(struct writer *writer, size_t characters, const char *text, size_t len,
                           struct err *err)
{
    size_t count = utf8_count(text, len), number = 0;
    writer->is_changed = true;
    for (size_t at = 0; at < len; number++)
        if (!writer_put(writer, utf8_decode(text, &at), number >= characters, err))
            return false;
    if (count < characters && writer->has_last)
        writer->last_change -= (long)(characters - count);
    return true;
}

static bool take_cluster(struct writer *writer, const char *text, size_t len, struct err *err)
{
    const char *replacement;
    size_t bytes;
    if (len <= CLUSTER_BYTES_MAX && find(writer->table, text, len, &replacement, &bytes))
        return writer_replace(writer, utf8_count(text, len), replacement, bytes, err);
    for (size_t at = 0, next = 0; at < len; at = next) {
        uint32_t character = utf8_decode(text, &next);
        bool taken = find(writer->table, text + at, next - at, &replacement, &bytes)
                         ? writer_replace(writer, 1, replacement, bytes, err)
                         : writer_put(writer, character, 0, err);
        if (!taken)
            return false;
    }
    return true;
}

/* Keeps the characters from *at on that do not change, if the extents are not late. */
static bool take_plain(struct writer *writer, const struct aligned *in, size_t *at, struct err *err)
{
    size_t end = *at;
    while (end < in->len && (unsigned char)in->bytes[end] < ASCII_END &&
           writer->table->is_plain[(unsigned char)in->bytes[end]])
        end++;
    if (end < in->len && end > *at && (unsigned char)in->bytes[end] >= ASCII_END)
        end--; /* the next may belong to its cluster */
    if (end < *at + 2)
        return true;
    if (!writer_flush(writer, err))
        return false;
    if (writer->builder.at != *at)
        return true;
    char last = in->bytes[end - 1];
    bool kept = aligned_keep(&writer->builder, end - 1 - *at, err) &&
                writer_put(writer, (unsigned char)last, 0, err);
    *at = end;
    return kept;
}

enum err_code precompiled_apply(const struct precompiled *table, const struct aligned *in,
                                struct aligned *out, struct arena *arena,
                                struct interrupt *interrupt, struct err *err)
{
    struct writer writer = {.table = table};
    size_t looked = 0;
    *out = *in;
    aligned_builder_init(&writer.builder, in, arena);
    for (size_t at = 0; at < in->len;) {
        if (looked++ % LOOK_CLUSTERS == 0 && interrupt_look(interrupt, err))
            return err->code;
        if (!take_plain(&writer, in, &at, err))
            return err->code;
        if (at == in->len)
            break;
        size_t end = grapheme_end(in->bytes, in->len, at);
        if (!take_cluster(&writer, in->bytes + at, end - at, err))
            return err->code;
        at = end;
    }
    if (writer_flush(&writer, err) && writer.is_changed)
        *out = writer.builder.out;
    return err->code;
}
