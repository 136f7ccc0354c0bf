#include "engine/base/gunzip.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_ONLY = 16, START_BYTES = 64 * 1024 };

struct unpacked {
    char *bytes;
    size_t len, capacity;
};

/* Doubles the room; it is at most one byte above the limit, so that a larger file is detected. */
static enum err_code make_room(struct unpacked *out, size_t bytes_max, struct err *err)
{
    if (out->len < out->capacity)
        return ERR_OK;
    if (out->len > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "it unpacks to more than %zu bytes", bytes_max);
    size_t capacity = out->capacity == 0 ? START_BYTES : 2 * out->capacity;
    capacity = capacity < bytes_max + 1 ? capacity : bytes_max + 1;
    char *bytes = realloc(out->bytes, capacity);
    if (bytes == NULL)
        return err_no_memory(err, capacity);
    out->bytes = bytes;
    out->capacity = capacity;
    return ERR_OK;
}

/* A file may hold several members one after another: they are one text (RFC 1952, 2.2). */
static enum err_code inflate_all(z_stream *stream, struct unpacked *out, size_t bytes_max,
                                 struct err *err)
{
    int status = Z_OK;
    while (status != Z_STREAM_END || stream->avail_in > 0) {
        if (make_room(out, bytes_max, err))
            return err->code;
        if (status == Z_STREAM_END && inflateReset(stream) != Z_OK)
            return err_set(err, ERR_INTERNAL, "zlib cannot start again");
        size_t room = out->capacity - out->len;
        uInt offered = room < UINT_MAX ? (uInt)room : UINT_MAX;
        stream->next_out = (Bytef *)out->bytes + out->len;
        stream->avail_out = offered;
        status = inflate(stream, Z_NO_FLUSH);
        out->len += offered - stream->avail_out;
        if (status == Z_MEM_ERROR)
            return err_no_memory(err, (size_t)1 << MAX_WBITS); /* for its window */
        bool starves = status == Z_OK && stream->avail_in == 0 && stream->avail_out > 0;
        if (starves || (status != Z_OK && status != Z_STREAM_END))
            return err_set(err, ERR_MALFORMED, "damaged or cut off gzip data");
    }
    return out->len <= bytes_max ? ERR_OK : make_room(out, bytes_max, err);
}

enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err)
{
    if (*len < 2 || (unsigned char)(*bytes)[0] != 0x1f || (unsigned char)(*bytes)[1] != 0x8b)
        return ERR_OK;
    if (*len > UINT_MAX)
        return err_set(err, ERR_TOO_LARGE, "%zu bytes of gzip; the limit is %u", *len, UINT_MAX);
    z_stream stream = {.next_in = (Bytef *)*bytes, .avail_in = (uInt)*len};
    struct unpacked out = {0};
    if (inflateInit2(&stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
        return err_no_memory(err, sizeof stream);
    inflate_all(&stream, &out, bytes_max, err);
    inflateEnd(&stream);
    if (err->code != ERR_OK) {
        free(out.bytes);
        return err->code;
    }
    free(*bytes);
    *bytes = out.bytes;
    *len = out.len;
    return ERR_OK;
}

size_t gunzip_size(const char *bytes, size_t len)
{
    enum { LEAST = 18 }; /* a head of ten bytes, and eight at the end */
    const unsigned char *last = (const unsigned char *)bytes + len - 4;
    if (len < LEAST)
        return 0;
    return last[0] | (size_t)last[1] << 8 | (size_t)last[2] << 16 | (size_t)last[3] << 24;
}

enum err_code gunzip_into(char *out, size_t room, size_t *out_len, const char *bytes, size_t len,
                          struct err *err)
{
    union {
        const char *from;
        Bytef *to;
    } in = {.from = bytes}; /* zlib only reads it */
    if (len > UINT_MAX || room > UINT_MAX)
        return err_set(err, ERR_TOO_LARGE, "gzip of more than %u bytes", UINT_MAX);
    z_stream stream = {
        .next_in = in.to, .avail_in = (uInt)len, .next_out = (Bytef *)out, .avail_out = (uInt)room};
    if (inflateInit2(&stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
        return err_no_memory(err, sizeof stream);
    int status = inflate(&stream, Z_FINISH);
    *out_len = room - stream.avail_out;
    bool is_whole = status == Z_STREAM_END && stream.avail_in == 0;
    bool is_full = stream.avail_out == 0 && (status == Z_OK || status == Z_BUF_ERROR);
    inflateEnd(&stream);
    if (status == Z_MEM_ERROR)
        return err_no_memory(err, (size_t)1 << MAX_WBITS);
    if (is_full)
        return err_set(err, ERR_TOO_LARGE, "the gzip data unpack to more than %zu bytes", room);
    if (!is_whole)
        return err_set(err, ERR_MALFORMED,
                       status == Z_STREAM_END ? "more than one gzip member"
                                              : "damaged or cut off gzip data");
    return ERR_OK;
}
