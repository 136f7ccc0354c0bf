#include "wire/media_type.h"

#include "engine/content/charset.h"
#include "engine/fab/lot_formats.h"
#include "engine/vision/input_formats.h"

#include <string.h>
#include <strings.h>

static const struct known_type {
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
    {"text/plain", REQUEST_TEXT, true, true},
    {"application/x-ndjson", REQUEST_LINES, true, true},
    {"application/ndjson", REQUEST_LINES, true, false},
    {"application/jsonl", REQUEST_LINES, true, false},
    {"application/x-jsonlines", REQUEST_LINES, true, false},
};

/* The types of formats that are read: the bytes tell which it is. */
static const struct known_type picture = {"image/*", REQUEST_IMAGE, true, false};
static const struct known_type lot = {"a lot", REQUEST_LOT, true, false};

enum { TYPES = sizeof types / sizeof types[0] };

const char *media_type_proper(unsigned index, enum request_body *body)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i].is_proper && index-- == 0) {
            *body = types[i].body;
            return types[i].name;
        }
    *body = picture.body;
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        if (index-- == 0)
            return format->media_types[0];
    *body = lot.body;
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        if (index-- == 0)
            return format->media_types[0];
    return NULL;
}

/* A piece of a header's value, not terminated. */
struct span {
    const char *start;
    size_t len;
};

/* The trimmed text before the next `separator`, which *rest is moved behind. */
static struct span next_piece(const char **rest, const char *separator)
{
    struct span piece = {*rest, strcspn(*rest, separator)};
    *rest += piece.len + ((*rest)[piece.len] != '\0');
    while (piece.len > 0 && strchr(" \t", piece.start[0]) != NULL) {
        piece.start++;
        piece.len--;
    }
    while (piece.len > 0 && strchr(" \t", piece.start[piece.len - 1]) != NULL)
        piece.len--;
    return piece;
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

/* The row of a type; a name of NULL: of none that is read. */
static struct known_type find_type(struct span type)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (is_word(type, types[i].name))
            return types[i];
    if (is_word(type, picture.name) || input_format_of_media_type(type.start, type.len) != NULL)
        return picture;
    if (lot_format_of_media_type(type.start, type.len) != NULL)
        return lot;
    return (struct known_type){0};
}

/* A spreadsheet's table, which a server does not read: attnd-batch does. */
static bool is_table(struct span type)
{
    return is_word(type, "text/csv") || is_word(type, "application/csv") ||
           is_word(type, "text/tab-separated-values");
}

enum err_code media_type_parse(const char *value, struct media_type *out, struct err *err)
{
    *out = (struct media_type){.body = REQUEST_JSON, .charset = ""};
    if (value == NULL)
        return ERR_OK;
    const char *rest = value;
    struct span type = next_piece(&rest, ";");
    const struct known_type known = find_type(type);
    if (known.name == NULL)
        return err_set(err, ERR_MEDIA_TYPE,
                       "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
                       ", " LOT_FORMATS_MEDIA_TYPES ", application/x-ndjson or text/plain%s",
                       type.len > 6 && strncasecmp(type.start, "image/", 6) == 0
                           ? "; convert another picture to " INPUT_FORMATS_OR
                       : is_word(type, "multipart/form-data")
                           ? "; send the file itself as the body (curl --data-binary @FILE)"
                       : is_table(type) ? "; send a table as lines, a JSON object for each row "
                                          "(application/x-ndjson), or give it to attnd-batch --data"
                                        : "");
    out->body = known.body;
    out->is_told = known.is_told;
    const bool has_letters = out->body == REQUEST_JSON || out->body == REQUEST_TEXT;
    while (has_letters && out->is_told && *rest != '\0')
        if (!read_charset(next_piece(&rest, ";"), &out->charset))
            return err_set(err, ERR_MEDIA_TYPE, "the charset of %s must be %s", known.name,
                           charset_names());
    return ERR_OK;
}
