#include "learn/data/dataset.h"

#include "engine/base/doc_string.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/data/picture.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void put(FILE *file, const char *key, const char *text, size_t len)
{
    fprintf(file, ",\"%s\":", key);
    doc_string_write(file, text, len);
}

/* The file's absolute path, with what names a wafer in it; as it is if that cannot be told. */
static void put_image(FILE *file, const char *path)
{
    char name[PATH_MAX], absolute[PATH_MAX], whole[2 * PATH_MAX];
    size_t len = strlen(path);
    const char *wafer;
    picture_is_lot(path, &len, &wafer);
    snprintf(name, sizeof name, "%.*s", (int)len, path);
    bool known = len < sizeof name && realpath(name, absolute) != NULL &&
                 utf8_is_valid(absolute, strlen(absolute));
    snprintf(whole, sizeof whole, "%s%s", known ? absolute : "", path + (known ? len : 0));
    put(file, "image", whole, strlen(whole));
}

static void put_spans(FILE *file, const struct dataset_item *item)
{
    fputs(",\"spans\":[", file);
    for (unsigned s = 0; s < item->span_count; s++) {
        const struct dataset_span *span = &item->spans[s];
        fprintf(file, "%s{\"start\":%u,\"end\":%u", s > 0 ? "," : "", span->start, span->end);
        put(file, "label", span->label, strlen(span->label));
        fputc('}', file);
    }
    fputc(']', file);
}

/* A learnt text may be anything: it is only named. */
static bool is_utf8(const struct dataset *dataset, const struct dataset_item *item,
                    bool is_held_back)
{
    const bool is_text = dataset->kind == ENGINE_TEXT;
    return utf8_is_valid(item->name, strlen(item->name)) &&
           (item->label == NULL || utf8_is_valid(item->label, strlen(item->label))) &&
           ((is_text && !is_held_back) || utf8_is_valid(item->input, item->input_len)) &&
           (!is_text || !is_held_back || item->pair == NULL ||
            utf8_is_valid(item->pair, item->pair_len));
}

enum err_code split_write(const char *path, const struct dataset *dataset,
                          const enum split_part *parts, struct err *err)
{
    const bool is_text = dataset->kind == ENGINE_TEXT;
    struct memory_file text;
    if (memory_file_open(&text, err))
        return err->code;
    FILE *file = text.stream;
    fputs("{\"attnd_split\":1}\n", file);
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        const bool is_held_back = parts[i] == SPLIT_VALIDATION;
        if (parts[i] == SPLIT_NONE || !is_utf8(dataset, item, is_held_back))
            continue;
        fprintf(file, "{\"part\":\"%s\"", is_held_back ? "validation" : "train");
        put(file, "name", item->name, strlen(item->name));
        if (item->label != NULL)
            put(file, "label", item->label, strlen(item->label));
        if (!is_text)
            put_image(file, item->input);
        else if (is_held_back)
            put(file, "text", item->input, item->input_len);
        if (is_held_back && item->spans != NULL)
            put_spans(file, item);
        if (is_held_back && item->pair != NULL)
            put(file, "text_pair", item->pair, item->pair_len);
        fputs("}\n", file);
    }
    return memory_file_save(&text, path, err);
}
