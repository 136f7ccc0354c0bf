/* lot.h - wafers with their dies, as a file of a test floor lists them. The formats' readers fill a
 * lot (lot_formats.h), lot_file.h opens one, lot_picture.h draws its wafers.
 *
 *     lot_init(&lot);
 *     ... lot_add_wafer(&lot, "W03", offset, &err), lot_add_die(&lot, &die, offset, &err) ...
 *     lot_seal(&lot, &err);
 *     ... lot_find(&lot, "W03", &wafer, &err) ...
 *     lot_close(&lot);
 *
 * Sizes are bounded: LOT_* below. Threads: immutable after lot_seal.
 */
#ifndef ATTND_ENGINE_FAB_LOT_H
#define ATTND_ENGINE_FAB_LOT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOT_WAFERS_MAX = 4096,
    LOT_DIES_MAX = 1 << 24, /* results, retests included */
    LOT_SIDE_MAX = 4096,    /* from the first to the last x or y of a wafer */
};

/* One result of a die, in the order of the file: the last one counts. */
struct lot_die {
    int16_t x, y;
    uint16_t hard_bin;
    uint16_t wafer; /* its index */
    bool failed;
};

struct lot_wafer {
    const char *id; /* printable ASCII (other bytes are '?'), without spaces around; may be empty */
    size_t first, count; /* its dies, once the lot is sealed */
    bool is_cut_off;     /* the file ends before the wafer does */
};

struct lot {
    const char *name; /* as an id; empty if the file has none */
    struct lot_wafer *wafers;
    unsigned wafer_count;
    struct lot_die *dies; /* sorted by wafer */
    size_t die_count;
    size_t placeless; /* results without coordinates or outside a wafer */
    /* A sentence about data that the file has lost, or has after its end, in the arena. NULL: none.
     */
    const char *lost;
    bool is_cut_off; /* the file ends before the lot, behind a wafer: others may be missing */
    bool x_leftward, y_upward; /* where x and y of the dies point */

    unsigned wafers_max; /* a caller may lower it before the lot is filled */
    unsigned wafer_capacity;
    size_t die_capacity;
    struct arena arena; /* of ids and sentences */
};

void lot_init(struct lot *out);
/* Closes a lot, also after an error; it may be closed again. */
void lot_close(struct lot *lot);

/* Adds a wafer, whose id lies in the lot's arena or is static, or a die of a wafer that was added.
 * offset: where in the file it stands, in bytes. ERR_TOO_LARGE, ERR_NO_MEMORY. */
enum err_code lot_add_wafer(struct lot *lot, const char *id, size_t offset, struct err *err);
enum err_code lot_add_die(struct lot *lot, const struct lot_die *die, size_t offset,
                          struct err *err);
/* Sorts the dies by wafer. Call it after the last die. Results of one die keep their order. */
enum err_code lot_seal(struct lot *lot, struct err *err);

/* Upper bound of the memory that a lot of so many wafers and dies takes while it is filled, without
 * ids and sentences. */
size_t lot_bytes(size_t wafers, size_t dies);

/* The index of the first wafer with this id; wafer_count if there is none. */
unsigned lot_index(const struct lot *lot, const char *id);
/* Finds the wafer with this id; NULL: the only one. ERR_UNUSABLE if there is none, or more than
 * one. */
enum err_code lot_find(const struct lot *lot, const char *id, unsigned *wafer, struct err *err);

#endif
