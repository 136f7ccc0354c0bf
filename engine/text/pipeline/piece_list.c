#include "engine/text/pipeline/piece_list.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct visit {
    struct piece_list *list;
    const char *path;
    char *text; /* place of the next piece's text; NULL while bytes are counted */
    size_t bytes;
    bool has_empty;
};

static enum err_code init(struct piece_list *list, size_t count, struct arena *arena,
                          struct err *err)
{
    *list = (struct piece_list){.items = arena_alloc_array(arena, count, sizeof *list->items)};
    if (list->items == NULL)
        return err_no_memory(err, count * sizeof *list->items);
    return vocab_init(&list->names, count, arena, err);
}

static enum err_code add(struct visit *visit, const char *text, size_t len, int32_t id,
                         struct err *err)
{
    struct piece_list *list = visit->list;
    list->items[list->count++] = (struct piece){text, (uint32_t)len, id};
    visit->has_empty |= len == 0;
    if (len > 0 && (unsigned)id >= list->vocab_size)
        list->vocab_size = (unsigned)id + 1;
    return vocab_add(&list->names, text, len, id, err);
}

static void finish(struct visit *visit)
{
    visit->list->distinct = visit->list->names.count + visit->has_empty;
}

/* ---- a JSON object ---- */

static enum err_code count_bytes(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    (void)value, (void)err;
    ((struct visit *)context)->bytes += strlen(key);
    return ERR_OK;
}

static enum err_code take_piece(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct visit *visit = context;
    size_t len = strlen(key);
    double number = -1;
    if (!doc_as_number(value, &number) || number != floor(number) || number < 0 ||
        number > PIECE_ID_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s: entry %zu is not an integer from 0 to %d",
                       visit->path, visit->list->count, PIECE_ID_MAX);
    char *text = memcpy(visit->text, key, len);
    visit->text += len;
    return add(visit, text, len, (int32_t)number, err) ? err_prefix(err, "%s: ", visit->path)
                                                       : ERR_OK;
}

enum err_code piece_list_read(struct piece_list *out, const struct json_t *json, const char *path,
                              struct arena *arena, struct err *err)
{
    struct visit visit = {.list = out, .path = path};
    size_t count = doc_object_count(json);
    *out = (struct piece_list){0};
    if (count == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object with pieces, found %s", path,
                       json == NULL ? "nothing" : doc_type_name(json));
    if (init(out, count, arena, err))
        return err_prefix(err, "%s: ", path);
    doc_each_member(json, count_bytes, &visit, err);
    visit.text = arena_alloc(arena, visit.bytes + 1);
    if (visit.text == NULL)
        return err_no_memory(err, visit.bytes);
    if (doc_each_member(json, take_piece, &visit, err))
        return err->code;
    finish(&visit);
    return ERR_OK;
}

/* ---- lines ---- */

/* Lines end as Python's text files do: with \n, \r or \r\n. */
static size_t line_end(const char *text, size_t len, size_t at, size_t *next)
{
    while (at < len && text[at] != '\n' && text[at] != '\r')
        at++;
    *next = at + 1;
    if (at + 1 < len && text[at] == '\r' && text[at + 1] == '\n')
        *next = at + 2;
    return at;
}

enum err_code piece_list_read_lines(struct piece_list *out, const char *text, size_t len,
                                    struct arena *arena, struct err *err)
{
    struct visit visit = {.list = out};
    size_t offset, lines = 0;
    for (size_t at = 0; at < len; lines++)
        line_end(text, len, at, &at);
    *out = (struct piece_list){0};
    if (!utf8_valid(text, len, &offset))
        return err_set(err, ERR_UNSUPPORTED, "invalid UTF-8 at byte %zu", offset);
    if (lines > PIECE_ID_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu lines; at most %d are supported", lines,
                       PIECE_ID_MAX);
    const char *kept = arena_copy(arena, text, len);
    if (kept == NULL)
        return err_no_memory(err, len);
    if (init(out, lines, arena, err))
        return err->code;
    for (size_t at = 0, next; at < len; at = next) {
        size_t end = line_end(kept, len, at, &next);
        if (add(&visit, kept + at, end - at, (int32_t)out->count, err))
            return err->code;
    }
    finish(&visit);
    return ERR_OK;
}
