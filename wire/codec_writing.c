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

enum kind { INTEGER, REAL, TEXT };

#define AT(kind, member) kind, offsetof(struct engine_writing, member)

static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
} options[] = {
    {"max_new_tokens", AT(INTEGER, asked.max_new_tokens)},
    {"min_new_tokens", AT(INTEGER, asked.min_new_tokens)},
    {"num_beams", AT(INTEGER, asked.num_beams)},
    {"num_return_sequences", AT(INTEGER, asked.num_return_sequences)},
    {"no_repeat_ngram_size", AT(INTEGER, asked.no_repeat_ngram_size)},
    {"length_penalty", AT(REAL, asked.length_penalty)},
    {"source_language", AT(TEXT, source_language)},
    {"target_language", AT(TEXT, target_language)},
};

enum { OPTIONS = sizeof options / sizeof *options };

/* A value of any kind. */
union value {
    long long integer;
    double real;
    const char *text;
};

static union value get(const struct engine_writing *writing, const struct option *option)
{
    union value value;
    const char *at = (const char *)writing + option->at;
    if (option->kind == INTEGER)
        memcpy(&value.integer, at, sizeof value.integer);
    else if (option->kind == REAL)
        memcpy(&value.real, at, sizeof value.real);
    else
        memcpy(&value.text, at, sizeof value.text);
    return value;
}

/* Makes the options, all not said, if there are none yet. */
static enum err_code set(struct engine_writing **out, const struct option *option,
                         union value value, struct arena *arena, struct err *err)
{
    if (*out == NULL) {
        *out = arena_alloc_array(arena, 1, sizeof **out);
        if (*out == NULL)
            return err_no_memory(err, sizeof **out);
        **out = (struct engine_writing){.asked = generation_request_empty};
    }
    char *at = (char *)*out + option->at;
    if (option->kind == INTEGER)
        memcpy(at, &value.integer, sizeof value.integer);
    else if (option->kind == REAL)
        memcpy(at, &value.real, sizeof value.real);
    else
        memcpy(at, &value.text, sizeof value.text);
    return ERR_OK;
}

static bool is_said(const struct engine_writing *writing, const struct option *option)
{
    const union value value = get(writing, option);
    return option->kind == INTEGER ? value.integer != LLONG_MIN
           : option->kind == REAL  ? !isnan(value.real)
                                   : value.text != NULL;
}

/* A copy that ends in NUL. */
static enum err_code copy_text(const char *name, const char *bytes, size_t len, const char **out,
                               struct arena *arena, struct err *err)
{
    if (len > LIMIT_LABEL_BYTES || memchr(bytes, '\0', len) != NULL || !utf8_is_valid(bytes, len))
        return err_set(err, ERR_UNUSABLE, "%s: at most %d bytes of UTF-8, without NUL", name,
                       LIMIT_LABEL_BYTES);
    *out = arena_copy(arena, bytes, len);
    return *out != NULL ? ERR_OK : err_no_memory(err, len + 1);
}

static enum err_code read(const struct option *option, const json_t *object,
                          const struct elided *elided, union value *value, struct arena *arena,
                          struct err *err)
{
    const json_t *member = doc_member(object, option->name);
    if (option->kind == INTEGER)
        return doc_get_integer(object, "$", option->name, INT_MIN, INT_MAX, &value->integer, err);
    if (option->kind == REAL)
        return doc_get_number(object, "$", option->name, &value->real, err);
    if (!json_is_string(member))
        return err_set(err, ERR_UNUSABLE, "$.%s: expected a string, found %s", option->name,
                       doc_type_name(member));
    const char *bytes = json_string_value(member);
    size_t len = json_string_length(member);
    const struct elided_span *span = elide_find(elided, bytes, len);
    if (span != NULL) {
        bytes = span->bytes;
        len = span->len;
    }
    return copy_text(option->name, bytes, len, &value->text, arena, err) ? err_prefix(err, "$.")
                                                                         : ERR_OK;
}

enum err_code codec_writing_read(struct engine_writing **out, const struct json_t *object,
                                 const struct elided *elided, struct arena *arena, struct err *err)
{
    for (const struct option *option = options; option < options + OPTIONS; option++) {
        union value value;
        if (doc_member(object, option->name) != NULL &&
            (read(option, object, elided, &value, arena, err) ||
             set(out, option, value, arena, err)))
            return err->code;
    }
    return ERR_OK;
}

enum err_code codec_writing_set(struct engine_writing **out, const char *name, const char *value,
                                bool *is_one, struct arena *arena, struct err *err)
{
    const struct option *option = options;
    union value parsed;
    char *end = NULL;
    while (option < options + OPTIONS && strcmp(option->name, name) != 0)
        option++;
    *is_one = option < options + OPTIONS;
    if (!*is_one)
        return ERR_OK;
    errno = 0;
    if (option->kind == INTEGER)
        parsed.integer = strtoll(value, &end, 10);
    else if (option->kind == REAL)
        parsed.real = strtod(value, &end);
    else if (copy_text(name, value, strlen(value), &parsed.text, arena, err))
        return err_prefix(err, "?");
    if (end != NULL && (errno != 0 || end == value || *end != '\0'))
        return err_set(err, ERR_UNUSABLE, "?%s: expected %s", name,
                       option->kind == INTEGER ? "an integer" : "a number");
    return set(out, option, parsed, arena, err);
}

enum err_code codec_writing_merge(struct engine_writing **out, const struct engine_writing *asked,
                                  struct arena *arena, struct err *err)
{
    for (const struct option *option = options; asked != NULL && option < options + OPTIONS;
         option++) {
        if (!is_said(asked, option))
            continue;
        const union value value = get(asked, option);
        if (*out == NULL || !is_said(*out, option)) {
            if (set(out, option, value, arena, err))
                return err->code;
            continue;
        }
        const union value there = get(*out, option);
        const bool is_same = option->kind == INTEGER ? there.integer == value.integer
                             : option->kind == REAL  ? there.real == value.real
                                                     : strcmp(there.text, value.text) == 0;
        if (!is_same)
            return err_set(err, ERR_UNUSABLE, "?%s: the body has another value; send one of them",
                           option->name);
    }
    return ERR_OK;
}
