#include "engine/fab/lot.h"

#include "engine/base/nearest.h"

#include <stdlib.h>
#include <string.h>

enum { WAFERS_FIRST = 32, DIES_FIRST = 1024 }; /* the capacity doubles from here */

void lot_init(struct lot *out)
{
    *out = (struct lot){.name = "", .wafers_max = LOT_WAFERS_MAX};
}

void lot_close(struct lot *lot)
{
    free(lot->wafers);
    free(lot->dies);
    arena_deinit(&lot->arena);
    lot_init(lot);
}

/* ---- filling ---- */

enum err_code lot_add_wafer(struct lot *lot, const char *id, size_t offset, struct err *err)
{
    if (lot->wafer_count == lot->wafers_max)
        return err_set(err, ERR_TOO_LARGE, "byte %zu: more than %u wafers", offset,
                       lot->wafers_max);
    if (lot->wafer_count == lot->wafer_capacity) {
        unsigned capacity = lot->wafer_capacity == 0 ? WAFERS_FIRST : 2 * lot->wafer_capacity;
        struct lot_wafer *wafers = reallocarray(lot->wafers, capacity, sizeof *wafers);
        if (wafers == NULL)
            return err_no_memory(err, capacity * sizeof *wafers);
        lot->wafers = wafers;
        lot->wafer_capacity = capacity;
    }
    lot->wafers[lot->wafer_count++] = (struct lot_wafer){.id = id};
    return ERR_OK;
}

enum err_code lot_add_die(struct lot *lot, const struct lot_die *die, size_t offset,
                          struct err *err)
{
    if (lot->die_count == LOT_DIES_MAX)
        return err_set(err, ERR_TOO_LARGE, "byte %zu: more than %d dies", offset, LOT_DIES_MAX);
    if (lot->die_count == lot->die_capacity) {
        size_t capacity = lot->die_capacity == 0 ? DIES_FIRST : 2 * lot->die_capacity;
        struct lot_die *dies = reallocarray(lot->dies, capacity, sizeof *dies);
        if (dies == NULL)
            return err_no_memory(err, capacity * sizeof *dies);
        lot->dies = dies;
        lot->die_capacity = capacity;
    }
    lot->dies[lot->die_count++] = *die;
    return ERR_OK;
}

/* A stable counting sort. */
enum err_code lot_seal(struct lot *lot, struct err *err)
{
    struct lot_die *sorted = reallocarray(NULL, lot->die_count + 1, sizeof *sorted);
    size_t first = 0;
    if (sorted == NULL)
        return err_no_memory(err, lot->die_count * sizeof *sorted);
    for (size_t i = 0; i < lot->die_count; i++)
        lot->wafers[lot->dies[i].wafer].count++;
    for (unsigned w = 0; w < lot->wafer_count; w++) {
        lot->wafers[w].first = first;
        first += lot->wafers[w].count;
        lot->wafers[w].count = 0;
    }
    for (size_t i = 0; i < lot->die_count; i++) {
        struct lot_wafer *wafer = &lot->wafers[lot->dies[i].wafer];
        sorted[wafer->first + wafer->count++] = lot->dies[i];
    }
    free(lot->dies);
    lot->dies = sorted;
    lot->die_capacity = lot->die_count + 1;
    return ERR_OK;
}

/* An array that grows lies beside the one of half its size; the sorted dies lie beside an array of
 * up to twice their number. */
static size_t growing_bytes(size_t count, size_t first, size_t size)
{
    return 3 * (count > first / 2 ? count : first / 2) * size + size;
}

size_t lot_bytes(size_t wafers, size_t dies)
{
    return growing_bytes(wafers, WAFERS_FIRST, sizeof(struct lot_wafer)) +
           growing_bytes(dies, DIES_FIRST, sizeof(struct lot_die));
}

/* ---- finding ---- */

unsigned lot_index(const struct lot *lot, const char *id)
{
    unsigned at = 0;
    while (at < lot->wafer_count && strcmp(lot->wafers[at].id, id) != 0)
        at++;
    return at;
}

enum err_code lot_find(const struct lot *lot, const char *id, unsigned *wafer, struct err *err)
{
    *wafer = 0;
    if (id == NULL && lot->wafer_count == 1)
        return ERR_OK;
    if (lot->wafer_count == 0)
        return err_set(
            err, ERR_UNUSABLE,
            "no wafer: the file has no WIR record, which begins a wafer; its %zu results belong "
            "to no wafer",
            lot->placeless);
    if (id == NULL) {
        char ids[200] = "";
        unsigned i = 0;
        while (i < lot->wafer_count && nearest_list(ids, sizeof ids, lot->wafers[i].id))
            i++;
        return err_set(err, ERR_UNUSABLE, "%u wafers: name one as FILE#WAFER_ID, which may be %s",
                       lot->wafer_count, ids);
    }
    *wafer = lot_index(lot, id);
    if (*wafer < lot->wafer_count)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "no wafer '%.40s' among %u", id, lot->wafer_count);
}
