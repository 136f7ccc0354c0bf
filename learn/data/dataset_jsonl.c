#include "engine/base/doc.h"
#include "engine/base/nearest.h"
#include "learn/data/dataset_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_BYTES = 200 };

/* A line may hold anything beside our members, and what Python writes for a number that is none. */
static const struct doc_limits line_limits = {
    .depth_max = 16, .tokens_max = 4 * 1000 * 1000, .integers_as_reals = true, .nan_is_null = true};

static enum err_code wrong_type(const char *key, const struct json_t *value, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "member '%s': expected a string, found %s", key,
                   doc_type_name(value));
}

static enum err_code keep(struct dataset *dataset, const char *text, size_t len, const char **out,
                          size_t *out_len, struct err *err)
{
    *out = arena_copy(&dataset->arena, text, len);
    *out_len = len;
    return *out != NULL ? ERR_OK : err_no_memory(err, len);
}

static enum err_code list_member(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    (void)value;
    (void)err;
    return nearest_list(context, MEMBERS_BYTES, key) ? ERR_OK
                                                     : ERR_TOO_LARGE; /* the list is full */
}

/* Names the members that are there, as many as fit, beside the one that is not. */
static enum err_code refuse_missing(const struct json_t *object, const char *key, struct err *err)
{
    char names[MEMBERS_BYTES] = "";
    struct err full = {0};
    doc_each_member(object, list_member, names, &full);
    return err_set(err, ERR_UNUSABLE,
                   "member '%s' is missing; the members are: %s (--text-field, --image-field and "
                   "--label-field say which to take)",
                   key, names);
}

/* A member that must be a string, copied: the tree is freed after its line. */
static enum err_code take(struct dataset *dataset, const struct json_t *object, const char *key,
                          const char **out, size_t *len, struct err *err)
{
    const struct json_t *value = doc_member(object, key);
    const char *text = doc_text(value, len);
    if (value == NULL)
        return refuse_missing(object, key, err);
    return text != NULL ? keep(dataset, text, *len, out, len, err) : wrong_type(key, value, err);
}

/* A label, or a number as its text. A real from 2^53 on may have lost digits: it is no name of a
 * class, but a number to learn. */
static const char *label_text(const struct json_t *value, bool is_number,
                              char digits[DOC_NUMBER_BYTES], size_t *len)
{
    double number;
    const char *text = doc_text(value, len);
    if (text != NULL)
        return text;
    if (!doc_number_text(value, digits)) {
        if (!is_number || !doc_as_number(value, &number))
            return NULL;
        snprintf(digits, DOC_NUMBER_BYTES, "%.17g", number);
    }
    *len = strlen(digits);
    return digits;
}

/* An array of labels, as one text: a|b. */
static enum err_code join_labels(struct dataset *dataset, const struct json_t *list,
                                 const char *key, const struct dataset_options *options,
                                 struct dataset_record *record, struct err *err)
{
    const size_t count = doc_array_count(list);
    size_t room = 1;
    for (size_t i = 0; i < count; i++) {
        char digits[DOC_NUMBER_BYTES];
        size_t len = 0;
        label_text(doc_array_item(list, i), options->labels_numbers, digits, &len);
        room += len + 1;
    }
    char *all = arena_alloc(&dataset->arena, room), *end = all;
    if (all == NULL)
        return err_no_memory(err, room);
    for (size_t i = 0; i < count; i++) {
        char digits[DOC_NUMBER_BYTES];
        size_t len;
        const char *text =
            label_text(doc_array_item(list, i), options->labels_numbers, digits, &len);
        if (text == NULL || len == 0 || memchr(text, '\0', len) != NULL ||
            memchr(text, '|', len) != NULL)
            return err_set(err, ERR_UNUSABLE, "member '%s': element %zu is no label", key, i);
        if (i > 0)
            *end++ = '|';
        memcpy(end, text, len);
        end += len;
    }
    *end = '\0';
    record->label = all;
    record->label_len = (size_t)(end - all);
    return ERR_OK;
}

static enum err_code take_label(struct dataset *dataset, const struct json_t *object,
                                const struct dataset_options *options,
                                struct dataset_record *record, struct err *err)
{
    const char *own = options->label_field, *text;
    if (options->reads_spans)
        return dataset_take_spans(dataset, object, own, record, err);
    const bool has_own = doc_member(object, own) != NULL || doc_has_null(object, own);
    const char *key = has_own || options->label_other == NULL ? own : options->label_other;
    const struct json_t *value = doc_member(object, key);
    char digits[DOC_NUMBER_BYTES];
    size_t len = 0;
    if (value == NULL && options->labels_optional)
        return ERR_OK;
    if (options->labels_many &&
        (strcmp(doc_type_name(value), "an array") == 0 || doc_has_null(object, key)))
        return join_labels(dataset, value, key, options, record, err);
    if (value == NULL)
        return refuse_missing(object, key, err);
    if ((text = label_text(value, options->labels_numbers, digits, &len)) == NULL)
        return wrong_type(key, value, err);
    if (len == 0 && options->labels_optional)
        return ERR_OK;
    return keep(dataset, text, len, &record->label, &record->label_len, err);
}

/* The names of a line's members: the caller's, or those of a split (split_write). */
struct form {
    struct dataset_options fields;
    bool is_split;
};

/* A text, or a number as its decimal text. */
static enum err_code take_id(struct dataset *dataset, const struct json_t *object, const char *key,
                             struct dataset_record *record, struct err *err)
{
    const struct json_t *value = key != NULL ? doc_member(object, key) : NULL;
    char digits[DOC_NUMBER_BYTES];
    size_t len = 0;
    const char *text = value != NULL ? label_text(value, true, digits, &len) : NULL;
    if (value == NULL || doc_has_null(object, key))
        return ERR_OK;
    if (text == NULL)
        return wrong_type(key, value, err);
    return keep(dataset, text, len, &record->id, &record->id_len, err);
}

static enum err_code take_input(struct dataset *dataset, const struct json_t *object,
                                const struct form *form, struct dataset_record *record,
                                struct err *err)
{
    size_t len;
    if (form->is_split && take(dataset, object, "name", &record->name, &len, err))
        return err->code;
    if (take(dataset, object, dataset_input_field(&form->fields), &record->input,
             &record->input_len, err) ||
        take_label(dataset, object, &form->fields, record, err) ||
        take_id(dataset, object, form->fields.id_field, record, err))
        return err->code;
    if (dataset->kind == ENGINE_IMAGE && doc_member(object, "mask") != NULL)
        take(dataset, object, "mask", &record->mask, &record->mask_len, err);
    if (form->fields.reads_spans && doc_member(object, DATASET_PAIR_FIELD) != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "spans are of one text, and this has a " DATASET_PAIR_FIELD);
    if (dataset->kind == ENGINE_TEXT && doc_member(object, DATASET_PAIR_FIELD) != NULL)
        take(dataset, object, DATASET_PAIR_FIELD, &record->pair, &record->pair_len, err);
    return err->code;
}

/* record->input stays NULL if the line is none of an input that is wanted. */
static enum err_code parse_line(struct dataset *dataset, const char *bytes, size_t len,
                                struct form *form, struct dataset_record *record, struct err *err)
{
    struct json_t *object;
    double version;
    size_t part_len;
    if (err_check_utf8(err, bytes, len, "the line") ||
        doc_parse(&object, bytes, len, &line_limits, err))
        return err->code;
    const char *part = doc_text(doc_member(object, "part"), &part_len);
    const bool is_learnt = part != NULL && strcmp(part, "train") == 0;
    if (strcmp(doc_type_name(object), "an object") != 0) {
        err_set(err, ERR_UNUSABLE, "expected an object, found %s", doc_type_name(object));
    } else if (record->line == 1 && doc_member(object, "attnd_split") != NULL) {
        if (!doc_as_number(doc_member(object, "attnd_split"), &version) || version != 1)
            err_set(err, ERR_UNSUPPORTED,
                    "a split of another version than 1, which this program reads");
        form->is_split = true;
        form->fields.text_field = "text";
        form->fields.image_field = "image";
        form->fields.label_field = form->fields.reads_spans ? "spans" : "label";
        form->fields.label_other = NULL;
    } else if (!form->is_split || !is_learnt) {
        take_input(dataset, object, form, record, err);
    }
    doc_free(object);
    return err->code;
}

enum err_code dataset_jsonl_read(struct dataset *dataset, const char *path,
                                 const struct dataset_options *options, struct err *err)
{
    struct form form = {.fields = *options};
    size_t number = 1, len;
    char *bytes;
    if (dataset_read_file(&bytes, &len, path, err))
        return err->code;
    size_t at = dataset_mark_bytes(bytes, len);
    for (; at < len && err->code == ERR_OK && !dataset_is_full(dataset, options); number++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t line = end != NULL ? (size_t)(end - bytes) - at : len - at;
        struct dataset_record record = {.line = number};
        if (!dataset_is_blank(bytes + at, line)) {
            if (parse_line(dataset, bytes + at, line, &form, &record, err))
                err_prefix(err, "line %zu: ", number);
            else if (record.input != NULL)
                dataset_add_record(dataset, path, &record, err);
        }
        at += line + (end != NULL);
    }
    free(bytes);
    return err->code;
}
