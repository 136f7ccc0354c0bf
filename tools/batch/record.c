#include "tools/batch/record.h"

#include "engine/base/doc.h"
#include "engine/base/nearest.h"
#include "learn/data/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A line may hold any number of members that are not ours, and numbers of any size. */
static const struct doc_limits json_limits = {
    .depth_max = 32, .tokens_max = 1000 * 1000, .integers_as_reals = true, .nan_is_null = true};

/* ---- what both forms share ---- */

static enum err_code take_text(struct record_input *out, const char *text, size_t len)
{
    out->listed.text = text;
    out->listed.text_len = len;
    return ERR_OK;
}

/* An image's path is relative to the list that names it. */
static enum err_code take_image(const struct record *record, struct record_input *out,
                                const char *path, size_t len, struct arena *arena, struct err *err)
{
    const char *list = record->form->path, *slash = strrchr(list, '/');
    out->listed.is_image = true;
    if (memchr(path, '\0', len) != NULL || len == 0)
        return err_set(err, ERR_UNUSABLE, "the path of the image is empty or holds a NUL");
    out->listed.path =
        path[0] == '/' || slash == NULL
            ? arena_copy(arena, path, len)
            : arena_format(arena, "%.*s%.*s", (int)(slash - list + 1), list, (int)len, path);
    return out->listed.path != NULL ? ERR_OK : err_no_memory(err, len);
}

/* A second text ends at its first NUL, as it does on a command line. */
static enum err_code take_pair(struct record_input *out, const char *pair, size_t len,
                               struct err *err)
{
    if (memchr(pair, '\0', len) != NULL)
        return err_set(err, ERR_UNUSABLE, "the second text holds a NUL");
    out->listed.pair = pair;
    return ERR_OK;
}

/* ---- JSON ---- */

/* *out is NULL if there is no such member; the tree goes, the copy stays. */
static enum err_code copy_member(const struct json_t *object, const char *key, struct arena *arena,
                                 const char **out, size_t *len, struct err *err)
{
    const struct json_t *value = doc_member(object, key);
    *out = NULL;
    if (value == NULL)
        return ERR_OK;
    const char *text = doc_text(value, len);
    if (text == NULL)
        return err_set(err, ERR_UNUSABLE, "member '%s': expected a string, found %s", key,
                       doc_type_name(value));
    *out = arena_copy(arena, text, *len);
    return *out != NULL ? ERR_OK : err_no_memory(err, *len);
}

static enum err_code take_json_id(const struct json_t *object, const char *key, struct arena *arena,
                                  struct record_input *out, struct err *err)
{
    static const double whole_max = 9007199254740992.0; /* 2^53: a double has all below */
    const struct json_t *value = doc_member(object, key);
    double number;
    size_t len;
    if (value != NULL && doc_as_number(value, &number) && number == floor(number) &&
        fabs(number) <= whole_max) {
        out->has_number = true;
        out->number = (long long)number;
        return ERR_OK;
    }
    char digits[DOC_NUMBER_BYTES];
    if (doc_number_text(value, digits)) {
        out->id = arena_copy(arena, digits, strlen(digits));
        return out->id != NULL ? ERR_OK : err_no_memory(err, sizeof digits);
    }
    if (value != NULL && doc_as_string(value) == NULL)
        return err_set(
            err, ERR_UNUSABLE,
            "member '%s': expected a string or a number below 2^53; send a larger one as a string",
            key);
    return copy_member(object, key, arena, &out->id, &len, err);
}

static enum err_code take_members(const struct record *record, const struct json_t *object,
                                  bool is_image, bool asks, struct arena *arena,
                                  struct record_input *out, struct err *err)
{
    const struct record_form *form = record->form;
    const char *id = form->id_field != NULL ? form->id_field : "id";
    const char *text, *image, *pair;
    size_t text_len = 0, image_len = 0, pair_len = 0;
    if (take_json_id(object, id, arena, out, err) ||
        copy_member(object, form->text_field, arena, &text, &text_len, err) ||
        copy_member(object, form->image_field, arena, &image, &image_len, err) ||
        copy_member(object, "text_pair", arena, &pair, &pair_len, err))
        return err->code;
    if (asks && copy_member(object, "question", arena, &out->question, &out->question_len, err))
        return err->code;
    if (image != NULL && (text == NULL || is_image))
        return take_image(record, out, image, image_len, arena, err);
    if (text == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "neither member '%s' nor '%s' is there (--text-field and --image-field say "
                       "which to take)",
                       form->text_field, form->image_field);
    take_text(out, text, text_len);
    return pair != NULL ? take_pair(out, pair, pair_len, err) : ERR_OK;
}

static enum err_code parse_json(const struct record *record, bool is_image, bool asks,
                                struct arena *arena, struct record_input *out, struct err *err)
{
    struct json_t *object;
    if (err_check_utf8(err, record->bytes, record->len, "the line") ||
        doc_parse(&object, record->bytes, record->len, &json_limits, err))
        return err->code;
    if (strcmp(doc_type_name(object), "an object") != 0)
        err_set(err, ERR_UNUSABLE, "expected an object, found %s", doc_type_name(object));
    else
        take_members(record, object, is_image, asks, arena, out, err);
    doc_free(object);
    return err->code;
}

/* ---- CSV ---- */

static enum err_code find_columns(struct record_form *form, const struct csv *csv, struct err *err)
{
    const struct {
        const char *name;
        int *column;
    } wanted[] = {{form->text_field, &form->text},
                  {form->image_field, &form->image},
                  {"text_pair", &form->pair},
                  {"question", &form->question},
                  {form->id_field != NULL ? form->id_field : "id", &form->id}};
    char names[200] = "";
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        *wanted[w].column = RECORD_NO_COLUMN;
        for (unsigned i = 0; i < csv->field_count; i++) {
            if (strcmp(csv->fields[i].text, wanted[w].name) != 0)
                continue;
            if (*wanted[w].column != RECORD_NO_COLUMN)
                return err_set(err, ERR_UNUSABLE, "two columns are named '%s'", wanted[w].name);
            *wanted[w].column = (int)i;
        }
    }
    const bool has_input = form->text != RECORD_NO_COLUMN || form->image != RECORD_NO_COLUMN;
    const bool has_id = form->id != RECORD_NO_COLUMN || form->id_field == NULL;
    if (has_input && has_id)
        return ERR_OK;
    for (unsigned i = 0; i < csv->field_count; i++)
        if (!nearest_list(names, sizeof names, csv->fields[i].text))
            break;
    if (has_input)
        return err_set(
            err, ERR_UNUSABLE,
            "no column is named '%s'; the columns are: %s (--id-field says which to take)",
            form->id_field, names);
    return err_set(err, ERR_UNUSABLE,
                   "no column is named '%s' or '%s'; the columns are: %s (--text-field and "
                   "--image-field say which to take)",
                   form->text_field, form->image_field, names);
}

/* The one record of these bytes, which are copied; `line` is where it begins, for the errors. */
static enum err_code split_fields(const struct record_form *form, const char *bytes, size_t len,
                                  unsigned line, struct arena *arena, struct csv *csv,
                                  struct err *err)
{
    bool found;
    char *copy = arena_copy(arena, bytes, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    csv_open(csv, copy, len);
    csv->at = 0; /* record_reader skips the file's mark; one of a later record is text */
    csv->line = line;
    csv->separator = form->separator;
    if (csv_next(csv, &found, err)) {
        /* the caller tells the line of the record; another one, inside it, stays */
        char own[24];
        size_t own_len = (size_t)snprintf(own, sizeof own, "line %u: ", line);
        if (strncmp(err->text, own, own_len) == 0)
            memmove(err->text, err->text + own_len, strlen(err->text + own_len) + 1);
        return err->code;
    }
    return found ? ERR_OK : err_set(err, ERR_MALFORMED, "there is no field");
}

enum err_code record_read_header(struct record_form *form, const char *bytes, size_t len,
                                 struct err *err)
{
    struct csv csv;
    struct arena arena;
    arena_init(&arena);
    if (form->separator == '\0')
        form->separator = csv_guess_separator(bytes, len);
    if (!split_fields(form, bytes, len, 1, &arena, &csv, err)) {
        form->columns = csv.field_count;
        find_columns(form, &csv, err);
    }
    arena_deinit(&arena);
    return err->code;
}

static enum err_code parse_csv(const struct record *record, bool is_image, bool asks,
                               struct arena *arena, struct record_input *out, struct err *err)
{
    const struct record_form *form = record->form;
    struct csv csv;
    if (split_fields(form, record->bytes, record->len, record->line, arena, &csv, err))
        return err->code;
    if (csv.field_count != form->columns)
        return err_set(err, ERR_MALFORMED, "%u fields, but the header has %u", csv.field_count,
                       form->columns);
    if (form->id != RECORD_NO_COLUMN && csv.fields[form->id].len > 0)
        out->id = csv.fields[form->id].text;
    if (asks && form->question != RECORD_NO_COLUMN && csv.fields[form->question].len > 0) {
        out->question = csv.fields[form->question].text;
        out->question_len = csv.fields[form->question].len;
    }
    if (form->image != RECORD_NO_COLUMN && (form->text == RECORD_NO_COLUMN || is_image)) {
        const struct csv_field *image = &csv.fields[form->image];
        return take_image(record, out, image->text, image->len, arena, err);
    }
    take_text(out, csv.fields[form->text].text, csv.fields[form->text].len);
    if (form->pair == RECORD_NO_COLUMN || csv.fields[form->pair].len == 0)
        return ERR_OK;
    return take_pair(out, csv.fields[form->pair].text, csv.fields[form->pair].len, err);
}

/* ---- all ---- */

enum err_code record_parse(const struct record *record, bool is_image, bool asks,
                           struct arena *arena, struct record_input *out, struct err *err)
{
    *out = (struct record_input){.listed = {.file = record->form->path, .line = record->line}};
    if (record->is_too_long)
        return err_set(err, ERR_TOO_LARGE, "longer than %d bytes", RECORD_BYTES_MAX);
    switch (record->form->kind) {
    case RECORD_LINE:
        return take_text(out, record->bytes, record->len);
    case RECORD_JSON:
        return parse_json(record, is_image, asks, arena, out, err);
    case RECORD_CSV:
        return parse_csv(record, is_image, asks, arena, out, err);
    case RECORD_FILE:
        out->listed.file = out->listed.path = record->bytes;
        out->listed.is_image = record->is_image;
        break;
    }
    return ERR_OK;
}
