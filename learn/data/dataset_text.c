#include "learn/data/dataset_form.h"

#include <string.h>

enum err_code dataset_text_read(struct dataset *dataset, const char *path,
                                const struct dataset_options *options, struct err *err)
{
    struct dataset_record record = {.line = 1};
    size_t len;
    if (options->kind != ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE, "a plain text, but images are wanted");
    if (!options->labels_optional)
        return err_set(err, ERR_UNUSABLE,
                       "a plain text has no labels; .jsonl, .ndjson and .csv files have");
    if (dataset_read_file(&dataset->bytes, &len, path, err))
        return err->code;
    const size_t mark = dataset_mark_bytes(dataset->bytes, len);
    const char *text = dataset->bytes + mark, *slash = strrchr(path, '/');
    len -= mark;
    if (!options->line_documents && len > 0) {
        const char *name = slash != NULL ? slash + 1 : path;
        struct dataset_item item = {.input = text, .input_len = len};
        item.name = arena_copy(&dataset->arena, name, strlen(name));
        return item.name != NULL ? dataset_add(dataset, &item, err)
                                 : err_no_memory(err, strlen(name));
    }
    for (size_t at = 0; at < len && !dataset_is_full(dataset, options); record.line++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end != NULL ? (size_t)(end - text) - at : len - at;
        record.input = text + at;
        record.input_len = line > 0 && text[at + line - 1] == '\r' ? line - 1 : line;
        if (!dataset_is_blank(text + at, line) && dataset_add_record(dataset, path, &record, err))
            return err->code;
        at += line + (end != NULL);
    }
    return ERR_OK;
}
