/* dataset.c - see dataset.h: what the forms share. A reader (dataset_jsonl.c, dataset_csv.c,
 * dataset_text.c, dataset_folder.c) parses its form and passes on records; here they are checked,
 * named and kept. Labels stay text, since a trainer learns its classes from them and an evaluation
 * looks them up in a checkpoint. */
#include "learn/data/dataset.h"

#include "engine/base/file.h"
#include "engine/content/text_file.h"
#include "learn/data/dataset_form.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIST_BYTES_MAX = 2000 * 1000 * 1000, KNOWN_BYTES = 256 };

/* ---- for the readers ---- */

const char *dataset_input_field(const struct dataset_options *options)
{
    return options->kind == ENGINE_IMAGE ? options->image_field : options->text_field;
}

size_t dataset_mark_bytes(const char *bytes, size_t len)
{
    return len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

bool dataset_is_blank(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r'))
        at++;
    return at == len;
}

bool dataset_is_full(const struct dataset *dataset, const struct dataset_options *options)
{
    return options->items_max != 0 && dataset->count >= options->items_max;
}

enum err_code dataset_read_file(char **out, size_t *len, const char *path, struct err *err)
{
    return file_read(out, len, path, LIST_BYTES_MAX, err)
               ? err->code
               : text_file_decode(out, len, LIST_BYTES_MAX, err);
}

enum err_code dataset_add(struct dataset *dataset, const struct dataset_item *item, struct err *err)
{
    if (dataset->count == dataset->capacity) {
        size_t capacity = dataset->capacity == 0 ? 256 : 2 * dataset->capacity;
        struct dataset_item *items = reallocarray(dataset->items, capacity, sizeof *items);
        if (items == NULL)
            return err_no_memory(err, capacity * sizeof *items);
        dataset->items = items;
        dataset->capacity = capacity;
    }
    dataset->items[dataset->count++] = *item;
    return ERR_OK;
}

static enum err_code check_record(const struct dataset *dataset,
                                  const struct dataset_record *record, struct err *err)
{
    const size_t line = record->line;
    if (record->label != NULL) {
        if (record->label_len == 0 && !dataset->labels_many && !dataset->reads_targets)
            return err_set(err, ERR_UNUSABLE,
                           "line %zu: the label is empty: give one, or take the line out", line);
        if (memchr(record->label, '\0', record->label_len) != NULL)
            return err_set(err, ERR_UNUSABLE, "line %zu: the label contains a NUL character", line);
        if (err_check_utf8(err, record->label, record->label_len, "the label"))
            return err_prefix(err, "line %zu: ", line);
    }
    if (record->id_len > 0 && memchr(record->id, '\0', record->id_len) != NULL)
        return err_set(err, ERR_UNUSABLE, "line %zu: the id contains a NUL character", line);
    if (record->id_len > 0 && err_check_utf8(err, record->id, record->id_len, "the id"))
        return err_prefix(err, "line %zu: ", line);
    if (dataset->kind == ENGINE_TEXT)
        return ERR_OK;
    if (record->input_len == 0 || memchr(record->input, '\0', record->input_len) != NULL)
        return err_set(err, ERR_UNUSABLE, "line %zu: the image's path is %s", line,
                       record->input_len == 0 ? "empty" : "cut by a NUL character");
    if (record->mask != NULL &&
        (record->mask_len == 0 || memchr(record->mask, '\0', record->mask_len) != NULL))
        return err_set(err, ERR_UNUSABLE, "line %zu: the mask's path is %s", line,
                       record->mask_len == 0 ? "empty" : "cut by a NUL character");
    return ERR_OK;
}

/* A path of a list, which is relative to it; NULL if there is no memory. */
static char *beside(struct dataset *dataset, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - path);
    return arena_format(&dataset->arena, "%.*s%s", folder, path, name);
}

enum err_code dataset_add_record(struct dataset *dataset, const char *path,
                                 const struct dataset_record *record, struct err *err)
{
    struct dataset_item item = {
        .name = record->name, .label = record->label, .id = record->id_len > 0 ? record->id : NULL};
    if (check_record(dataset, record, err))
        return err->code;
    if (dataset->kind == ENGINE_IMAGE) {
        item.name = record->name != NULL ? record->name : record->input;
        item.input = beside(dataset, path, record->input);
        if (record->mask != NULL)
            item.mask = beside(dataset, path, record->mask);
        if (item.input == NULL || (record->mask != NULL && item.mask == NULL))
            return err_no_memory(err, record->input_len + record->mask_len);
        item.input_len = strlen(item.input);
        return dataset_add(dataset, &item, err);
    }
    item.input = record->input;
    item.input_len = record->input_len;
    item.spans = record->spans;
    item.span_count = record->span_count;
    if (record->pair_len > 0) {
        item.pair = record->pair;
        item.pair_len = record->pair_len;
    }
    if (item.name == NULL)
        item.name = arena_format(&dataset->arena, "line %zu", record->line);
    if (item.name == NULL)
        return err_no_memory(err, sizeof item);
    return dataset_add(dataset, &item, err);
}

/* ---- open ---- */

typedef enum err_code (*reader)(struct dataset *dataset, const char *path,
                                const struct dataset_options *options, struct err *err);

static enum err_code choose_reader(reader *out, const char *path,
                                   const struct dataset_options *options, struct err *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return err_set(err, ERR_IO, "cannot be opened: %s", strerror(errno));
    *out = S_ISDIR(status.st_mode)                                             ? dataset_folder_read
           : text_file_ends(path, ".jsonl") || text_file_ends(path, ".ndjson") ? dataset_jsonl_read
           : text_file_ends(path, ".csv")                                      ? dataset_csv_read
           : text_file_ends(path, ".txt") || text_file_ends(path, ".log")      ? dataset_text_read
                                                                               : NULL;
    if (options->reads_targets && (*out == dataset_folder_read || *out == dataset_text_read))
        return err_set(err, ERR_UNUSABLE,
                       "texts to write are read of a list, a file .jsonl, .ndjson or .csv (or "
                       "these .gz): each input has `target`, and `text` or `image`");
    if (options->reads_spans && *out != dataset_jsonl_read)
        return err_set(
            err, ERR_UNUSABLE,
            "spans are read of a list of objects, a file .jsonl or .ndjson (or these .gz)");
    if (*out == NULL && options->labels_optional && options->kind != ENGINE_IMAGE)
        return err_set(err, ERR_UNUSABLE,
                       "a data set is a file .jsonl, .ndjson, .csv, .txt or .log (or these .gz)");
    if (*out == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "a data set is a file .jsonl, .ndjson or .csv (or these .gz), or a "
                       "folder with a folder of images for each class");
    return ERR_OK;
}

enum err_code dataset_open(struct dataset *out, const char *path,
                           const struct dataset_options *options, struct err *err)
{
    struct dataset_options all = *options;
    char left_out[DATASET_SENTENCE_BYTES];
    reader read = NULL;
    all.text_field = options->text_field != NULL ? options->text_field : "text";
    all.image_field = options->image_field != NULL ? options->image_field : "image";
    all.label_field = options->label_field != NULL ? options->label_field : "label";
    if (options->reads_spans && strcmp(all.label_field, "label") == 0)
        all.label_field = "spans";
    if (options->reads_targets && strcmp(all.label_field, "label") == 0)
        all.label_field = "target";
    *out = (struct dataset){.kind = options->kind,
                            .labels_many = options->labels_many,
                            .reads_targets = options->reads_targets};
    arena_init(&out->arena);
    out->path = arena_copy(&out->arena, path, strlen(path));
    if (out->path == NULL)
        return err_no_memory(err, strlen(path));
    if (!choose_reader(&read, path, &all, err) && !read(out, path, &all, err) && out->count == 0) {
        dataset_describe_left_out(out, left_out);
        err_set(err, ERR_UNUSABLE, "no %sinput is in it%s%s",
                all.labels_optional ? "" : "labelled ", left_out[0] != '\0' ? ": " : "", left_out);
    }
    return err->code == ERR_OK ? ERR_OK : err_prefix(err, "%s: ", path);
}

void dataset_close(struct dataset *dataset)
{
    free(dataset->items);
    free(dataset->bytes);
    arena_deinit(&dataset->arena);
    *dataset = (struct dataset){0};
}

enum err_code dataset_check_pairs(const struct dataset *dataset, bool reads_pairs, struct err *err)
{
    for (size_t i = 0; i < dataset->count && !reads_pairs; i++)
        if (dataset->items[i].pair != NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: it has a second text, but the model reads one text",
                           dataset->items[i].name);
    return ERR_OK;
}

enum err_code dataset_unpair(struct dataset *dataset, struct err *err)
{
    const size_t count = dataset->count;
    struct dataset_item *items = reallocarray(NULL, count + 1, 2 * sizeof *items);
    if (items == NULL)
        return err_no_memory(err, 2 * count * sizeof *items);
    for (size_t i = 0; i < count && err->code == ERR_OK; i++) {
        struct dataset_item *first = &items[2 * i], *second = &items[2 * i + 1];
        *first = *second = dataset->items[i];
        second->input = first->pair;
        second->input_len = first->pair_len;
        first->pair = second->pair = NULL;
        first->pair_len = second->pair_len = 0;
        if (second->input == NULL)
            err_set(err, ERR_UNUSABLE, "%.80s: it has no " DATASET_PAIR_FIELD ", as others have",
                    first->name);
        else if ((second->name = arena_format(&dataset->arena, "%s, " DATASET_PAIR_FIELD,
                                              first->name)) == NULL)
            err_no_memory(err, strlen(first->name));
    }
    if (err->code != ERR_OK) {
        free(items);
        return err->code;
    }
    free(dataset->items);
    dataset->items = items;
    dataset->count = dataset->capacity = 2 * count;
    return ERR_OK;
}

/* ---- labels ---- */

static unsigned find_label(const char *label, const char *const *labels, unsigned count)
{
    unsigned at = 0;
    while (at < count && strcmp(labels[at], label) != 0)
        at++;
    return at;
}

enum err_code dataset_match(const struct dataset *dataset, const char *const *labels,
                            unsigned label_count, unsigned *classes, struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        if (item->label == NULL)
            return err_set(err, ERR_UNUSABLE, "%.80s: it has no label", item->name);
        classes[i] = find_label(item->label, labels, label_count);
        if (classes[i] < label_count)
            continue;
        char known[KNOWN_BYTES] = "";
        size_t used = 0;
        for (unsigned c = 0; c < label_count && used < sizeof known; c++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", c > 0 ? ", " : "",
                                     labels[c]);
        return err_set(err, ERR_UNUSABLE, "%.80s: the model has no label '%.60s' (it has: %s)",
                       item->name, item->label, known);
    }
    return ERR_OK;
}

enum err_code dataset_set_aside(struct dataset *dataset, const char *const *labels,
                                unsigned label_count, struct dataset *out, struct err *err)
{
    size_t kept = 0;
    *out = (struct dataset){.kind = dataset->kind};
    arena_init(&out->arena);
    for (unsigned c = 0; c < label_count; c++) {
        size_t i = 0;
        while (i < dataset->count &&
               (dataset->items[i].label == NULL || strcmp(dataset->items[i].label, labels[c]) != 0))
            i++;
        if (i == dataset->count)
            return err_set(err, ERR_UNUSABLE, "no input has the label '%.60s'", labels[c]);
    }
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item item = dataset->items[i];
        if (item.label == NULL || find_label(item.label, labels, label_count) == label_count)
            dataset->items[kept++] = item;
        else if (dataset_add(out, &item, err))
            return err->code;
    }
    dataset->count = kept;
    if (kept == 0)
        return err_set(err, ERR_UNUSABLE, "all inputs have a label that is set aside");
    return ERR_OK;
}
