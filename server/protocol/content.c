#include "server/protocol/content.h"

#include "engine/base/gunzip.h"
#include "engine/base/utf8.h"
#include "engine/content/charset.h"
#include "engine/content/file_kind.h"
#include "engine/fab/lot_formats.h"
#include "engine/vision/input_formats.h"
#include "server/serve/snapshots.h"
#include "wire/media_type.h"

#include <string.h>
#include <strings.h>

/* ---- by the head ---- */

enum err_code content_accept(struct request *request)
{
    const char *type = http_header(request->exchange, "Content-Type");
    const char *encoding = http_header(request->exchange, "Content-Encoding");
    struct media_type found;
    if (media_type_parse(type, &found, &request->err))
        return request->err.code;
    request->body = found.body;
    request->charset = found.charset;
    request->is_typed = found.is_told;
    request->is_packed = encoding != NULL &&
                         (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0);
    if (encoding != NULL && !request->is_packed && strcasecmp(encoding, "identity") != 0)
        return err_set(&request->err, ERR_MEDIA_TYPE, "Content-Encoding must be gzip or absent");
    return ERR_OK;
}

/* ---- how much ---- */

static size_t unpacked_len_max(struct request *request)
{
    const struct http_exchange *exchange = request->exchange;
    size_t max = exchange->body_bytes_max;
    if (!request->is_packed)
        return exchange->body_len;
    if (request->unpacked_max == 0)
        request->unpacked_max = 1 + gunzip_size(exchange->body, exchange->body_len, max);
    return request->unpacked_max - 1 < max ? request->unpacked_max - 1 : max;
}

enum { FIRST_BYTES = 4 };

/* The body, or if it is packed its first bytes, which are unpacked to find out what it is. */
static const char *first_of(const struct request *request, char unpacked[FIRST_BYTES], size_t *len)
{
    const struct http_exchange *exchange = request->exchange;
    *len = exchange->body_len;
    if (!request->is_packed)
        return exchange->body;
    gunzip_into(unpacked, FIRST_BYTES, len, exchange->body, exchange->body_len, &(struct err){0});
    return unpacked;
}

/* True if the body may need decoding. A text without a charset may have any. */
static bool may_be_decoded(const struct request *request)
{
    char unpacked[FIRST_BYTES];
    size_t len;
    if (request->body != REQUEST_JSON)
        return request->body == REQUEST_TEXT;
    const char *first = first_of(request, unpacked, &len);
    return (request->charset != NULL && request->charset[0] != '\0') ||
           charset_of_json(first, len)[0] != '\0';
}

bool content_is_lot(const struct request *request)
{
    char unpacked[FIRST_BYTES];
    size_t len;
    if (request->is_typed || request->body == REQUEST_LOT)
        return request->body == REQUEST_LOT;
    const char *first = first_of(request, unpacked, &len);
    return lot_format_of_bytes(first, len) != NULL;
}

size_t content_len_max(struct request *request)
{
    size_t len = unpacked_len_max(request);
    return may_be_decoded(request) && request->body == REQUEST_JSON ? charset_bytes(len) : len;
}

size_t content_bytes(struct request *request)
{
    enum {
        ENDS = 2
    }; /* a NUL, and a byte by which data that are cut off are told from long ones */
    size_t len = unpacked_len_max(request);
    return (request->is_packed ? len + ENDS : 0) +
           (may_be_decoded(request) ? charset_bytes(len) : 0);
}

/* ---- gzip ---- */

static enum err_code unpack(struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    size_t room = unpacked_len_max(request), max = request->exchange->body_bytes_max;
    if (request->unpacked_max > max + 1)
        return err_set(&request->err, ERR_TOO_LARGE, "the body unpacks to more than %zu bytes",
                       max);
    char *content = arena_alloc(&exchange->arena, room + 2);
    if (content == NULL)
        return err_no_memory(&request->err, room + 2);
    if (gunzip_into(content, room + 1, &request->content_len, exchange->body, exchange->body_len,
                    &request->err))
        return err_prefix(&request->err, "body: ");
    content[request->content_len] = '\0';
    request->content = content;
    return ERR_OK;
}

/* ---- what it is ---- */

static enum err_code refuse_kind(struct request *request, const struct file_kind *kind)
{
    enum err_code code = request->body == REQUEST_JSON ? ERR_MALFORMED : ERR_UNUSABLE;
    return err_set(&request->err, code, "body: this is %s: %s", kind->name,
                   kind->use == FILE_IS_GZIP && !request->is_packed ? "send Content-Encoding: gzip"
                                                                    : kind->advice);
}

/* curl calls every body a form. A text must be called one: who could tell it from broken JSON? */
static void recognise(struct request *request)
{
    if (input_format_of_bytes(request->content, request->content_len) != NULL)
        request->body = REQUEST_IMAGE;
    else if (lot_format_of_bytes(request->content, request->content_len) != NULL)
        request->body = REQUEST_LOT;
}

static bool looks_like_json(const struct request *request)
{
    size_t blank = 0;
    while (blank < request->content_len && strchr(" \t\r\n", request->content[blank]) != NULL &&
           request->content[blank] != '\0')
        blank++;
    return blank == request->content_len || request->content[blank] == '{' ||
           request->content[blank] == '[';
}

static enum err_code check_json(struct request *request)
{
    if (request->content_len == 0)
        return err_set(&request->err, ERR_MALFORMED,
                       "the body is empty; curl --data-binary @FILE sends none if it cannot read "
                       "FILE");
    if (request->is_typed || looks_like_json(request))
        return ERR_OK;
    return err_set(&request->err, ERR_MALFORMED,
                   "unknown body: send JSON, or for a prediction a picture (" INPUT_FORMATS_OR
                   ") or a lot (" LOT_FORMATS_OR
                   "). With curl use --data-binary @FILE. For plain text add "
                   "Content-Type: text/plain");
}

/* ---- charsets ---- */

/* UTF-16 without a byte order mark has a NUL beside each letter of ASCII. */
static const char *likely_charset(const struct request *request)
{
    enum { NEAR = 64 };
    const size_t len = request->content_len < NEAR ? request->content_len : NEAR;
    const char *nul = memchr(request->content, '\0', len);
    if (nul == NULL)
        return "windows-1252";
    return (nul - request->content) % 2 == 1 ? "utf-16le" : "utf-16be";
}

static enum err_code check_utf8(struct request *request)
{
    for (size_t at = 0, bytes; at < request->content_len; at += bytes)
        if ((bytes = utf8_character_bytes(request->content + at, request->content_len - at)) == 0)
            return err_set(&request->err, ERR_UNUSABLE,
                           "body: invalid UTF-8 at byte %zu; if the text has another charset, name "
                           "it: Content-Type: text/plain; charset=%s",
                           at, likely_charset(request));
    return ERR_OK;
}

/* To UTF-8 without a byte order mark. */
static enum err_code decode(struct request *request, const char *charset)
{
    char *text = arena_alloc(&request->exchange->arena, charset_bytes(request->content_len));
    if (text == NULL)
        return err_no_memory(&request->err, charset_bytes(request->content_len));
    if (charset_decode(charset, request->content, request->content_len, text, &request->content_len,
                       &request->err))
        return err_prefix(&request->err, "body: ");
    request->content = text;
    return ERR_OK;
}

static bool has_mark(const struct request *request)
{
    return request->content_len >= 3 && memcmp(request->content, "\xEF\xBB\xBF", 3) == 0;
}

/* A byte order mark says more than the head. */
static const char *charset_of(const struct request *request)
{
    const char *bytes = request->content;
    const size_t len = request->content_len;
    const char *marked =
        request->body == REQUEST_JSON ? charset_of_json(bytes, len) : charset_of_mark(bytes, len);
    if (marked[0] != '\0' || request->charset == NULL || has_mark(request))
        return marked;
    return request->charset;
}

static enum err_code read_letters(struct request *request)
{
    const char *charset = charset_of(request);
    if (charset[0] != '\0')
        return decode(request, charset);
    if (has_mark(request)) {
        request->content += 3;
        request->content_len -= 3;
    }
    if (request->body == REQUEST_TEXT)
        return check_utf8(request);
    while (request->content_len > 0 && request->content[request->content_len - 1] == '\0')
        request->content_len--; /* a string of C, sent with its end */
    return ERR_OK;
}

enum err_code content_unpack(struct request *request)
{
    request->content = request->exchange->body;
    request->content_len = request->exchange->body_len;
    return request->is_packed ? unpack(request) : ERR_OK;
}

enum err_code content_decode(struct request *request)
{
    if (content_unpack(request))
        return request->err.code;
    if (!request->is_typed)
        recognise(request);
    const struct file_kind *kind = file_kind_of_text(request->content, request->content_len);
    const bool has_letters = request->body == REQUEST_JSON || request->body == REQUEST_TEXT;
    if (kind != NULL && (has_letters || kind->use == FILE_IS_GZIP))
        return refuse_kind(request, kind);
    if (!has_letters || read_letters(request))
        return request->err.code;
    return request->body == REQUEST_JSON ? check_json(request) : ERR_OK;
}

enum err_code content_decode_json(struct request *request)
{
    if (content_decode(request))
        return request->err.code;
    if (request->body == REQUEST_IMAGE || request->body == REQUEST_LOT)
        return err_set(&request->err, ERR_MEDIA_TYPE, "body: expected JSON, found %s",
                       request->body == REQUEST_LOT ? "a lot (" LOT_FORMATS_OR ")" : "a picture");
    return ERR_OK;
}
