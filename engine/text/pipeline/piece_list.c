#include "engine/text/pipeline/piece_list.h"

#include "engine/base/doc.h"

#include <math.h>
#include <string.h>

struct visit {
    struct piece_list *list;
    const char *path;
};

static enum err_code take_piece(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct visit *visit = context;
    struct piece_list *list = visit->list;
    double number = -1;
    if (!doc_as_number(value, &number) || number != floor(number) || number < 0 ||
        number > PIECE_ID_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: entry %zu is not an integer from 0 to %d",
                       visit->path, list->count, PIECE_ID_MAX);
    struct piece *piece = &list->items[list->count++];
    *piece = (struct piece){key, (uint32_t)strlen(key), (int32_t)number};
    if ((unsigned)piece->id >= list->vocab_size)
        list->vocab_size = (unsigned)piece->id + 1;
    if (vocab_add(&list->names, piece->text, piece->len, piece->id, err))
        return err_prefix(err, "%s: ", visit->path);
    return ERR_OK;
}

enum err_code piece_list_read(struct piece_list *out, const struct json_t *json, const char *path,
                              struct arena *arena, struct err *err)
{
    size_t count = doc_object_count(json);
    *out = (struct piece_list){0};
    if (count == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object with pieces, found %s", path,
                       json == NULL ? "nothing" : doc_type_name(json));
    out->items = arena_alloc_array(arena, count, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, count * sizeof *out->items);
    if (vocab_init(&out->names, count, arena, err))
        return err_prefix(err, "%s: ", path);
    return doc_each_member(json, take_piece, &(struct visit){out, path}, err);
}
