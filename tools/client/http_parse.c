/* http_parse.c - see connection.h. The parser is a walk over lines and runs of body bytes: in a
 * line state bytes are collected up to CRLF and the whole line is judged; in a body state they go
 * straight into the body. Message framing follows RFC 9112 section 6.3, except that a reply whose
 * framing is ambiguous (both Content-Length and Transfer-Encoding, two lengths) is refused instead
 * of repaired: a load test must report such a server. */
#include "tools/client/connection.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

void http_parse_reset(struct http_parse *parse)
{
    parse->status = 0;
    parse->closes = parse->retry_after = false;
    buffer_clear(&parse->body);
    parse->why = NULL;
    parse->at = HTTP_PARSE_STATUS;
    parse->has_length = parse->chunked = parse->any_byte = false;
    parse->length = parse->left = 0;
    parse->lines = 0;
    parse->line_len = 0;
}

void http_parse_deinit(struct http_parse *parse)
{
    buffer_deinit(&parse->body);
}

static bool broken(struct http_parse *parse, const char *why)
{
    parse->why = why;
    parse->at = HTTP_PARSE_BROKEN;
    return false;
}

/* Digits of the given base and nothing else; false also when the number does not fit. */
static bool read_number(const char *text, size_t len, unsigned base, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!(base == 16 ? isxdigit(c) : isdigit(c)))
            return false;
        unsigned digit = (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
        if (value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return len > 0;
}

static bool status_line(struct http_parse *parse)
{
    const char *line = parse->line;
    uint64_t status;
    if (parse->line_len < 12 || strncmp(line, "HTTP/1.", 7) != 0 ||
        !isdigit((unsigned char)line[7]))
        return broken(parse, "no HTTP/1.x status line");
    if (line[8] != ' ' || !read_number(line + 9, 3, 10, &status) || status < 100 || status > 599)
        return broken(parse, "no status code from 100 to 599");
    if (parse->line_len > 12 && line[12] != ' ')
        return broken(parse, "no space after the status code");
    parse->status = (unsigned)status;
    parse->closes = line[7] == '0';
    parse->at = HTTP_PARSE_HEADERS;
    return true;
}

static bool header(struct http_parse *parse, const char *name, const char *value)
{
    uint64_t seconds;
    if (strcasecmp(name, "Content-Length") == 0) {
        if (parse->has_length)
            return broken(parse, "two Content-Length headers");
        if (!read_number(value, strlen(value), 10, &parse->length))
            return broken(parse, "Content-Length is not a number");
        if (parse->length > HTTP_PARSE_BODY_MAX)
            return broken(parse, "body larger than 64 MiB");
        parse->has_length = true;
        return true;
    }
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        if (parse->chunked || strcasecmp(value, "chunked") != 0)
            return broken(parse, "Transfer-Encoding is not \"chunked\"");
        parse->chunked = true;
        return true;
    }
    if (strcasecmp(name, "Connection") == 0 && strcasecmp(value, "close") == 0)
        parse->closes = true;
    if (strcasecmp(name, "Retry-After") == 0)
        parse->retry_after = read_number(value, strlen(value), 10, &seconds);
    return true;
}

/* Cuts the line at its colon, in place, and trims the value. */
static bool header_line(struct http_parse *parse)
{
    char *colon = strchr(parse->line, ':');
    if (colon == NULL || colon == parse->line)
        return broken(parse, "a header line without a name");
    *colon = '\0';
    if (strpbrk(parse->line, " \t") != NULL)
        return broken(parse, "white space in a header's name");
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        value[--len] = '\0';
    return header(parse, parse->line, value);
}

/* The empty line after the headers: decides what the body is made of. */
static bool headers_end(struct http_parse *parse)
{
    if (parse->has_length && parse->chunked)
        return broken(parse, "both Content-Length and Transfer-Encoding");
    if (parse->status == 101)
        return broken(parse, "an upgrade that nobody asked for");
    if (parse->status < 200) {
        http_parse_reset(parse);
        parse->any_byte = true;
        return true;
    }
    parse->left = parse->length;
    if (parse->status == 204 || parse->status == 304 || (parse->has_length && parse->length == 0))
        parse->at = HTTP_PARSE_WHOLE;
    else if (parse->chunked)
        parse->at = HTTP_PARSE_CHUNK_SIZE;
    else
        parse->at = parse->has_length ? HTTP_PARSE_BODY : HTTP_PARSE_BODY_CLOSE;
    if (parse->at == HTTP_PARSE_BODY_CLOSE)
        parse->closes = true;
    return true;
}

/* parse->line holds a whole line, NUL instead of CRLF. */
static bool take_line(struct http_parse *parse)
{
    if (memchr(parse->line, '\0', parse->line_len) != NULL)
        return broken(parse, "a NUL in a header line");
    switch (parse->at) {
    case HTTP_PARSE_STATUS:
        return status_line(parse);
    case HTTP_PARSE_CHUNK_SIZE: {
        size_t len = strcspn(parse->line, "; \t");
        if (!read_number(parse->line, len, 16, &parse->left))
            return broken(parse, "a chunk size that is not a number");
        if (parse->left > HTTP_PARSE_BODY_MAX - parse->body.len)
            return broken(parse, "body larger than 64 MiB");
        parse->at = parse->left == 0 ? HTTP_PARSE_TRAILERS : HTTP_PARSE_CHUNK;
        return true;
    }
    case HTTP_PARSE_CHUNK_END:
        if (parse->line_len > 0)
            return broken(parse, "bytes after the end of a chunk");
        parse->at = HTTP_PARSE_CHUNK_SIZE;
        return true;
    default:
        if (parse->line_len > 0 && ++parse->lines > HTTP_PARSE_LINES_MAX)
            return broken(parse, "more than 128 header lines");
        if (parse->at == HTTP_PARSE_HEADERS)
            return parse->line_len == 0 ? headers_end(parse) : header_line(parse);
        if (parse->line_len == 0)
            parse->at = HTTP_PARSE_WHOLE;
        return true;
    }
}

/* Collects a line; bytes taken, at least one. */
static size_t feed_line(struct http_parse *parse, const char *bytes, size_t len)
{
    const char *newline = memchr(bytes, '\n', len);
    size_t taken = newline != NULL ? (size_t)(newline - bytes) + 1 : len;
    if (taken > sizeof parse->line - parse->line_len) {
        broken(parse, "a header line longer than 8192 bytes");
        return len;
    }
    memcpy(parse->line + parse->line_len, bytes, taken);
    parse->line_len += taken;
    if (newline == NULL)
        return taken;
    if (parse->line_len < 2 || parse->line[parse->line_len - 2] != '\r') {
        broken(parse, "a line that does not end in CRLF");
        return taken;
    }
    parse->line_len -= 2;
    parse->line[parse->line_len] = '\0';
    take_line(parse);
    parse->line_len = 0;
    return taken;
}

/* Moves body bytes; bytes taken, at least one. */
static size_t feed_body(struct http_parse *parse, const char *bytes, size_t len)
{
    size_t taken = len;
    if (parse->at != HTTP_PARSE_BODY_CLOSE && parse->left < len)
        taken = (size_t)parse->left;
    if (taken > HTTP_PARSE_BODY_MAX - parse->body.len) {
        broken(parse, "body larger than 64 MiB");
        return len;
    }
    buffer_append(&parse->body, bytes, taken);
    if (parse->body.failed)
        broken(parse, "no memory for the body");
    if (parse->at == HTTP_PARSE_BODY_CLOSE || parse->at == HTTP_PARSE_BROKEN)
        return taken;
    parse->left -= taken;
    if (parse->left == 0)
        parse->at = parse->at == HTTP_PARSE_BODY ? HTTP_PARSE_WHOLE : HTTP_PARSE_CHUNK_END;
    return taken;
}

enum http_parse_result http_parse_feed(struct http_parse *parse, const char *bytes, size_t len,
                                       size_t *used)
{
    *used = 0;
    if (len > 0)
        parse->any_byte = true;
    while (*used < len && parse->at != HTTP_PARSE_WHOLE && parse->at != HTTP_PARSE_BROKEN) {
        bool in_body = parse->at == HTTP_PARSE_BODY || parse->at == HTTP_PARSE_BODY_CLOSE ||
                       parse->at == HTTP_PARSE_CHUNK;
        *used += in_body ? feed_body(parse, bytes + *used, len - *used)
                         : feed_line(parse, bytes + *used, len - *used);
    }
    if (parse->at == HTTP_PARSE_BROKEN)
        return HTTP_PARSE_BAD;
    return parse->at == HTTP_PARSE_WHOLE ? HTTP_PARSE_DONE : HTTP_PARSE_MORE;
}

enum http_parse_result http_parse_end(struct http_parse *parse)
{
    if (parse->at == HTTP_PARSE_BODY_CLOSE)
        parse->at = HTTP_PARSE_WHOLE;
    if (parse->at == HTTP_PARSE_WHOLE)
        return HTTP_PARSE_DONE;
    if (parse->at != HTTP_PARSE_BROKEN)
        broken(parse, "the connection closed in the middle of the reply");
    return HTTP_PARSE_BAD;
}
