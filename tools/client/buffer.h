/* buffer.h - bytes that grow: request bodies, replies and reports are written into these.
 *
 *     struct buffer body = {0};
 *     buffer_text(&body, "{\"text\":");
 *     buffer_json_string(&body, text, len);
 *     buffer_text(&body, "}");
 *     if (body.failed) ...                    (no memory: checked once, at the end)
 *     buffer_deinit(&body);
 *
 * After a failed allocation a buffer stays as it is, ignores what is appended and sets `failed`.
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_CLIENT_BUFFER_H
#define ATTND_TOOLS_CLIENT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes; /* NUL-terminated unless NULL */
    size_t len, capacity;
    bool failed;
};

void buffer_deinit(struct buffer *buffer); /* frees; the buffer is empty again */
void buffer_clear(struct buffer *buffer);  /* empties, keeps the memory */

void buffer_append(struct buffer *buffer, const void *bytes, size_t len);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes (RFC 8259 section 7). Bytes above 0x7F pass as they are, UTF-8 or
 * not. */
void buffer_json_string(struct buffer *buffer, const char *text, size_t len);

/* Standard base64 with padding, without line breaks (RFC 4648 section 4). */
void buffer_base64(struct buffer *buffer, const void *bytes, size_t len);

/* Appends the value of a query: everything but RFC 3986's unreserved characters as %XX. */
void buffer_percent(struct buffer *buffer, const char *text);

/* Appends a whole file of at most bytes_max bytes ("-" is stdin). False with errno set (EFBIG if
 * the file is larger, ENOMEM without memory). */
bool buffer_file(struct buffer *buffer, const char *path, size_t bytes_max);

#endif
