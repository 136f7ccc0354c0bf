#include "engine/base/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

bool gunzip_is_packed(const void *bytes, size_t len)
{
    return len >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

/* True if another member follows. gzip(1) ignores all else there; zeros pad a tape's blocks. */
static bool has_another(z_stream *stream)
{
    return gunzip_is_packed(stream->next_in, stream->avail_in) && inflateReset(stream) == Z_OK;
}

static enum err_code refuse_data(const z_stream *stream, int status, struct err *err)
{
    if (status == Z_MEM_ERROR)
        return err_no_memory(err, (size_t)1 << MAX_WBITS); /* zlib's window */
    if (status == Z_OK || status == Z_BUF_ERROR)
        return err_set(err, ERR_MALFORMED, "the gzip data are cut off");
    return err_set(err, ERR_MALFORMED, "the gzip data are damaged near byte %zu",
                   (size_t)stream->total_in);
}

/* Unpacks all members. A file may have several, which are one text (RFC 1952, 2.2). */
static enum err_code inflate_all(z_stream *stream, struct unpacked *out, size_t bytes_max,
                                 struct err *err)
{
    int status = Z_OK;
    while (status != Z_STREAM_END || has_another(stream)) {
        if (make_room(out, bytes_max, err))
            return err->code;
        size_t room = out->capacity - out->len;
        uInt offered = room < UINT_MAX ? (uInt)room : UINT_MAX;
        stream->next_out = (Bytef *)out->bytes + out->len;
        stream->avail_out = offered;
        status = inflate(stream, Z_NO_FLUSH);
        out->len += offered - stream->avail_out;
        bool starves = status == Z_OK && stream->avail_in == 0 && stream->avail_out > 0;
        if (starves || (status != Z_OK && status != Z_STREAM_END))
            return refuse_data(stream, status, err);
    }
    return out->len <= bytes_max ? ERR_OK : make_room(out, bytes_max, err);
}

enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err)
{
    if (!gunzip_is_packed(*bytes, *len))
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

/* zlib only reads its input. */
static bool begin(z_stream *stream, const char *bytes, size_t len)
{
    union {
        const char *from;
        Bytef *to;
    } in = {.from = bytes};
    *stream = (z_stream){.next_in = in.to, .avail_in = (uInt)len};
    return inflateInit2(stream, GZIP_ONLY + MAX_WBITS) == Z_OK;
}

size_t gunzip_size(const char *bytes, size_t len, size_t bytes_max)
{
    enum { PIECE_BYTES = 16 * 1024 };
    unsigned char piece[PIECE_BYTES];
    size_t size = 0;
    z_stream stream;
    int status = Z_OK;
    if (len > UINT_MAX || !begin(&stream, bytes, len))
        return 0;
    while (size <= bytes_max &&
           (status == Z_OK || (status == Z_STREAM_END && has_another(&stream)))) {
        stream.next_out = piece;
        stream.avail_out = PIECE_BYTES;
        status = inflate(&stream, Z_NO_FLUSH);
        size += PIECE_BYTES - stream.avail_out;
    }
    inflateEnd(&stream);
    return size <= bytes_max ? size : bytes_max + 1;
}

enum err_code gunzip_into(char *out, size_t room, size_t *out_len, const char *bytes, size_t len,
                          struct err *err)
{
    z_stream stream;
    *out_len = 0;
    if (!gunzip_is_packed(bytes, len))
        return err_set(err, ERR_MALFORMED, "not gzip data: they do not begin with 1f 8b");
    if (len > UINT_MAX || room > UINT_MAX)
        return err_set(err, ERR_TOO_LARGE, "gzip of more than %u bytes", UINT_MAX);
    if (!begin(&stream, bytes, len))
        return err_no_memory(err, sizeof stream);
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)room;
    int status;
    do
        status = inflate(&stream, Z_FINISH);
    while (status == Z_STREAM_END && has_another(&stream));
    *out_len = room - stream.avail_out;
    bool is_full = stream.avail_out == 0 && (status == Z_OK || status == Z_BUF_ERROR);
    inflateEnd(&stream);
    if (is_full)
        return err_set(err, ERR_TOO_LARGE, "the gzip data unpack to more than %zu bytes", room);
    return status == Z_STREAM_END ? ERR_OK : refuse_data(&stream, status, err);
}

/* ---- a file, piece by piece ---- */

struct gzFile_s *gunzip_open(int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct gzFile_s *file = own < 0 ? NULL : gzdopen(own, "rb");
    if (file == NULL && own >= 0)
        close(own);
    return file;
}

enum err_code gunzip_read(struct gzFile_s *file, char *out, size_t room, size_t *got,
                          struct err *err)
{
    int status, count = gzread(file, out, room < INT_MAX ? (unsigned)room : INT_MAX);
    *got = count > 0 ? (size_t)count : 0;
    if (count > 0)
        return ERR_OK;
    const char *cause = gzerror(file, &status);
    if (status == Z_OK)
        return ERR_OK;
    if (status == Z_ERRNO)
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
    if (status == Z_MEM_ERROR)
        return err_no_memory(err, (size_t)1 << MAX_WBITS);
    if (status == Z_BUF_ERROR)
        return err_set(err, ERR_MALFORMED, "the gzip data are cut off");
    return err_set(err, ERR_MALFORMED, "the gzip data are damaged near byte %llu: %s",
                   (unsigned long long)gunzip_place(file), cause);
}

uint64_t gunzip_place(struct gzFile_s *file)
{
    z_off_t at = gzoffset(file);
    return at > 0 ? (uint64_t)at : 0;
}

void gunzip_close(struct gzFile_s *file)
{
    gzclose(file);
}
