/* doc_edit.c - see doc_edit.h.
 *
 * doc_parse reads numbers either as 64-bit integers or all as reals. A file that is written again
 * needs integers: a reader that expects one refuses "96.0". Only if a number is out of range is the
 * file read again as reals, and whole numbers are made integers again.
 */
#include "engine/base/doc_edit.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/replace.h"
#include "engine/base/utf8.h"

#include <jansson.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, DIGITS = 15, DIGITS_ALL = 17, INDENT = 2 };

static const struct doc_limits exact_limits = {.depth_max = 16, .tokens_max = 4 * 1000 * 1000};

/* ---- open ---- */

/* Returns an integer for a real that is whole and exact. NULL: it stays a real. */
static json_t *integer_of(const json_t *value)
{
    double real = json_real_value(value);
    if (!json_is_real(value) || real != floor(real) || fabs(real) > 0x1p53)
        return NULL;
    return json_integer((json_int_t)real);
}

/* Depth is bounded by the parser. */
static void restore_integers(json_t *value)
{
    const char *key;
    void *next;
    json_t *child;
    json_object_foreach_safe(value, next, key, child)
    {
        json_t *integer = integer_of(child);
        if (integer != NULL)
            json_object_set_new(value, key, integer);
        else
            restore_integers(child);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *integer = integer_of(json_array_get(value, i));
        if (integer != NULL)
            json_array_set_new(value, i, integer);
        else
            restore_integers(json_array_get(value, i));
    }
}

static enum err_code parse(struct json_t **out, const char *bytes, size_t len, struct err *err)
{
    struct err cause = {0};
    if (doc_parse(out, bytes, len, &exact_limits, &cause) == ERR_UNUSABLE) {
        if (doc_parse(out, bytes, len, &doc_limits_file, err))
            return err->code;
        restore_integers(*out);
    } else if (cause.code != ERR_OK) {
        return err_set(err, cause.code, "%s", cause.text);
    }
    return json_is_object(*out)
               ? ERR_OK
               : err_set(err, ERR_UNSUPPORTED, "expected an object, found %s", doc_type_name(*out));
}

enum err_code doc_edit_open(struct json_t **out, const char *path, struct err *err)
{
    char *bytes;
    size_t len;
    *out = NULL;
    if (file_read(&bytes, &len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", path);
    if (parse(out, bytes, len, err)) {
        json_decref(*out);
        *out = NULL;
        err_prefix(err, "%s: ", path);
    }
    free(bytes);
    return err->code;
}

enum err_code doc_edit_new(struct json_t **out, struct err *err)
{
    *out = json_object();
    return *out != NULL ? ERR_OK : err_no_memory(err, sizeof(json_t));
}

/* ---- members ---- */

/* Sets a member and takes ownership of the value. */
static enum err_code set(json_t *object, const char *key, json_t *value, struct err *err)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        return err_no_memory(err, sizeof(json_t));
    return ERR_OK;
}

/* json_string returns NULL for invalid UTF-8 and without memory; checking UTF-8 first tells them
 * apart. */
static json_t *text_of(const char *text, const char *key, struct err *err)
{
    json_t *value = NULL;
    if (!utf8_is_valid(text, strlen(text)))
        err_set(err, ERR_UNUSABLE, "%s: a text that is not UTF-8", key);
    else if ((value = json_string_nocheck(text)) == NULL)
        err_no_memory(err, strlen(text));
    return value;
}

enum err_code doc_edit_text(struct json_t *object, const char *key, const char *text,
                            struct err *err)
{
    json_t *value = text_of(text, key, err);
    return value != NULL ? set(object, key, value, err) : err->code;
}

enum err_code doc_edit_integer(struct json_t *object, const char *key, long long value,
                               struct err *err)
{
    return set(object, key, json_integer(value), err);
}

enum err_code doc_edit_number(struct json_t *object, const char *key, double value, struct err *err)
{
    if (!isfinite(value))
        return err_set(err, ERR_UNUSABLE, "%s: a number that is not finite", key);
    return set(object, key, json_real(value), err);
}

enum err_code doc_edit_bool(struct json_t *object, const char *key, bool value, struct err *err)
{
    return set(object, key, json_boolean(value), err);
}

enum err_code doc_edit_texts(struct json_t *object, const char *key, const char *const *texts,
                             size_t count, struct err *err)
{
    json_t *list = json_array();
    if (set(object, key, list, err))
        return err->code;
    for (size_t i = 0; i < count; i++) {
        json_t *value = text_of(texts[i], key, err);
        if (value == NULL)
            return err->code;
        if (json_array_append_new(list, value) != 0)
            return err_no_memory(err, sizeof *value);
    }
    return ERR_OK;
}

enum err_code doc_edit_integers(struct json_t *object, const char *key, const long long *values,
                                size_t count, struct err *err)
{
    json_t *list = json_array();
    if (set(object, key, list, err))
        return err->code;
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, json_integer(values[i])) != 0)
            return err_no_memory(err, sizeof *list);
    return ERR_OK;
}

enum err_code doc_edit_json(struct json_t *object, const char *key, const char *json,
                            struct err *err)
{
    json_t *value = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    if (value == NULL)
        return err_set(err, ERR_UNUSABLE, "%s: not JSON", key);
    return set(object, key, value, err);
}

enum err_code doc_edit_object(struct json_t *object, const char *key, struct json_t **child,
                              struct err *err)
{
    *child = json_object();
    return set(object, key, *child, err);
}

struct json_t *doc_edit_member(struct json_t *object, const char *key)
{
    json_t *child = json_object_get(object, key);
    return json_is_object(child) ? child : NULL;
}

struct json_t *doc_edit_item(struct json_t *object, const char *key, size_t index)
{
    json_t *item = json_array_get(json_object_get(object, key), index);
    return json_is_object(item) ? item : NULL;
}

void doc_edit_remove(struct json_t *object, const char *key)
{
    json_object_del(object, key);
}

enum err_code doc_edit_rename(struct json_t *object, const char *key, const char *name,
                              struct err *err)
{
    json_t *value = json_incref(json_object_get(object, key));
    if (value == NULL)
        return ERR_OK;
    json_object_del(object, key);
    return set(object, name, value, err);
}

/* ---- save ---- */

/* Returns the digits with which every real of the tree can be read back exactly. */
static int digits_of(const json_t *value)
{
    if (json_is_real(value)) {
        char text[32];
        snprintf(text, sizeof text, "%.*g", DIGITS, json_real_value(value));
        return strtod(text, NULL) == json_real_value(value) ? DIGITS : DIGITS_ALL;
    }
    int digits = DIGITS;
    const char *key;
    json_t *child;
    json_object_foreach((json_t *)(uintptr_t)value, key, child)
    {
        if (digits_of(child) == DIGITS_ALL)
            digits = DIGITS_ALL;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        if (digits_of(json_array_get(value, i)) == DIGITS_ALL)
            digits = DIGITS_ALL;
    return digits;
}

/* json_dumps is not used: jansson 2.14 ignores a failure to write an object's key (do_dump drops
 * the result of dump_string), and returns a text without the key if its buffer could not grow. */
enum err_code doc_edit_save(const struct json_t *root, const char *path, struct err *err)
{
    size_t flags = JSON_INDENT(INDENT) | JSON_REAL_PRECISION((size_t)digits_of(root));
    struct memory_file file;
    if (memory_file_open(&file, err))
        return err->code;
    if (json_dumpf(root, file.stream, flags) != 0)
        err_no_memory(err, sizeof *root);
    fputc('\n', file.stream);
    return memory_file_save(&file, path, err);
}
