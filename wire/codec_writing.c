#include "wire/codec_writing.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "wire/elide.h"
#include "wire/limits.h"

#include <jansson.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { INTEGER, REAL, TEXT, PATTERN, LIST, FLAG, CHECKSUM };

/* `at` is the place of a number, a flag or a text in struct engine_writing. */
static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
} options[] = {
    {"max_new_tokens", INTEGER, offsetof(struct engine_writing, asked.max_new_tokens)},
    {"min_new_tokens", INTEGER, offsetof(struct engine_writing, asked.min_new_tokens)},
    {"num_beams", INTEGER, offsetof(struct engine_writing, asked.num_beams)},
    {"num_return_sequences", INTEGER, offsetof(struct engine_writing, asked.num_return_sequences)},
    {"no_repeat_ngram_size", INTEGER, offsetof(struct engine_writing, asked.no_repeat_ngram_size)},
    {"length_penalty", REAL, offsetof(struct engine_writing, asked.length_penalty)},
    {"source_language", TEXT, offsetof(struct engine_writing, source_language)},
    {"target_language", TEXT, offsetof(struct engine_writing, target_language)},
    {"pattern", PATTERN, 0},
    {"allowed", LIST, 0},
    {"copy_numbers", FLAG, offsetof(struct engine_writing, copies_numbers)},
    {"checksum", CHECKSUM, 0},
};

enum { OPTIONS = sizeof options / sizeof *options };

/* The value of an option; only the member of its kind is used. */
struct value {
    long long integer;
    double real;
    const char *text;
    size_t len;
    const char *const *list;
    unsigned count;
    bool flag;
    enum engine_checksum checksum;
};

static struct value get(const struct engine_writing *writing, const struct option *option)
{
    struct value value = {0};
    const char *at = (const char *)writing + option->at;
    if (option->kind == INTEGER)
        memcpy(&value.integer, at, sizeof value.integer);
    else if (option->kind == REAL)
        memcpy(&value.real, at, sizeof value.real);
    else if (option->kind == TEXT)
        memcpy(&value.text, at, sizeof value.text);
    else if (option->kind == FLAG)
        memcpy(&value.flag, at, sizeof value.flag);
    else if (option->kind == PATTERN)
        value = (struct value){.text = writing->pattern, .len = writing->pattern_len};
    else if (option->kind == LIST)
        value = (struct value){.list = writing->allowed, .count = writing->allowed_count};
    else
        value.checksum = writing->checksum;
    return value;
}

static void put(struct engine_writing *out, const struct option *option, const struct value *value)
{
    char *at = (char *)out + option->at;
    if (option->kind == INTEGER)
        memcpy(at, &value->integer, sizeof value->integer);
    else if (option->kind == REAL)
        memcpy(at, &value->real, sizeof value->real);
    else if (option->kind == TEXT)
        memcpy(at, &value->text, sizeof value->text);
    else if (option->kind == FLAG) {
        memcpy(at, &value->flag, sizeof value->flag);
        out->says_numbers = true;
    } else if (option->kind == CHECKSUM)
        out->checksum = value->checksum;
    else if (option->kind == PATTERN) {
        out->pattern = value->text;
        out->pattern_len = value->len;
    } else {
        out->allowed = value->list;
        out->allowed_count = value->count;
    }
}

/* Makes the options, all not said, if there are none yet. */
static enum err_code set(struct engine_writing **out, const struct option *option,
                         const struct value *value, struct arena *arena, struct err *err)
{
    if (*out == NULL) {
        *out = arena_alloc_array(arena, 1, sizeof **out);
        if (*out == NULL)
            return err_no_memory(err, sizeof **out);
        **out = (struct engine_writing){.asked = generation_request_empty};
    }
    put(*out, option, value);
    return ERR_OK;
}

static bool is_said(const struct engine_writing *writing, const struct option *option)
{
    const struct value value = get(writing, option);
    switch (option->kind) {
    case INTEGER:
        return value.integer != LLONG_MIN;
    case REAL:
        return !isnan(value.real);
    case TEXT:
    case PATTERN:
        return value.text != NULL;
    case LIST:
        return value.list != NULL;
    case FLAG:
        return writing->says_numbers;
    case CHECKSUM:
        break;
    }
    return value.checksum != ENGINE_CHECKSUM_OWN;
}

static bool is_same(const struct engine_writing *writing, const struct option *option,
                    const struct value *other)
{
    const struct value value = get(writing, option);
    bool is_same = value.count == other->count;
    for (unsigned i = 0; is_same && i < value.count; i++)
        is_same = strcmp(value.list[i], other->list[i]) == 0;
    if (option->kind == TEXT || option->kind == PATTERN)
        return strcmp(value.text, other->text) == 0;
    return is_same && value.integer == other->integer && value.flag == other->flag &&
           value.checksum == other->checksum && (option->kind != REAL || value.real == other->real);
}

/* Checks a text, or a word that stands for a value. It is borrowed. */
static enum err_code take_text(const struct option *option, const char *bytes, size_t len,
                               struct value *value, struct err *err)
{
    const size_t most = option->kind == PATTERN ? ENGINE_PATTERN_BYTES_MAX : LIMIT_LABEL_BYTES;
    if (len > most || memchr(bytes, '\0', len) != NULL || !utf8_is_valid(bytes, len))
        return err_set(err, ERR_UNUSABLE, "at most %zu bytes of UTF-8, without NUL", most);
    if (option->kind == CHECKSUM && !engine_checksum_find(bytes, len, &value->checksum))
        return err_set(err, ERR_UNUSABLE, "expected " ENGINE_CHECKSUM_NAMES);
    value->text = bytes;
    value->len = len;
    return ERR_OK;
}

/* A string's own bytes, a copy with a NUL behind them. */
static enum err_code copy_string(const json_t *string, const struct elided *elided,
                                 const char **out, size_t *len, struct arena *arena,
                                 struct err *err)
{
    const char *bytes = json_string_value(string);
    *len = json_string_length(string);
    const struct elided_span *span = elided != NULL ? elide_find(elided, bytes, *len) : NULL;
    if (span != NULL) {
        bytes = span->bytes;
        *len = span->len;
    }
    *out = arena_copy(arena, bytes, *len);
    return *out != NULL ? ERR_OK : err_no_memory(err, *len + 1);
}

static enum err_code read_list(const json_t *list, const struct elided *elided, struct value *value,
                               struct arena *arena, struct err *err)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list))
        return err_set(err, ERR_UNUSABLE, "expected an array of strings, found %s",
                       doc_type_name(list));
    if (count == 0 || count > ENGINE_ALLOWED_MAX)
        return err_set(err, ERR_UNUSABLE, "1 to %d texts, found %zu", ENGINE_ALLOWED_MAX, count);
    const char **texts = arena_alloc_array(arena, count, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(err, count * sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        const json_t *string = json_array_get(list, i);
        size_t len;
        if (!json_is_string(string))
            return err_set(err, ERR_UNUSABLE, "[%zu]: expected a string, found %s", i,
                           doc_type_name(string));
        if (copy_string(string, elided, &texts[i], &len, arena, err))
            return err->code;
        if (strlen(texts[i]) != len)
            return err_set(err, ERR_UNUSABLE, "[%zu]: a NUL in it", i);
    }
    value->list = texts;
    value->count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read(const struct option *option, const json_t *object, const char *place,
                          const struct elided *elided, struct value *value, struct arena *arena,
                          struct err *err)
{
    const json_t *member = doc_member(object, option->name);
    const char *text;
    size_t len;
    if (option->kind == INTEGER)
        return doc_get_integer(object, place, option->name, INT_MIN, INT_MAX, &value->integer, err);
    if (option->kind == REAL)
        return doc_get_number(object, place, option->name, &value->real, err);
    if (option->kind == FLAG)
        return doc_get_bool(object, place, option->name, &value->flag, err);
    if (option->kind == LIST)
        read_list(member, elided, value, arena, err);
    else if (!json_is_string(member))
        err_set(err, ERR_UNUSABLE, "expected a string, found %s", doc_type_name(member));
    else if (!copy_string(member, elided, &text, &len, arena, err))
        take_text(option, text, len, value, err);
    return err->code == ERR_OK
               ? ERR_OK
               : err_prefix(err, "%s.%s%s", place, option->name, err->text[0] == '[' ? "" : ": ");
}

enum err_code codec_writing_read(struct engine_writing **out, const struct json_t *object,
                                 const char *place, const struct elided *elided,
                                 struct arena *arena, struct err *err)
{
    for (const struct option *option = options; option < options + OPTIONS; option++) {
        struct value value = {0};
        if (doc_member(object, option->name) != NULL &&
            (read(option, object, place, elided, &value, arena, err) ||
             set(out, option, &value, arena, err)))
            return err->code;
    }
    return ERR_OK;
}

/* The value of a word, which a text borrows; of a list a JSON array, or one text. */
static enum err_code parse(const struct option *option, const char *word, struct value *value,
                           struct arena *arena, struct err *err)
{
    const struct doc_limits limits = {.depth_max = 1, .tokens_max = 2 * ENGINE_ALLOWED_MAX + 2};
    char *end = NULL;
    json_t *list;
    errno = 0;
    if (option->kind == INTEGER)
        value->integer = strtoll(word, &end, 10);
    else if (option->kind == REAL)
        value->real = strtod(word, &end);
    else if (option->kind == FLAG) {
        value->flag = strcmp(word, "true") == 0;
        return value->flag || strcmp(word, "false") == 0
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "expected true or false");
    } else if (option->kind == LIST) {
        if (doc_parse(&list, word, strlen(word), &limits, err) && err->code != ERR_NO_MEMORY)
            err->code = ERR_UNUSABLE;
        else if (err->code == ERR_OK)
            read_list(list, NULL, value, arena, err);
        doc_free(list);
        return err->code;
    }
    if (end == NULL)
        return take_text(option, word, strlen(word), value, err);
    const char *const characters = option->kind == INTEGER ? "-0123456789" : "+-.0123456789eE";
    const bool is_decimal = word[0] != '+' && word[strspn(word, characters)] == '\0';
    const bool is_within = option->kind == INTEGER
                               ? value->integer >= INT_MIN && value->integer <= INT_MAX
                               : isfinite(value->real) != 0;
    return errno == 0 && end != word && *end == '\0' && is_decimal && is_within
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "expected %s",
                         option->kind == INTEGER ? "an integer" : "a number");
}

static const struct option *find(const char *name)
{
    const struct option *option = options;
    while (option < options + OPTIONS && strcmp(option->name, name) != 0)
        option++;
    return option < options + OPTIONS ? option : NULL;
}

enum err_code codec_writing_word(struct engine_writing *out, const char *name, const char *word,
                                 bool *is_one, struct err *err)
{
    const struct option *option = find(name);
    struct value value = {0};
    *is_one = option != NULL && option->kind != LIST;
    if (*is_one && parse(option, word, &value, NULL, err) == ERR_OK)
        put(out, option, &value);
    return err->code;
}

enum err_code codec_writing_set(struct engine_writing **out, const char *name, const char *value,
                                bool *is_one, struct arena *arena, struct err *err)
{
    const struct option *option = find(name);
    struct value parsed = {0};
    *is_one = option != NULL;
    if (!*is_one)
        return ERR_OK;
    const char *word = arena_copy(arena, value, strlen(value));
    if (word == NULL)
        return err_no_memory(err, strlen(value) + 1);
    if (parse(option, word, &parsed, arena, err))
        return err_prefix(err, "?%s: ", name);
    return set(out, option, &parsed, arena, err);
}

enum err_code codec_writing_merge(struct engine_writing **out, const struct engine_writing *asked,
                                  struct arena *arena, struct err *err)
{
    for (const struct option *option = options; asked != NULL && option < options + OPTIONS;
         option++) {
        const struct value value = get(asked, option);
        if (!is_said(asked, option))
            continue;
        if (*out != NULL && is_said(*out, option) && !is_same(*out, option, &value))
            return err_set(err, ERR_UNUSABLE, "?%s: the body has another value; send one of them",
                           option->name);
        if (set(out, option, &value, arena, err))
            return err->code;
    }
    return ERR_OK;
}

static json_t *json_of(const struct option *option, const struct value *value)
{
    json_t *list;
    switch (option->kind) {
    case INTEGER:
        return json_integer(value->integer);
    case REAL:
        return json_real(value->real);
    case FLAG:
        return json_boolean(value->flag);
    case CHECKSUM:
        return json_string(engine_checksum_name(value->checksum));
    case TEXT:
    case PATTERN:
        return json_stringn(value->text, option->kind == TEXT ? strlen(value->text) : value->len);
    case LIST:
        break;
    }
    list = json_array();
    for (unsigned i = 0; list != NULL && i < value->count; i++)
        json_array_append_new(list, json_string(value->list[i]));
    return list;
}

bool codec_writing_print(const struct engine_writing *writing, FILE *file)
{
    bool ok = true;
    for (const struct option *option = options; ok && option < options + OPTIONS; option++) {
        if (!is_said(writing, option))
            continue;
        const struct value value = get(writing, option);
        json_t *json = json_of(option, &value);
        ok = fprintf(file, "\"%s\":", option->name) > 0 &&
             json_dumpf(json, file, JSON_ENCODE_ANY) == 0 && fputc(',', file) != EOF;
        json_decref(json);
    }
    return ok;
}
