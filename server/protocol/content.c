#include "server/protocol/content.h"

#include "engine/base/gunzip.h"
#include "engine/base/utf8.h"
#include "server/protocol/charset.h"
#include "server/serve/snapshots.h"

#include <string.h>

static bool begins_with(const struct request *request, const char *bytes, size_t len)
{
    return request->content_len >= len && memcmp(request->content, bytes, len) == 0;
}

static bool holds(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

/* ---- how much ---- */

size_t content_len_max(const struct request *request)
{
    const struct http_exchange *exchange = request->exchange;
    size_t max = request->snapshot->config.body_bytes_max;
    if (!request->is_packed)
        return exchange->body_len;
    size_t len = gunzip_size(exchange->body, exchange->body_len);
    return len < max ? len : max;
}

/* A text may be decoded, too: its byte order mark is not known before it is unpacked. */
size_t content_bytes(const struct request *request)
{
    size_t len = content_len_max(request);
    size_t unpacked = request->is_packed ? len + 1 : 0;
    return unpacked + (request->body == REQUEST_TEXT ? charset_bytes(len) : 0);
}

/* ---- gzip ---- */

static enum err_code unpack(struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    size_t room = content_len_max(request), max = request->snapshot->config.body_bytes_max;
    if (gunzip_size(exchange->body, exchange->body_len) > max)
        return err_set(&request->err, ERR_TOO_LARGE, "the body unpacks to more than %zu bytes",
                       max);
    char *content = arena_alloc(&exchange->arena, room + 1);
    if (content == NULL)
        return err_no_memory(&request->err, room + 1);
    if (gunzip_into(content, room, &request->content_len, exchange->body, exchange->body_len,
                    &request->err))
        return err_prefix(&request->err, "body: ");
    content[request->content_len] = '\0';
    request->content = content;
    return ERR_OK;
}

/* ---- what it is ---- */

/* curl calls every body a form. A text must be called one: who could tell it from broken JSON? */
static void recognise(struct request *request)
{
    if (engine_is_picture(request->content, request->content_len))
        request->body = REQUEST_IMAGE;
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
    if (request->is_typed || looks_like_json(request))
        return ERR_OK;
    return err_set(&request->err, ERR_MALFORMED,
                   "the body is neither JSON nor a PNG or JPEG picture; of a text say so: "
                   "Content-Type: text/plain");
}

/* Files of a fab that are texts, or look like some, but no logs: a model would give any of them a
 * label. STDF begins with the record FAR (STDF V4, 1995): length 2, type 0, subtype 10. */
static const char *fab_format(const struct request *request)
{
    enum { HEAD = 2048 };
    const char *text = request->content;
    size_t len = request->content_len < HEAD ? request->content_len : HEAD;
    if (begins_with(request, "\x02\x00\x00\x0A", 4) || begins_with(request, "\x00\x02\x00\x0A", 4))
        return "an STDF file";
    if (begins_with(request, "FileVersion", 11) &&
        (holds(text, len, "FileTimestamp") || holds(text, len, "InspectionStationID")))
        return "a KLARF file";
    if (holds(text, len, "<MapData") || holds(text, len, "xmlns:semi") ||
        (holds(text, len, "<Map") && holds(text, len, "semi.org")))
        return "a SEMI wafer map (E142 or G85)";
    return NULL;
}

/* ---- texts ---- */

static enum err_code check_utf8(struct request *request)
{
    for (size_t at = 0, bytes; at < request->content_len; at += bytes)
        if ((bytes = utf8_character_bytes(request->content + at, request->content_len - at)) == 0)
            return err_set(&request->err, ERR_UNUSABLE,
                           "body: invalid UTF-8 at byte %zu; if the text has another charset, name "
                           "it: Content-Type: text/plain; charset=windows-1252",
                           at);
    return ERR_OK;
}

static enum err_code decode_text(struct request *request)
{
    const char *charset = request->charset != NULL && request->charset[0] != '\0'
                              ? request->charset
                              : charset_of_mark(request->content, request->content_len);
    const char *format = fab_format(request);
    if (format != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "body: this is %s, not a log; wafers are read as PNG or JPEG pictures",
                       format);
    if (charset[0] == '\0')
        return check_utf8(request);
    char *text = arena_alloc(&request->exchange->arena, charset_bytes(request->content_len));
    if (text == NULL)
        return err_no_memory(&request->err, charset_bytes(request->content_len));
    if (charset_decode(charset, request->content, request->content_len, text, &request->content_len,
                       &request->err))
        return err_prefix(&request->err, "body: ");
    request->content = text;
    return ERR_OK;
}

enum err_code content_decode(struct request *request)
{
    request->content = request->exchange->body;
    request->content_len = request->exchange->body_len;
    if (request->is_packed && unpack(request))
        return request->err.code;
    if (!request->is_typed)
        recognise(request);
    if (request->body == REQUEST_JSON)
        return check_json(request);
    return request->body == REQUEST_TEXT ? decode_text(request) : ERR_OK;
}
