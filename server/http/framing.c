/* framing.c - see framing.h. The rules, each with what goes wrong without it under libmicrohttpd
 * 0.9.75 (which looks up the first header of a name and knows nothing of the others):
 *
 *   names are tokens             "Content-Length : 3" would be another header than Content-Length
 *   one Content-Length, digits   two lengths, or "5, 5": the first wins here, the last elsewhere
 *   never with Transfer-Encoding RFC 9112 lets the latter win; an older proxy takes the former
 *   Transfer-Encoding: chunked   "identity, chunked", "xchunked": read as a body without an end
 *   no name that begins so       a typing error, or a folded line glued to it: "Content-Length12"
 *   one Host, and one in 1.1     RFC 9112, section 3.2; two hosts are two routes
 *   no control byte in a value   RFC 9110, section 5.5; a bare CR is a line's end to some
 *   only POST has a body         a body on GET has no meaning and hides the next request
 *
 * What the library drops or glues together without a capture in the fields is found in layout.c. */
#include "server/http/framing.h"

#include "wire/limits.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* RFC 9110, section 5.6.2. */
static bool is_token(const char *text, size_t len)
{
    static const char token_bytes[] = "!#$%&'*+-.^_`|~0123456789"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return len > 0 && strlen(text) == len && strspn(text, token_bytes) == len;
}

/* RFC 3986, section 3.2: what a host and a port are spelled with. */
static bool is_authority(const char *text, size_t len)
{
    static const char host_bytes[] = "-._~%!$&'()*+,;=:[]0123456789"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return strspn(text, host_bytes) >= len;
}

/* Blanks behind a value are not part of it (RFC 9112, section 5.1). */
static bool is_host(const char *value)
{
    size_t len = strcspn(value, " \t");
    return is_authority(value, len) && value[len + strspn(value + len, " \t")] == '\0';
}

static bool has_control(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return true;
    }
    return false;
}

static bool is_named(const struct framing_field *field, const char *name)
{
    return strcasecmp(field->name, name) == 0;
}

static bool begins_like(const struct framing_field *field, const char *name)
{
    return strncasecmp(field->name, name, strlen(name)) == 0;
}

/* Surrounding white space is not part of a value (RFC 9110, section 5.5). */
static bool value_is(const struct framing_field *field, const char *word)
{
    size_t len = strlen(word);
    const char *rest = field->value + strspn(field->value, " \t");
    return strncasecmp(rest, word, len) == 0 && rest[len + strspn(rest + len, " \t")] == '\0';
}

static enum err_code refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_MALFORMED, "request head: %s", why);
}

/* Digits only; what does not fit is UINT64_MAX, which is over every limit. */
static enum err_code parse_length(uint64_t *out, const struct framing_field *field, struct err *err)
{
    const char *digit = field->value;
    uint64_t length = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        unsigned value = (unsigned)(*digit - '0');
        length = length > (UINT64_MAX - value) / 10 ? UINT64_MAX : length * 10 + value;
    }
    if (digit == field->value || digit[strspn(digit, " \t")] != '\0')
        return refuse(err, "Content-Length is not a plain number");
    *out = length;
    return ERR_OK;
}

/* Fields seen so far. */
struct seen {
    unsigned hosts, lengths, encodings, authorizations;
    uint64_t length;
};

static enum err_code see_framing_field(struct seen *seen, const struct framing_field *field,
                                       struct err *err)
{
    if (is_named(field, "Content-Length"))
        return ++seen->lengths > 1 ? refuse(err, "more than one Content-Length")
                                   : parse_length(&seen->length, field, err);
    if (is_named(field, "Transfer-Encoding")) {
        if (++seen->encodings > 1)
            return refuse(err, "more than one Transfer-Encoding");
        return strcasecmp(field->value, "chunked") == 0
                   ? ERR_OK
                   : refuse(err, "Transfer-Encoding may only be chunked");
    }
    if (begins_like(field, "Content-Length") || begins_like(field, "Transfer-Encoding"))
        return refuse(err, "a header name that begins like a framing header");
    return ERR_OK;
}

static enum err_code see_field(struct seen *seen, const struct framing_field *field,
                               struct err *err)
{
    if (!is_token(field->name, field->name_len))
        return refuse(err, "a header name holds a byte that is not allowed there");
    if (has_control(field->value, field->value_len))
        return refuse(err, "a header value holds a control byte");
    if (is_named(field, "Authorization") && ++seen->authorizations > 1)
        return refuse(err, "more than one Authorization");
    if (!is_named(field, "Host"))
        return see_framing_field(seen, field, err);
    if (++seen->hosts > 1)
        return refuse(err, "more than one Host");
    return is_host(field->value) ? ERR_OK : refuse(err, "Host is not a host name");
}

enum err_code framing_check(struct framing *out, const char *method, const char *version,
                            const struct framing_field *fields, size_t count, struct err *err)
{
    *out = (struct framing){.body = FRAMING_NO_BODY};
    if (!is_token(method, strlen(method)))
        return refuse(err, "the method holds a byte that is not allowed there");
    struct seen seen = {0};
    for (size_t i = 0; i < count; i++) {
        if (see_field(&seen, &fields[i], err))
            return err->code;
        if (is_named(&fields[i], "Expect") && value_is(&fields[i], "100-continue"))
            out->expects_continue = true;
    }
    bool is_old = strcmp(version, "HTTP/1.0") == 0;
    if (seen.hosts == 0 && !is_old)
        return refuse(err, "no Host, which HTTP/1.1 requires");
    if (seen.encodings > 0 && is_old)
        return refuse(err, "Transfer-Encoding does not exist in HTTP/1.0");
    if (seen.encodings > 0 && seen.lengths > 0)
        return refuse(err, "both Content-Length and Transfer-Encoding");
    if (seen.encodings > 0)
        out->body = FRAMING_CHUNKED;
    else if (seen.length > 0)
        out->body = FRAMING_LENGTH;
    out->length = seen.length;
    bool may_have_body = strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0;
    if (out->body != FRAMING_NO_BODY && !may_have_body)
        return refuse(err, "only POST and PATCH may have a body; GET /openapi.json tells what each "
                           "path takes");
    out->has_length = seen.encodings > 0 || seen.lengths > 0;
    return ERR_OK;
}

enum err_code framing_check_trailers(const struct framing_field *fields, size_t count,
                                     struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!is_token(fields[i].name, fields[i].name_len) || is_named(&fields[i], "Host") ||
            begins_like(&fields[i], "Content-Length") ||
            begins_like(&fields[i], "Transfer-Encoding"))
            return err_set(err, ERR_MALFORMED, "trailer %zu: not allowed after a body", i);
    return ERR_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char framing_decode_escape(const char *escape)
{
    int high = hex_digit(escape[1]);
    int low = high < 0 ? -1 : hex_digit(escape[2]);
    return low < 0 ? '\0' : (char)(high * 16 + low);
}

/* RFC 9112, section 3.2: origin, absolute, authority (CONNECT) or asterisk (OPTIONS) form. Returns
 * where the path begins, NULL for any other form. */
static const char *find_path(const char *method, const char *target)
{
    if (target[0] == '/')
        return target;
    if (strcmp(method, "CONNECT") == 0)
        return is_authority(target, strlen(target)) ? target : NULL;
    if (strcmp(target, "*") == 0)
        return strcmp(method, "OPTIONS") == 0 ? target : NULL;
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    return scheme == 0 ? NULL : target + scheme + strcspn(target + scheme, "/?");
}

/* RFC 3986, section 2.3: "%61" is the same as "a", and "%2F" a "/" to some and none to others. A
 * proxy that lets paths pass by what they look like would let these pass, so nobody may send them.
 */
static bool is_disguised(char byte)
{
    return byte == '/' || byte == '-' || byte == '.' || byte == '_' || byte == '~' ||
           (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

enum err_code framing_path(char *path, const char *method, const char *target, struct err *err)
{
    path[0] = '\0';
    for (size_t at = 0; target[at] != '\0'; at++) {
        unsigned char c = (unsigned char)target[at];
        if (c <= 0x20 || c >= 0x7F)
            return err_set(err, ERR_MALFORMED, "request target: byte %zu must be percent-encoded",
                           at);
        if (target[at] == '#')
            return err_set(err, ERR_MALFORMED, "request target: a fragment, at byte %zu", at);
        if (target[at] == '%' && framing_decode_escape(target + at) == '\0')
            return err_set(err, ERR_MALFORMED,
                           "request target: %% without two hex digits, or %%00, at byte %zu", at);
    }
    const char *from = find_path(method, target);
    if (from == NULL)
        return err_set(err, ERR_MALFORMED, "request target: neither a path nor an http URL");
    size_t len = 0;
    if (from[0] != '/' && from != target)
        path[len++] = '/'; /* an absolute form without a path */
    for (; *from != '\0' && *from != '?'; from++) {
        const bool is_escape = *from == '%';
        path[len] = is_escape ? framing_decode_escape(from) : *from;
        if (is_escape && is_disguised(path[len])) {
            const char byte = path[len];
            path[0] = '\0';
            return byte == '/'
                       ? err_set(err, ERR_MALFORMED,
                                 "request target: %.3s, at byte %td, is in no path of this server",
                                 from, from - target)
                       : err_set(err, ERR_MALFORMED,
                                 "request target: %.3s, at byte %td, must be sent as %c", from,
                                 from - target, byte);
        }
        len++;
        from += is_escape ? 2 : 0;
    }
    path[len] = '\0';
    return ERR_OK;
}

/* ---- the query ---- */

static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_escape = *from == '%';
        *to++ = is_escape ? framing_decode_escape(from) : *from == '+' ? ' ' : *from;
        from += is_escape ? 2 : 0;
    }
    *to = '\0';
}

/* Cuts the argument at its `=`. */
static struct query_argument split(char *text)
{
    char *value = strchr(text, '=');
    if (value != NULL) {
        *value++ = '\0';
        decode(value);
    }
    decode(text);
    return (struct query_argument){.name = text, .value = value};
}

/* An `&` at the very end begins no argument. */
static size_t count_arguments(const char *text)
{
    size_t count = 0;
    while (text != NULL && *text != '\0') {
        const char *end = strchr(text, '&');
        text = end != NULL ? end + 1 : NULL;
        count++;
    }
    return count;
}

enum err_code query_parse(struct query *out, const char *target, struct arena *arena,
                          struct err *err)
{
    const char *mark = strchr(target, '?');
    size_t count = mark != NULL ? count_arguments(mark + 1) : 0;
    *out = (struct query){0};
    if (count == 0)
        return ERR_OK;
    if (count > LIMIT_QUERY_ARGUMENTS)
        return err_set(err, ERR_TOO_LARGE, "request target: more than %d query arguments",
                       LIMIT_QUERY_ARGUMENTS);
    char *text = arena_copy(arena, mark + 1, strlen(mark + 1));
    out->arguments = arena_alloc_array(arena, count, sizeof *out->arguments);
    if (text == NULL || out->arguments == NULL)
        return err_no_memory(err, strlen(mark) + count * sizeof *out->arguments);
    for (; out->count < count; out->count++)
        out->arguments[out->count] = split(strsep(&text, "&"));
    return ERR_OK;
}
