#include "wire/codec_context.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "wire/answer.h"
#include "wire/codec_check.h"
#include "wire/limits.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MIN = 15, DIGITS_MAX = 17 }; /* every double survives so many */

/* ---- checking ---- */

static int survives(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL) == value;
}

static enum err_code check_value(const json_t *value, const char *path, const char *key,
                                 const struct elided *elided, enum codec_context_place place,
                                 struct err *err)
{
    if (json_is_string(value)) {
        const char *bytes = json_string_value(value);
        size_t len = json_string_length(value);
        const struct elided_span *span = elide_find(elided, bytes, len);
        return codec_check_label(span != NULL ? span->bytes : bytes, span != NULL ? span->len : len,
                                 LIMIT_CONTEXT_BYTES, path, key, err);
    }
    if (json_is_real(value) && place == CODEC_CONTEXT_OF_ITEM &&
        !survives(json_real_value(value), ANSWER_DIGITS))
        return err_set(err, ERR_UNUSABLE, "%s.%s: at most %d digits; send more as a string", path,
                       key, ANSWER_DIGITS);
    if (json_is_null(value) || json_is_number(value))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s.%s: expected a string or a number, found %s", path, key,
                   doc_type_name(value));
}

/* ---- as text ---- */

/* The digits that all real numbers of the object need to survive. */
static size_t digits_of(json_t *object)
{
    int digits = DIGITS_MIN;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const json_t *value = json_object_iter_value(at);
        while (json_is_real(value) && digits < DIGITS_MAX &&
               !survives(json_real_value(value), digits))
            digits++;
    }
    return (size_t)digits;
}

/* A checked context; its strings are too short to be placeholders of longer ones. */
static enum err_code put_text(json_t *context, struct arena *arena, const char **out,
                              struct err *err)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(digits_of(context));
    size_t need = json_dumpb(context, NULL, 0, flags);
    char *text = need > 0 ? arena_alloc(arena, need + 1) : NULL;
    if (text == NULL || json_dumpb(context, text, need, flags) != need)
        return err_no_memory(err, LIMIT_CONTEXT_BYTES);
    text[need] = '\0';
    *out = text;
    return ERR_OK;
}

/* The lot of a checked context. A roll-out chooses the version by it (server/rollout/share.h). */
static enum err_code put_lot(const json_t *context, struct arena *arena, const char **out,
                             struct err *err)
{
    const json_t *lot = json_object_get(context, "lot");
    if (json_is_string(lot))
        *out = arena_copy(arena, json_string_value(lot), json_string_length(lot));
    else if (json_is_number(lot))
        *out = arena_format(arena, "%.17g", json_number_value(lot));
    else
        return ERR_OK;
    return *out != NULL ? ERR_OK : err_no_memory(err, LIMIT_CONTEXT_BYTES);
}

enum err_code codec_context_read(json_t *context, const char *path, const struct elided *elided,
                                 enum codec_context_place place, struct arena *arena,
                                 const char **out, const char **lot, struct err *err)
{
    char inside[64];
    if (context == NULL || json_is_null(context))
        return ERR_OK;
    if (!json_is_object(context))
        return err_set(err, ERR_UNUSABLE, "%s.context: expected an object, found %s", path,
                       doc_type_name(context));
    snprintf(inside, sizeof inside, "%s.context", path);
    for (void *at = json_object_iter(context); at != NULL;
         at = json_object_iter_next(context, at)) {
        const char *key = json_object_iter_key(at);
        if (!codec_check_listed(key, &codec_names_context))
            return codec_check_unknown(inside, key, "member", &codec_names_context, err);
        if (check_value(json_object_iter_value(at), inside, key, elided, place, err))
            return err->code;
    }
    return put_lot(context, arena, lot, err) ? err->code : put_text(context, arena, out, err);
}

/* ---- from a query ---- */

static json_t *value_of(const char *name, const char *value)
{
    char *end;
    bool is_coordinate = strncmp(name, "die_", 4) == 0;
    long number = strtol(value, &end, 10);
    bool is_number = is_coordinate && end != value && *end == '\0' && strlen(value) <= 9;
    return is_number ? json_integer(number) : json_string(value);
}

enum err_code codec_context_set(const char **context, const char **lot, const char *name,
                                const char *value, struct arena *arena, struct err *err)
{
    if (!codec_check_listed(name, &codec_names_context))
        return codec_check_unknown("?context.", name, "member", &codec_names_context, err);
    if (codec_check_label(value, strlen(value), LIMIT_CONTEXT_BYTES, "?context.", name, err))
        return err->code;
    if (!utf8_is_valid(value, strlen(value)))
        return err_set(err, ERR_UNUSABLE, "?context.%s: not valid UTF-8", name);
    json_t *object = *context != NULL ? json_loads(*context, 0, NULL) : json_object();
    if (json_object_set_new(object, name, value_of(name, value)) != 0)
        err_no_memory(err, LIMIT_CONTEXT_BYTES);
    else if (put_lot(object, arena, lot, err) == ERR_OK)
        put_text(object, arena, context, err);
    json_decref(object);
    return err->code;
}

/* A number in the body is the same as its digits in the query. */
static bool is_same_value(const json_t *in_body, const json_t *in_query)
{
    char digits[2][DOC_NUMBER_BYTES];
    const char *body = json_string_value(in_body), *query = json_string_value(in_query);
    if (body == NULL && doc_number_text(in_body, digits[0]))
        body = digits[0];
    if (query == NULL && doc_number_text(in_query, digits[1]))
        query = digits[1];
    return body != NULL && query != NULL && strcmp(body, query) == 0;
}

enum err_code codec_context_merge(const char **context, const char **lot, const char *asked,
                                  struct arena *arena, struct err *err)
{
    if (asked == NULL)
        return ERR_OK;
    json_t *object = *context != NULL ? json_loads(*context, 0, NULL) : json_object();
    json_t *more = json_loads(asked, 0, NULL);
    if (object == NULL || more == NULL)
        err_no_memory(err, LIMIT_CONTEXT_BYTES);
    for (void *at = json_object_iter(more); at != NULL && err->code == ERR_OK;
         at = json_object_iter_next(more, at)) {
        const char *key = json_object_iter_key(at);
        json_t *value = json_object_iter_value(at);
        const json_t *there = doc_member(object, key);
        if (there == NULL && json_object_set(object, key, value) != 0)
            err_no_memory(err, LIMIT_CONTEXT_BYTES);
        else if (there != NULL && !is_same_value(there, value))
            err_set(err, ERR_UNUSABLE, "?context.%s: the body has another value; send one of them",
                    key);
    }
    if (err->code == ERR_OK && put_lot(object, arena, lot, err) == ERR_OK)
        put_text(object, arena, context, err);
    json_decref(object);
    json_decref(more);
    return err->code;
}

bool codec_context_has(const char *context, const char *name)
{
    json_t *object = context != NULL ? json_loads(context, 0, NULL) : NULL;
    const bool has = doc_member(object, name) != NULL;
    json_decref(object);
    return has;
}
