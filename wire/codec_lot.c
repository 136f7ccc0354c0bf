#include "wire/codec_lot.h"

#include "engine/fab/lot.h"
#include "engine/fab/lot_picture.h"
#include "wire/codec_context.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

enum {
    /* An item with its id, and the text of its context: eight members, each of which takes twice
     * its LIMIT_CONTEXT_BYTES at most. */
    ITEM_BYTES = sizeof(struct predict_item) + LIMIT_ID_BYTES + 2048,
};

unsigned codec_lot_wafers_max(unsigned inputs_max)
{
    return inputs_max < LOT_WAFERS_MAX ? inputs_max + 1 : LOT_WAFERS_MAX;
}

enum err_code codec_lot_measure(const struct lot *lot, const struct codec_lot_limits *limits,
                                size_t *bytes, struct err *err)
{
    size_t pixels = 0;
    *bytes = (size_t)ITEM_BYTES * (lot->wafer_count + 1);
    if (lot->wafer_count == 0)
        return lot_find(lot, NULL, &(unsigned){0}, err);
    if (lot->wafer_count + lot->is_cut_off > limits->inputs_max)
        return err_set(err, ERR_TOO_LARGE,
                       "the lot has more than %u wafers, the limit for one request (inputs_max)",
                       limits->inputs_max);
    for (unsigned w = 0; w < lot->wafer_count; w++) {
        struct lot_picture picture;
        size_t need;
        lot_picture_measure(lot, w, &picture, &need, &(struct err){0});
        pixels += (size_t)picture.width * picture.height;
        *bytes += need;
        if (pixels > limits->pixels_max)
            return err_set(err, ERR_TOO_LARGE,
                           "the wafers up to '%.40s' have %zu pixels, the limit for one request "
                           "(request_pixels_max) is %zu; send fewer or smaller ones",
                           lot->wafers[w].id, pixels, limits->pixels_max);
    }
    return ERR_OK;
}

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    const char *id = call->items[index].id;
    if (id != NULL)
        snprintf(out, CALL_PLACE_BYTES, "body#%.50s", id);
    else
        snprintf(out, CALL_PLACE_BYTES, "body, wafer %u", index);
}

static enum err_code check_length(const char *what, const char *name, size_t most, struct err *err)
{
    const size_t len = strlen(name);
    if (len <= most)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the %s '%.40s...' has %zu bytes, the limit is %zu", what,
                   name, len, most);
}

/* Adds a member unless the context has it. */
static enum err_code add_member(struct predict_item *item, const char *key, const char *value,
                                struct arena *arena, struct err *err)
{
    if (value[0] == '\0' || codec_context_has(item->context, key))
        return ERR_OK;
    return codec_context_set(&item->context, &item->lot, key, value, arena, err);
}

static enum err_code name_item(struct predict_item *item, const char *id, struct arena *arena,
                               struct err *err)
{
    if (id[0] == '\0')
        return ERR_OK;
    const bool is_told = codec_context_has(item->context, "wafer");
    if (check_length("wafer's id", id, is_told ? LIMIT_ID_BYTES : LIMIT_CONTEXT_BYTES, err))
        return err->code;
    item->id = arena_copy(arena, id, strlen(id));
    return item->id != NULL ? add_member(item, "wafer", id, arena, err)
                            : err_no_memory(err, strlen(id));
}

static enum err_code draw(struct predict_item *item, const struct lot *lot, unsigned wafer,
                          struct arena *arena, struct err *err)
{
    struct lot_picture picture;
    if (lot_picture_draw(lot, wafer, arena, &picture, err))
        return err->code;
    item->source =
        (struct engine_source){.kind = ENGINE_IMAGE, .bytes = picture.bytes, .len = picture.len};
    return ERR_OK;
}

/* Fills one item, which starts as a copy of what all wafers share. Its error stays in the item,
 * except ERR_NO_MEMORY. */
static enum err_code read_wafer(struct predict_call *call, unsigned index, const struct lot *lot,
                                struct arena *arena, struct err *err)
{
    struct predict_item *item = &call->items[index];
    char at[CALL_PLACE_BYTES];
    if (!name_item(item, lot->wafers[index].id, arena, &item->err))
        draw(item, lot, index, arena, &item->err);
    if (item->err.code == ERR_NO_MEMORY)
        return err_set(err, ERR_NO_MEMORY, "%s", item->err.text);
    if (item->err.code == ERR_OK)
        return ERR_OK;
    place(call, index, at);
    err_prefix(&item->err, "%s: ", at);
    return ERR_OK;
}

enum err_code codec_lot_parse(struct predict_call *call, const struct lot *lot, struct arena *arena,
                              struct err *err)
{
    const unsigned count = lot->wafer_count + lot->is_cut_off;
    struct predict_item all = {
        .source.kind = ENGINE_IMAGE, .context = call->context, .lot = call->lot};
    if (call->lot == NULL && check_length("lot's name", lot->name, LIMIT_CONTEXT_BYTES, err))
        return err_prefix(err, "body: ");
    if (add_member(&all, "lot", lot->name, arena, err))
        return err->code;
    call->items = arena_alloc_array(arena, count, sizeof *call->items);
    if (call->items == NULL)
        return err_no_memory(err, count * sizeof *call->items);
    call->item_count = count;
    call->place = place;
    call->envelope = true;
    for (unsigned i = 0; i < count; i++)
        call->items[i] = all;
    for (unsigned w = 0; w < lot->wafer_count; w++)
        if (read_wafer(call, w, lot, arena, err))
            return err->code;
    if (lot->is_cut_off)
        err_set(&call->items[count - 1].err, ERR_UNUSABLE, "body: %s", lot->lost);
    return ERR_OK;
}
