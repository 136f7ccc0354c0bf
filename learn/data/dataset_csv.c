#include "engine/base/nearest.h"
#include "learn/data/csv.h"
#include "learn/data/dataset_form.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_BYTES = 200 };

struct columns {
    unsigned count, input;
    unsigned pair, label, id; /* count if there is no such column */
    bool labels_optional;
};

static enum err_code find_column(const struct csv *csv, const char *name, bool optional,
                                 unsigned *out, struct err *err)
{
    *out = csv->field_count;
    for (unsigned i = 0; i < csv->field_count; i++) {
        if (strcmp(csv->fields[i].text, name) != 0)
            continue;
        if (*out != csv->field_count)
            return err_set(err, ERR_UNUSABLE, "line %zu: two columns are named '%s'",
                           csv->record_line, name);
        *out = i;
    }
    if (*out < csv->field_count || optional)
        return ERR_OK;
    /* Columns that are there, as many as fit; a header is a person's text, and is shown as it is.
     */
    char names[COLUMNS_BYTES] = "";
    for (unsigned i = 0; i < csv->field_count; i++)
        if (!nearest_list(names, sizeof names, csv->fields[i].text))
            break;
    return err_set(err, ERR_UNUSABLE,
                   "line %zu: no column is named '%s'; the columns are: %s (--text-field, "
                   "--image-field and --label-field say which to take)",
                   csv->record_line, name, names);
}

static enum err_code read_header(struct csv *csv, const struct dataset_options *options,
                                 struct columns *columns, struct err *err)
{
    bool found;
    if (csv_next(csv, &found, err))
        return err->code;
    if (!found)
        return err_set(err, ERR_UNUSABLE,
                       "line 1: the header, which names the columns, is missing");
    columns->count = csv->field_count;
    columns->labels_optional = options->labels_optional;
    columns->pair = columns->id = columns->count;
    if (find_column(csv, dataset_input_field(options), false, &columns->input, err) ||
        (options->id_field != NULL &&
         find_column(csv, options->id_field, true, &columns->id, err)) ||
        (options->kind == ENGINE_TEXT &&
         find_column(csv, DATASET_PAIR_FIELD, true, &columns->pair, err)))
        return err->code;
    const char *own = options->label_field, *other = options->label_other;
    const bool is_optional = options->labels_optional || other != NULL;
    if (find_column(csv, own, is_optional, &columns->label, err) || other == NULL ||
        columns->label < columns->count)
        return err->code;
    return find_column(csv, other, options->labels_optional, &columns->label, err);
}

static enum err_code add_record(struct dataset *dataset, const char *path, const struct csv *csv,
                                const struct columns *columns, struct err *err)
{
    if (csv->field_count != columns->count)
        return err_set(err, ERR_MALFORMED, "line %zu: %u fields, but the header has %u",
                       csv->record_line, csv->field_count, columns->count);
    const struct csv_field *input = &csv->fields[columns->input];
    struct csv_field pair = {0}, label = {0}, id = {0};
    if (columns->pair < columns->count)
        pair = csv->fields[columns->pair];
    if (columns->id < columns->count)
        id = csv->fields[columns->id];
    if (columns->label < columns->count)
        label = csv->fields[columns->label];
    if (columns->labels_optional && label.len == 0)
        label.text = NULL;
    struct dataset_record record = {.line = csv->record_line,
                                    .input = input->text,
                                    .input_len = input->len,
                                    .pair = pair.text,
                                    .pair_len = pair.len,
                                    .label = label.text,
                                    .label_len = label.len,
                                    .id = id.text,
                                    .id_len = id.len};
    return dataset_add_record(dataset, path, &record, err);
}

enum err_code dataset_csv_read(struct dataset *dataset, const char *path,
                               const struct dataset_options *options, struct err *err)
{
    struct columns columns = {0};
    char separator = '\0';
    bool found = true;
    size_t len;
    if (dataset_read_file(&dataset->bytes, &len, path, err))
        return err->code;
    struct csv *csv = malloc(sizeof *csv);
    if (csv == NULL)
        return err_no_memory(err, sizeof *csv);
    size_t first = csv_separator_line(dataset->bytes, len, &separator);
    csv_open(csv, dataset->bytes, len);
    if (first > 0) {
        csv->at = first;
        csv->line++;
    }
    csv->separator = first > 0 ? separator : csv_guess_separator(dataset->bytes, len);
    if (!read_header(csv, options, &columns, err))
        while (!dataset_is_full(dataset, options) && !csv_next(csv, &found, err) && found)
            if (add_record(dataset, path, csv, &columns, err))
                break;
    free(csv);
    return err->code;
}
