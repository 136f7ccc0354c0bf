#include "tools/batch/sources.h"

#include "engine/base/file.h"
#include "engine/base/gunzip.h"
#include "engine/content/charset.h"
#include "engine/content/text_file.h"
#include "tools/batch/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 256 * 1024, LOOK_MS = 50 };

/* The place in a CSV record: at the head of a field, in a plain one, between quotes, behind a quote
 * that closes the field unless another follows. */
enum { AT_HEAD, IN_PLAIN, IN_QUOTES, AT_QUOTE };

/* Drops the bytes that were given, and makes room behind the rest. */
static enum err_code make_room(struct record_reader *reader, struct err *err)
{
    if (reader->at > 0) {
        memmove(reader->bytes, reader->bytes + reader->at, reader->len - reader->at);
        reader->len -= reader->at;
        reader->scan -= reader->at;
        reader->at = 0;
    }
    if (reader->len < reader->size)
        return ERR_OK;
    size_t size = reader->size == 0 ? FIRST_BYTES : 2 * reader->size;
    char *larger = realloc(reader->bytes, size);
    if (larger == NULL)
        return err_no_memory(err, size);
    reader->bytes = larger;
    reader->size = size;
    return ERR_OK;
}

/* A file of UTF-16 is read whole, and its UTF-8 takes its place, in memory. */
static enum err_code decode_file(struct record_reader *reader, const char *path, struct err *err)
{
    enum { BYTES_MAX = 1 << 30 };
    char *text;
    size_t len, at = 0;
    if (file_read_input(&text, &len, path, BYTES_MAX, err) ||
        text_file_decode(&text, &len, BYTES_MAX, err))
        return err->code;
    int memory = memfd_create("text", MFD_CLOEXEC);
    for (ssize_t put = 1; at < len && put > 0; at += put > 0 ? (size_t)put : 0)
        put = write(memory, text + at, len - at);
    free(text);
    if (at < len || lseek(memory, 0, SEEK_SET) != 0) {
        if (memory >= 0)
            close(memory);
        return err_no_memory(err, len);
    }
    record_reader_close(reader);
    reader->fd = memory;
    reader->total = len;
    reader->size = reader->len = 0;
    reader->taken = 0;
    return ERR_OK;
}

enum err_code record_reader_open(struct record_reader *out, const char *path, struct err *err)
{
    struct stat file;
    char head[2] = "";
    size_t len = 0;
    bool is_stdin = strcmp(path, "-") == 0;
    *out = (struct record_reader){.line = 1, .separator = ',', .stop = out->stop};
    out->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0 || fstat(out->fd, &file) != 0)
        return err_set(err, ERR_UNUSABLE, "cannot be opened: %s", strerror(errno));
    if (S_ISDIR(file.st_mode))
        return err_set(err, ERR_UNUSABLE, "cannot be read: it is a folder");
    out->may_wait = !S_ISREG(file.st_mode);
    if (out->may_wait)
        return ERR_OK;
    out->total = (uint64_t)file.st_size;
    if (pread(out->fd, head, sizeof head, 0) == sizeof head)
        len = sizeof head;
    if (gunzip_is_packed(head, len)) {
        if ((out->packed = gunzip_open(out->fd)) == NULL)
            return err_no_memory(err, sizeof head);
        if (make_room(out, err) || gunzip_read(out->packed, out->bytes, sizeof head, &len, err))
            return err->code;
        memcpy(head, out->bytes, out->len = len);
    }
    return charset_of_mark(head, len)[0] != '\0' ? decode_file(out, path, err) : ERR_OK;
}

void record_reader_close(struct record_reader *reader)
{
    if (reader->packed != NULL) {
        reader->taken = gunzip_place(reader->packed);
        gunzip_close(reader->packed);
    }
    if (reader->fd > STDIN_FILENO)
        close(reader->fd);
    reader->packed = NULL;
    reader->fd = -1;
    free(reader->bytes);
    reader->bytes = NULL;
}

/* Drops the bytes of a record that is too long, and keeps its place. */
static void drop_if_long(struct record_reader *reader)
{
    if (reader->scan - reader->at <= RECORD_BYTES_MAX)
        return;
    reader->is_dropping = true;
    reader->taken += reader->scan - reader->at;
    reader->at = reader->scan;
}

/* Waits until there is something to read, or the end. */
static enum err_code await(const struct record_reader *reader, struct err *err)
{
    struct pollfd source = {.fd = reader->fd, .events = POLLIN};
    if (!reader->may_wait || reader->stop == NULL)
        return ERR_OK;
    while (poll(&source, 1, LOOK_MS) <= 0)
        if (atomic_load(reader->stop))
            return err_set(err, ERR_NOT_READY, "stopped");
    return ERR_OK;
}

static enum err_code fill(struct record_reader *reader, struct err *err)
{
    ssize_t got = 0;
    size_t unpacked = 0;
    if (make_room(reader, err) || await(reader, err))
        return err->code;
    char *end = reader->bytes + reader->len;
    const size_t room = reader->size - reader->len;
    if (reader->packed != NULL && gunzip_read(reader->packed, end, room, &unpacked, err))
        return err->code;
    if (reader->packed == NULL)
        do
            got = read(reader->fd, end, room);
        while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
    reader->len += unpacked + (size_t)got;
    reader->has_ended = unpacked + (size_t)got == 0;
    if (!reader->has_begun && (reader->len >= 3 || reader->has_ended)) {
        reader->has_begun = true; /* UTF-16 and gzip are left only of what is no file */
        if (gunzip_is_packed(reader->bytes, reader->len))
            return err_set(err, ERR_UNUSABLE, "is gzip%s: unpack it first, as zcat does",
                           reader->packed != NULL ? " in gzip"
                                                  : ", which is read of a file, not of a stream");
        if (charset_of_mark(reader->bytes, reader->len)[0] != '\0')
            return err_set(err, ERR_UNUSABLE,
                           "is UTF-16, which is read of a file, not of a stream; send UTF-8");
        if (reader->len >= 3 && memcmp(reader->bytes, "\xEF\xBB\xBF", 3) == 0)
            reader->at = reader->scan = reader->taken = 3;
    }
    return ERR_OK;
}

/* ---- records ---- */

static int csv_step(int state, char c, char separator)
{
    if (state == IN_QUOTES)
        return c == '"' ? AT_QUOTE : IN_QUOTES;
    if (c == separator)
        return AT_HEAD;
    if (c == '"' && state != IN_PLAIN)
        return IN_QUOTES; /* it opens the field, or is the second of two */
    return IN_PLAIN;
}

/* Moves `scan` to the line end that ends the record, or to the end of what is there. */
static bool find_end(struct record_reader *reader)
{
    if (reader->is_csv) {
        for (; reader->scan < reader->len; reader->scan++) {
            char c = reader->bytes[reader->scan];
            if (c == '\n' && reader->state != IN_QUOTES)
                return true;
            reader->lines_inside += c == '\n';
            reader->state = csv_step(reader->state, c, reader->separator);
        }
        return false;
    }
    if (reader->scan == reader->len)
        return false;
    const char *from = reader->bytes + reader->scan;
    const char *end = memchr(from, '\n', reader->len - reader->scan);
    reader->scan = end != NULL ? (size_t)(end - reader->bytes) : reader->len;
    return end != NULL;
}

static bool is_blank(const struct record_reader *reader, const struct record_span *span)
{
    for (size_t i = 0; i < span->len; i++)
        if (reader->is_csv || strchr(" \t\r", span->bytes[i]) == NULL || span->bytes[i] == '\0')
            return false;
    return !span->is_too_long;
}

enum err_code record_reader_next(struct record_reader *reader, struct record_span *out, bool *found,
                                 struct err *err)
{
    *found = false;
    while (!*found) {
        bool has_end = reader->has_begun && find_end(reader);
        if (reader->has_begun)
            drop_if_long(reader);
        if (!has_end && !reader->has_ended) {
            if (fill(reader, err))
                return err->code;
            continue;
        }
        if (!has_end && reader->at == reader->len && !reader->is_dropping)
            return ERR_OK;
        const char *bytes = reader->bytes + reader->at;
        size_t len = reader->scan - reader->at;
        reader->taken += len + has_end;
        len -= len > 0 && bytes[len - 1] == '\r';
        *out = (struct record_span){.bytes = reader->is_dropping ? "" : bytes,
                                    .len = reader->is_dropping ? 0 : len,
                                    .line = reader->line,
                                    .is_too_long = reader->is_dropping};
        reader->line += reader->lines_inside + 1;
        reader->lines_inside = 0;
        reader->scan += has_end;
        reader->at = reader->scan;
        reader->state = AT_HEAD;
        reader->is_dropping = false;
        *found = !is_blank(reader, out);
    }
    return ERR_OK;
}
