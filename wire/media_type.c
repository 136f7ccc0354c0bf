#include "wire/media_type.h"

#include "engine/content/charset.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum request_body body;
    bool is_told;
    bool is_proper; /* what a client should send */
} types[] = {
    {"application/json", REQUEST_JSON, true, true},
    {"text/json", REQUEST_JSON, true, false},
    {"application/x-www-form-urlencoded", REQUEST_JSON, false, false},
    {"application/octet-stream", REQUEST_JSON, false, false},
    {"binary/octet-stream", REQUEST_JSON, false, false},
    {"image/png", REQUEST_IMAGE, true, true},
    {"image/jpeg", REQUEST_IMAGE, true, true},
    /* not registered, and everywhere */
    {"image/x-png", REQUEST_IMAGE, true, false},
    {"image/jpg", REQUEST_IMAGE, true, false},
    {"image/x-jpeg", REQUEST_IMAGE, true, false},
    {"image/pjpeg", REQUEST_IMAGE, true, false},
    {"image/*", REQUEST_IMAGE, true, false},
    {"text/plain", REQUEST_TEXT, true, true},
};

enum { TYPES = sizeof types / sizeof types[0] };

const char *media_type_proper(unsigned index, enum request_body *body)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i].is_proper && index-- == 0) {
            *body = types[i].body;
            return types[i].name;
        }
    return NULL;
}

/* A piece of a header's value, not terminated. */
struct span {
    const char *start;
    size_t len;
};

static struct span trim(struct span span)
{
    while (span.len > 0 && strchr(" \t", span.start[0]) != NULL) {
        span.start++;
        span.len--;
    }
    while (span.len > 0 && strchr(" \t", span.start[span.len - 1]) != NULL)
        span.len--;
    return span;
}

/* The trimmed text before the next `separator`, which *rest is moved behind. */
static struct span next_piece(const char **rest, const char *separator)
{
    struct span piece = {*rest, strcspn(*rest, separator)};
    *rest += piece.len + ((*rest)[piece.len] != '\0');
    return trim(piece);
}

static bool is_word(struct span span, const char *word)
{
    return span.len == strlen(word) && strncasecmp(span.start, word, span.len) == 0;
}

/* parameter = token "=" ( token / quoted-string ). *charset becomes what a parameter of that name
 * says; false: it is none that is decoded. */
static bool read_charset(struct span parameter, const char **charset)
{
    const char *equals = memchr(parameter.start, '=', parameter.len);
    if (equals == NULL)
        return true;
    size_t name_len = (size_t)(equals - parameter.start);
    if (!is_word((struct span){parameter.start, name_len}, "charset"))
        return true;
    struct span value = {equals + 1, parameter.len - name_len - 1};
    if (value.len >= 2 && value.start[0] == '"' && value.start[value.len - 1] == '"')
        value = (struct span){value.start + 1, value.len - 2};
    *charset = charset_find(value.start, value.len);
    return *charset != NULL;
}

enum err_code media_type_parse(const char *value, struct media_type *out, struct err *err)
{
    *out = (struct media_type){.body = REQUEST_JSON, .charset = ""};
    if (value == NULL)
        return ERR_OK;
    const char *rest = value;
    struct span type = next_piece(&rest, ";");
    size_t known = 0;
    while (known < TYPES && !is_word(type, types[known].name))
        known++;
    if (known == TYPES)
        return err_set(
            err, ERR_MEDIA_TYPE,
            "Content-Type must be application/json, image/png, image/jpeg or text/plain%s",
            type.len > 6 && strncasecmp(type.start, "image/", 6) == 0
                ? "; convert another picture to PNG or JPEG"
            : is_word(type, "multipart/form-data")
                ? "; send the file itself as the body (curl --data-binary @FILE)"
                : "");
    out->body = types[known].body;
    out->is_told = types[known].is_told;
    while (out->body != REQUEST_IMAGE && out->is_told && *rest != '\0')
        if (!read_charset(next_piece(&rest, ";"), &out->charset))
            return err_set(err, ERR_MEDIA_TYPE, "the charset of %s must be %s", types[known].name,
                           charset_names());
    return ERR_OK;
}
