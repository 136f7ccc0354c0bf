#include "engine/data/grey_png.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A PNG is a signature and chunks: length, name, body, checksum of name and body (PNG
 * specification, third edition, 5.3). */
enum { SIGNATURE = 8, CHUNK = 12, IHDR = 13, SIDE_MAX = 16384 };

static void put_u4(unsigned char *out, unsigned long value)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Closes the chunk at `at` around a body of `len` bytes that stands there already; where the next
 * one begins. */
static unsigned char *seal(unsigned char *at, const char *name, size_t len)
{
    put_u4(at, len);
    memcpy(at + 4, name, 4);
    put_u4(at + 8 + len, crc32(0, at + 4, (uInt)len + 4));
    return at + CHUNK + len;
}

static unsigned char *put_head(unsigned char *at, unsigned width, unsigned height)
{
    static const unsigned char eight_bits_grey[] = {8, 0, 0, 0, 0};
    memcpy(at, "\x89PNG\r\n\x1a\n", SIGNATURE);
    at += SIGNATURE;
    put_u4(at + 8, width);
    put_u4(at + 12, height);
    memcpy(at + 16, eight_bits_grey, sizeof eight_bits_grey);
    return seal(at, "IHDR", IHDR);
}

/* Each row opens with its filter: none. */
static unsigned char *filtered(const unsigned char *grey, unsigned width, unsigned height)
{
    unsigned char *rows = malloc(((size_t)width + 1) * height);
    for (size_t y = 0; rows != NULL && y < height; y++) {
        rows[y * (width + 1)] = 0;
        memcpy(rows + y * (width + 1) + 1, grey + y * width, width);
    }
    return rows;
}

enum err_code grey_png_write(const unsigned char *grey, unsigned width, unsigned height,
                             char **bytes, size_t *len, struct err *err)
{
    assert(width > 0 && width <= SIDE_MAX && height > 0 && height <= SIDE_MAX);
    uLong raw = ((uLong)width + 1) * height;
    uLongf packed = compressBound(raw);
    size_t room = SIGNATURE + 3 * CHUNK + IHDR + packed;
    unsigned char *rows = filtered(grey, width, height), *out = malloc(room);
    if (rows == NULL || out == NULL) {
        free(rows);
        free(out);
        return err_no_memory(err, room);
    }
    unsigned char *at = put_head(out, width, height);
    int status = compress2(at + 8, &packed, rows, raw, Z_BEST_SPEED);
    free(rows);
    if (status != Z_OK) {
        free(out);
        return err_set(err, ERR_NO_MEMORY, "zlib cannot compress %lu bytes", raw);
    }
    at = seal(seal(at, "IDAT", packed), "IEND", 0);
    *bytes = (char *)out;
    *len = (size_t)(at - out);
    return ERR_OK;
}
