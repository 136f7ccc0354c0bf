/* doc.c - see doc.h. jansson's trees cost up to 38 times the bytes they come from (200 000 empty
 * arrays) and its recursion limit is far above ours, so tokens and depth are counted first, by a
 * scan for strings and brackets. The scan need not check the grammar: jansson does. */
#include "engine/base/doc.h"

#include "engine/base/doc_load.h"
#include "engine/base/file.h"
#include "engine/base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct doc_limits doc_limits_file = {
    .depth_max = 16, .tokens_max = 4 * 1000 * 1000, .integers_as_reals = true};
const struct doc_limits doc_limits_request = {.depth_max = 16, .tokens_max = 4096};

/* Returns the index just after the string that opens at `at`. */
static size_t skip_string(const char *bytes, size_t len, size_t at)
{
    for (at++; at < len && bytes[at] != '"'; at++)
        if (bytes[at] == '\\')
            at++;
    return at + 1;
}

/* Maps an offset in the parsed bytes to the offset in the text that the client sent. */
struct origin {
    size_t (*of)(const void *context, size_t at);
    const void *context;
};

static size_t same_place(const void *context, size_t at)
{
    (void)context;
    return at;
}

static enum err_code check_limits(const char *bytes, size_t len, const struct doc_limits *limits,
                                  const struct origin *origin, struct err *err)
{
    size_t tokens = 0;
    unsigned depth = 0;
    for (size_t at = 0; at < len;) {
        char c = bytes[at];
        if (c == '[' || c == '{')
            depth++;
        if ((c == ']' || c == '}') && depth > 0)
            depth--;
        if (depth > limits->depth_max)
            return err_set(err, ERR_TOO_LARGE, "JSON nested deeper than %u levels at byte %zu",
                           limits->depth_max, origin->of(origin->context, at));
        if (c == '"' || c == '[' || c == '{' || c == ',' || c == ':')
            tokens++;
        if (tokens > limits->tokens_max)
            return err_set(err, ERR_TOO_LARGE, "more than %zu JSON tokens at byte %zu",
                           limits->tokens_max, origin->of(origin->context, at));
        at = c == '"' ? skip_string(bytes, len, at) : at + 1;
    }
    if (limits->bytes_max != 0 && len > limits->bytes_max)
        return err_set(err, ERR_TOO_LARGE, "more than %zu bytes of JSON, long strings not counted",
                       limits->bytes_max);
    return ERR_OK;
}

/* jansson's own text repeats the client's bytes, so only its code and position are used. */
static enum err_code parse_error(const json_error_t *jerr, const struct origin *origin,
                                 struct err *err)
{
    size_t at = jerr->position > 0 ? origin->of(origin->context, (size_t)jerr->position) : 0;
    switch (json_error_code(jerr)) {
    case json_error_invalid_utf8:
        return err_set(err, ERR_UNUSABLE, "invalid UTF-8 at byte %zu", at);
    case json_error_numeric_overflow:
        return err_set(err, ERR_UNUSABLE, "number out of range at byte %zu", at);
    case json_error_duplicate_key:
        return err_set(err, ERR_MALFORMED, "duplicate key in a JSON object at byte %zu", at);
    case json_error_premature_end_of_input:
        return err_set(err, ERR_MALFORMED, "JSON ends too early at byte %zu", at);
    case json_error_end_of_input_expected:
        return err_set(err, ERR_MALFORMED, "more bytes after the JSON value at byte %zu", at);
    default:
        return err_set(err, ERR_MALFORMED, "not valid JSON at byte %zu (line %d)", at, jerr->line);
    }
}

/* Returns the length of NaN or Infinity as Python writes them; 0: it is neither. */
static size_t nan_bytes(const char *bytes, size_t left)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (left >= strlen(words[i]) && memcmp(bytes, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* Copies the text to `out` with null in place of each such word outside strings; returns its
 * length. out has room for a third more. */
static size_t without_nan(const char *bytes, size_t len, char *out)
{
    size_t to = 0;
    for (size_t at = 0; at < len;) {
        size_t word = nan_bytes(bytes + at, len - at), step = word > 0 ? word : 1;
        if (bytes[at] == '"') {
            step = skip_string(bytes, len, at) - at;
            step = step < len - at ? step : len - at;
        }
        memcpy(out + to, word > 0 ? "null" : bytes + at, word > 0 ? 4 : step);
        to += word > 0 ? 4 : step;
        at += step;
    }
    return to;
}

static enum err_code parse_with_nan(struct json_t **out, const char *bytes, size_t len,
                                    const struct doc_limits *limits, struct err *err)
{
    struct doc_limits plain = *limits;
    char *copy = malloc(len + len / 3 + 1);
    *out = NULL;
    if (copy == NULL)
        return err_no_memory(err, len);
    plain.nan_is_null = false;
    doc_parse(out, copy, without_nan(bytes, len, copy), &plain, err);
    free(copy);
    return err->code;
}

enum err_code doc_parse_mapped(struct json_t **out, const char *bytes, size_t len,
                               const struct doc_limits *limits,
                               size_t (*origin)(const void *context, size_t at),
                               const void *context, struct err *err)
{
    const struct origin place = {.of = origin, .context = context};
    *out = NULL;
    if (check_limits(bytes, len, limits, &place, err))
        return err->code;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    if (limits->integers_as_reals)
        flags |= JSON_DECODE_INT_AS_REAL;
    json_error_t jerr;
    if (!doc_load(out, bytes, len, flags, &jerr))
        return err_set(err, ERR_NO_MEMORY, "out of memory while parsing JSON");
    if (*out != NULL)
        return ERR_OK;
    const char *fault = utf8_fault_of_mark(bytes, len);
    return fault != NULL ? err_set(err, ERR_MALFORMED, "%s", fault)
                         : parse_error(&jerr, &place, err);
}

enum err_code doc_parse(struct json_t **out, const char *bytes, size_t len,
                        const struct doc_limits *limits, struct err *err)
{
    if (limits->nan_is_null &&
        (memmem(bytes, len, "NaN", 3) != NULL || memmem(bytes, len, "Infinity", 8) != NULL))
        return parse_with_nan(out, bytes, len, limits, err);
    return doc_parse_mapped(out, bytes, len, limits, same_place, NULL, err);
}

enum err_code doc_parse_file(struct json_t **out, const char *path, size_t bytes_max,
                             struct err *err)
{
    char *bytes;
    size_t len;
    *out = NULL;
    if (file_read(&bytes, &len, path, bytes_max, err))
        return err->code;
    doc_parse(out, bytes, len, &doc_limits_file, err);
    free(bytes);
    return err->code;
}

enum err_code doc_read_object(struct json_t **out, const char *path, size_t bytes_max,
                              struct err *err)
{
    if (doc_parse_file(out, path, bytes_max, err) || json_is_object(*out))
        return err->code;
    err_set(err, ERR_UNSUPPORTED, "expected an object, found %s", doc_type_name(*out));
    doc_free(*out);
    *out = NULL;
    return err->code;
}

void doc_free(struct json_t *value)
{
    json_decref(value);
}

const struct json_t *doc_member(const struct json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

bool doc_has_null(const struct json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key));
}

enum err_code doc_each_member(const struct json_t *object,
                              enum err_code (*visit)(void *context, const char *key,
                                                     const struct json_t *value, struct err *err),
                              void *context, struct err *err)
{
    /* jansson's iterators take a mutable object but do not change it. */
    json_t *iterable = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(iterable); at != NULL;
         at = json_object_iter_next(iterable, at))
        if (visit(context, json_object_iter_key(at), json_object_iter_value(at), err))
            return err->code;
    return ERR_OK;
}

static bool lists(const char *known, const char *key)
{
    const size_t len = strlen(key);
    for (const char *at = known; *at != '\0';) {
        const size_t name = strcspn(at, ",");
        if (name == len && strncmp(at, key, len) == 0)
            return true;
        at += name + strspn(at + name, ", ");
    }
    return false;
}

struct known_members {
    const char *path, *names;
};

enum { SHOWN_KEY_BYTES = 100 };

/* Writes a key for an error text: cut, and with '?' for all but printable ASCII, because it may
 * come from a hostile file and be shown on an operator's terminal. */
static const char *show_key(const char *key, char out[SHOWN_KEY_BYTES])
{
    size_t i = 0;
    for (; i < SHOWN_KEY_BYTES - 1 && key[i] != '\0'; i++)
        out[i] = key[i] < 0x20 || key[i] >= 0x7F ? '?' : key[i];
    out[i] = '\0';
    return out;
}

static enum err_code check_member(void *context, const char *key, const struct json_t *value,
                                  struct err *err)
{
    enum { NAMES_BYTES = 300 }; /* so that path and key have room in the error */
    const struct known_members *known = context;
    char shown[SHOWN_KEY_BYTES];
    int len = (int)strlen(known->names);
    const char *rest = "";
    (void)value;
    if (lists(known->names, key))
        return ERR_OK;
    if (len > NAMES_BYTES) {
        for (len = NAMES_BYTES; len > 0 && known->names[len] != ','; len--)
            ;
        rest = " and others";
    }
    return err_set(err, ERR_UNSUPPORTED, "%s.%s is not supported (supported: %.*s%s)", known->path,
                   show_key(key, shown), len, known->names, rest);
}

enum err_code doc_check_members(const struct json_t *object, const char *path, const char *known,
                                struct err *err)
{
    if (object != NULL && !json_is_object(object))
        return err_set(err, ERR_UNUSABLE, "%s: expected an object, found %s", path,
                       doc_type_name(object));
    return doc_each_member(object, check_member, &(struct known_members){path, known}, err);
}

size_t doc_object_count(const struct json_t *value)
{
    return json_object_size(value);
}

size_t doc_array_count(const struct json_t *value)
{
    return json_array_size(value);
}

const struct json_t *doc_array_item(const struct json_t *value, size_t index)
{
    return json_array_get(value, index);
}

const char *doc_as_string(const struct json_t *value)
{
    const char *text = json_string_value(value);
    return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}

const char *doc_text(const struct json_t *value, size_t *len)
{
    *len = json_string_length(value);
    return json_string_value(value);
}

bool doc_as_number(const struct json_t *value, double *out)
{
    if (!json_is_number(value))
        return false;
    *out = json_number_value(value);
    return true;
}

bool doc_as_integer(const struct json_t *value, long long *out)
{
    if (!json_is_integer(value))
        return false;
    *out = json_integer_value(value);
    return true;
}

bool doc_number_text(const struct json_t *value, char out[DOC_NUMBER_BYTES])
{
    enum { DIGITS_MIN = 15, DIGITS_MAX = 17 }; /* 17 digits are enough for every double */
    static const double exact_max = 9007199254740992.0;
    double number = json_number_value(value);
    out[0] = '\0';
    if (json_is_integer(value)) {
        snprintf(out, DOC_NUMBER_BYTES, "%lld", (long long)json_integer_value(value));
        return true;
    }
    if (!json_is_real(value) || fabs(number) >= exact_max)
        return false;
    int digits = DIGITS_MIN;
    if (number == trunc(number)) { /* an integer that became a real: without an exponent */
        snprintf(out, DOC_NUMBER_BYTES, "%.0f", number + 0.0);
        return true;
    }
    do
        snprintf(out, DOC_NUMBER_BYTES, "%.*g", digits, number);
    while (strtod(out, NULL) != number && digits++ < DIGITS_MAX);
    return true;
}

const char *doc_type_name(const struct json_t *value)
{
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

static enum err_code wrong_type(const json_t *value, const char *path, const char *key,
                                const char *expected, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "%s.%s: expected %s, found %s", path, key, expected,
                   doc_type_name(value));
}

enum err_code doc_get_integer(const struct json_t *object, const char *path, const char *key,
                              long long min, long long max, long long *out, struct err *err)
{
    const json_t *value = doc_member(object, key);
    if (value == NULL)
        return err->code;
    if (!json_is_number(value))
        return wrong_type(value, path, key, "an integer", err);
    double real = json_number_value(value);
    if (real != floor(real))
        return err_set(err, ERR_UNUSABLE, "%s.%s: expected an integer, found a fraction", path,
                       key);
    if (real < (double)min || real > (double)max)
        return err_set(err, ERR_UNUSABLE, "%s.%s: must be from %lld to %lld", path, key, min, max);
    *out = json_is_integer(value) ? json_integer_value(value) : (long long)real;
    return err->code;
}

enum err_code doc_get_number(const struct json_t *object, const char *path, const char *key,
                             double *out, struct err *err)
{
    const json_t *value = doc_member(object, key);
    if (value == NULL)
        return err->code;
    if (!json_is_number(value))
        return wrong_type(value, path, key, "a number", err);
    *out = json_number_value(value);
    return err->code;
}

enum err_code doc_get_bool(const struct json_t *object, const char *path, const char *key,
                           bool *out, struct err *err)
{
    const json_t *value = doc_member(object, key);
    if (value == NULL)
        return err->code;
    if (!json_is_boolean(value))
        return wrong_type(value, path, key, "true or false", err);
    *out = json_is_true(value);
    return err->code;
}

enum err_code doc_get_string(const struct json_t *object, const char *path, const char *key,
                             const char **out, struct err *err)
{
    const json_t *value = doc_member(object, key);
    if (value == NULL)
        return err->code;
    if (!json_is_string(value))
        return wrong_type(value, path, key, "a string", err);
    const char *text = json_string_value(value);
    if (strlen(text) != json_string_length(value))
        return err_set(err, ERR_UNUSABLE, "%s.%s: must not contain a NUL character", path, key);
    *out = text;
    return err->code;
}

enum err_code doc_expect_string(const struct json_t *object, const char *path, const char *key,
                                const char *expected, struct err *err)
{
    const char *found = expected;
    if (doc_get_string(object, path, key, &found, err))
        return err->code;
    if (strcmp(found, expected) != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s.%s '%s' is not supported (supported: %s)", path,
                       key, printable_name(found).text, expected);
    return ERR_OK;
}
