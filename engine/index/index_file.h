/* index_file.h - the file of an index, and how it lies in memory. Private to engine/index.
 *
 *     header            [INDEX_HEADER_BYTES] struct index_header, little-endian, zeros behind it
 *     ends              u64 [rows]   end of the row's strings, in `strings`
 *     coarse, fine      f32 [rows]   scales of the upper bytes, and of the whole numbers
 *     length            f32 [rows]   |r|
 *     strings                        id, label and source of each row, each with its NUL
 *     upper             i8 [rows, dimensions]
 *     lower             i8 [rows, dimensions]   of int16: v = 256 upper + lower
 *     digest            [64]         SHA-256 of all before it, in hexadecimal
 *
 * Every size follows from the header, and must add up to the size of the file, before memory is
 * taken. After index_open each number is finite and each string is terminated UTF-8 within its
 * bounds. */
#ifndef ATTND_ENGINE_INDEX_INDEX_FILE_H
#define ATTND_ENGINE_INDEX_INDEX_FILE_H

#include "engine/base/utf8.h"
#include "engine/index/index.h"

#include <stdbool.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "an index is stored little-endian");

#define INDEX_MAGIC "attndidx"

enum { INDEX_VERSION = 1, INDEX_HEADER_BYTES = 256, INDEX_SUM_BYTES = 64, INDEX_TOP = 127 };

struct index_header {
    char magic[8];
    uint32_t version;
    uint32_t dimensions;
    uint64_t rows;
    uint64_t string_bytes;
    uint8_t space, similarity, element, zero[5];
    char digest[INDEX_DIGEST_BYTES];
    char model[INDEX_MODEL_BYTES];
};
_Static_assert(sizeof(struct index_header) <= INDEX_HEADER_BYTES, "the header has room");

/* Offsets from the header's end. */
struct index_layout {
    uint64_t ends, coarse, fine, length, strings, upper, lower, sum;
    uint64_t file_bytes;
};

/* The header must have rows, dimensions and string_bytes within their limits. */
static inline struct index_layout index_lay_out(const struct index_header *header)
{
    const uint64_t rows = header->rows, plane = rows * header->dimensions;
    struct index_layout layout = {.ends = 0, .coarse = rows * sizeof(uint64_t)};
    layout.fine = layout.coarse + rows * sizeof(float);
    layout.length = layout.fine + rows * sizeof(float);
    layout.strings = layout.length + rows * sizeof(float);
    layout.upper = layout.strings + header->string_bytes;
    layout.lower = layout.upper + plane;
    layout.sum = layout.lower + (header->element == INDEX_INT16 ? plane : 0);
    layout.file_bytes = INDEX_HEADER_BYTES + layout.sum + INDEX_SUM_BYTES;
    return layout;
}

/* True for UTF-8 without control characters: what an index holds is printed on terminals. */
static inline bool index_is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return false;
    return utf8_is_valid(text, len);
}

struct index {
    struct index_info info;
    char *memory; /* the file behind its header */
    const uint64_t *ends;
    const float *coarse, *fine, *length;
    const char *strings;
    const int8_t *upper, *lower; /* lower NULL: int8 */
};

#endif
