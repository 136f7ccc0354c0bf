#include "engine/decide/label_map.h"

#include "engine/base/doc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Labels in strcmp's order: there may be a hundred thousand, and as many members. */
struct entry {
    const char *label;
    unsigned index;
    bool seen;
};

struct reader {
    const char *path;
    struct entry *entries;
    unsigned count;
    enum err_code (*visit)(void *context, unsigned label, const struct json_t *value,
                           struct err *err);
    void *context;
};

static int compare(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->label, ((const struct entry *)right)->label);
}

static enum err_code read_member(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct reader *reader = context;
    /* The first entry that is not below the key. */
    unsigned at = 0, high = reader->count;
    while (at < high) {
        unsigned middle = at + (high - at) / 2;
        if (strcmp(reader->entries[middle].label, key) < 0)
            at = middle + 1;
        else
            high = middle;
    }
    if (at == reader->count || strcmp(reader->entries[at].label, key) != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s has a member that is no label of the model: '%s'",
                       reader->path, key);
    for (; at < reader->count && strcmp(reader->entries[at].label, key) == 0; at++) {
        reader->entries[at].seen = true;
        if (reader->visit(reader->context, reader->entries[at].index, value, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code label_map_read(const struct json_t *object, const char *path,
                             const char *const *labels, unsigned count,
                             enum err_code (*visit)(void *context, unsigned label,
                                                    const struct json_t *value, struct err *err),
                             void *context, struct err *err)
{
    if (strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object, found %s", path,
                       doc_type_name(object));
    struct reader reader = {.path = path, .count = count, .visit = visit, .context = context};
    reader.entries = calloc(count, sizeof *reader.entries);
    if (reader.entries == NULL)
        return err_no_memory(err, count * sizeof *reader.entries);
    for (unsigned i = 0; i < count; i++)
        reader.entries[i] = (struct entry){.label = labels[i], .index = i};
    qsort(reader.entries, count, sizeof *reader.entries, compare);
    doc_each_member(object, read_member, &reader, err);
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        if (!reader.entries[i].seen)
            err_set(err, ERR_UNSUPPORTED, "%s lacks the label '%s'", path, reader.entries[i].label);
    free(reader.entries);
    return err->code;
}
