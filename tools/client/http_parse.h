/* http_parse.h - an incremental parser of HTTP/1.1 replies.
 *
 *     struct http_parse reply = {0};
 *     http_parse_reset(&reply);
 *     switch (http_parse_feed(&reply, bytes, len, &used)) {
 *     case HTTP_PARSE_MORE: ...        feed what arrives next; http_parse_end if nothing will
 *     case HTTP_PARSE_DONE: ...        reply.status, reply.body; bytes from `used` on are not its
 *     case HTTP_PARSE_BAD: ...         reply.why
 *     }
 *
 * Strict about framing: lines end in CRLF, one Content-Length, never both framings, chunk sizes
 * that fit. Interim (1xx) replies are skipped. Threads: one at a time.
 */
#ifndef ATTND_TOOLS_CLIENT_HTTP_PARSE_H
#define ATTND_TOOLS_CLIENT_HTTP_PARSE_H

#include "tools/client/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_PARSE_LINE_MAX = 8192,
    HTTP_PARSE_LINES_MAX = 128,            /* header and trailer lines */
    HTTP_PARSE_BODY_MAX = 64 * 1024 * 1024 /* bytes */
};

enum http_parse_result { HTTP_PARSE_MORE, HTTP_PARSE_DONE, HTTP_PARSE_BAD };

struct http_parse {
    /* The reply; complete when the result is HTTP_PARSE_DONE. */
    unsigned status;
    bool closes;      /* no further request on this connection */
    bool retry_after; /* a Retry-After header with a number of seconds was there */
    struct buffer body;
    const char *why; /* after HTTP_PARSE_BAD; static */

    /* State of the parser. */
    enum {
        HTTP_PARSE_STATUS,
        HTTP_PARSE_HEADERS,
        HTTP_PARSE_BODY,       /* `left` bytes */
        HTTP_PARSE_BODY_CLOSE, /* until the connection closes */
        HTTP_PARSE_CHUNK_SIZE,
        HTTP_PARSE_CHUNK, /* `left` bytes */
        HTTP_PARSE_CHUNK_END,
        HTTP_PARSE_TRAILERS,
        HTTP_PARSE_WHOLE,
        HTTP_PARSE_BROKEN
    } at;
    bool has_length, chunked, any_byte;
    uint64_t length, left;
    unsigned lines;
    size_t line_len;
    char line[HTTP_PARSE_LINE_MAX];
};

/* Ready for the next reply; keeps the body's memory. */
void http_parse_reset(struct http_parse *parse);
void http_parse_deinit(struct http_parse *parse);

/* Reads up to the reply's end; *used is how many of the bytes it took. */
enum http_parse_result http_parse_feed(struct http_parse *parse, const char *bytes, size_t len,
                                       size_t *used);

/* The connection has closed: DONE if that ends the reply, else BAD. */
enum http_parse_result http_parse_end(struct http_parse *parse);

#endif
