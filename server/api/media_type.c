#include "server/api/media_type.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum request_body body;
} types[] = {
    {"application/json", REQUEST_JSON}, {"application/x-www-form-urlencoded", REQUEST_JSON},
    {"image/png", REQUEST_IMAGE},       {"image/jpeg", REQUEST_IMAGE},
    {"text/plain", REQUEST_TEXT},
};

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

/* parameter = token "=" ( token / quoted-string ); true unless it is a charset other than UTF-8. */
static bool charset_is_utf8(struct span parameter)
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
    return is_word(value, "utf-8");
}

enum err_code media_type_parse(const char *value, enum request_body *out, struct err *err)
{
    *out = REQUEST_JSON;
    if (value == NULL)
        return ERR_OK;
    const char *rest = value;
    struct span type = next_piece(&rest, ";");
    size_t known = 0;
    while (known < sizeof types / sizeof types[0] && !is_word(type, types[known].name))
        known++;
    if (known == sizeof types / sizeof types[0])
        return err_set(
            err, ERR_MEDIA_TYPE,
            "Content-Type must be application/json, image/png, image/jpeg or text/plain");
    *out = types[known].body;
    while (*out == REQUEST_TEXT && *rest != '\0')
        if (!charset_is_utf8(next_piece(&rest, ";")))
            return err_set(err, ERR_MEDIA_TYPE, "the charset of text/plain must be utf-8");
    return ERR_OK;
}
