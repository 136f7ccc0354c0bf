#include "tools/client/buffer.h"

#include "engine/base/base64.h"
#include "engine/base/doc_string.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_deinit(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->len = 0;
    buffer->failed = false;
}

/* Makes room for `more` bytes and the NUL after them. */
static bool reserve(struct buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (buffer->capacity > buffer->len && more < buffer->capacity - buffer->len)
        return true;
    if (more >= SIZE_MAX / 2 - buffer->len) {
        buffer->failed = true;
        return false;
    }
    size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;
    while (capacity <= buffer->len + more)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t len)
{
    if (!reserve(buffer, len))
        return;
    if (len > 0)
        memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
    buffer->bytes[buffer->len] = '\0';
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len >= 0 && reserve(buffer, (size_t)len)) {
        vsnprintf(buffer->bytes + buffer->len, (size_t)len + 1, format, again);
        buffer->len += (size_t)len;
    }
    va_end(again);
}

void buffer_json_string(struct buffer *buffer, const char *text, size_t len)
{
    buffer_append(buffer, "\"", 1);
    for (size_t at = 0; at < len;) {
        struct doc_string_piece piece = doc_string_next(text + at, len - at, DOC_STRING_AS_IT_IS);
        buffer_append(buffer, piece.bytes, piece.len);
        at += piece.taken;
    }
    buffer_append(buffer, "\"", 1);
}

void buffer_base64(struct buffer *buffer, const void *bytes, size_t len)
{
    size_t characters = base64_encoded_size(len) - 1;
    if (!reserve(buffer, characters))
        return;
    base64_encode(buffer->bytes + buffer->len, bytes, len);
    buffer->len += characters;
}

void buffer_percent(struct buffer *buffer, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~", *c) != NULL)
            buffer_append(buffer, c, 1);
        else
            buffer_format(buffer, "%%%02X", (unsigned char)*c);
    }
}

static bool read_stream(struct buffer *buffer, FILE *file, size_t bytes_max)
{
    char piece[16384];
    size_t total = 0, got;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
        if (got > bytes_max - total) {
            errno = EFBIG;
            return false;
        }
        total += got;
        buffer_append(buffer, piece, got);
    }
    if (ferror(file))
        return false;
    errno = ENOMEM;
    return !buffer->failed;
}

bool buffer_file(struct buffer *buffer, const char *path, size_t bytes_max)
{
    if (strcmp(path, "-") == 0)
        return read_stream(buffer, stdin, bytes_max);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return false;
    bool read = read_stream(buffer, file, bytes_max);
    int error = errno;
    fclose(file);
    errno = error;
    return read;
}
