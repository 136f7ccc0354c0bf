/* stdf.h - reads wafer maps from STDF V4, the datalog of a test floor (Teradyne, Standard Test Data
 * Format Specification, version 4).
 *
 *     struct stdf stdf;
 *     if (stdf_open(&stdf, "lot.stdf", &err) || stdf_find(&stdf, "W03", &wafer, &err)) ...
 *     stdf_draw(&stdf, wafer, &arena, &map, &err);
 *     stdf_close(&stdf);
 *
 * The reader is strict in the records that a map needs: FAR (byte order, version), MIR (lot), WIR
 * and WRR (begin and end of a wafer), WCR (directions of x and y), PRR (a die: coordinates, pass or
 * fail, bin), MRR (the end). Every other record is skipped by its length. Gzip is unpacked. Sizes
 * are bounded: STDF_* below. Of a file that is cut off the wafers that had ended are kept; `lost`
 * says what is missing, and drawing a wafer that had not ended is refused.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_ENGINE_FAB_STDF_H
#define ATTND_ENGINE_FAB_STDF_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STDF_BYTES_MAX = 1 << 30, /* of a file, also unpacked */
    STDF_WAFERS_MAX = 4096,
    STDF_DIES_MAX = 1 << 24, /* results, retests included */
    STDF_SIDE_MAX = 4096,    /* from the first to the last x or y of a wafer */
};

/* The greys of a map, as WM-811K's are drawn. */
enum { STDF_NO_DIE = 0, STDF_PASS = 127, STDF_FAIL = 255 };

/* One result of a die, in the order of the file: the last one counts. */
struct stdf_die {
    int16_t x, y;
    uint16_t hard_bin;
    uint16_t wafer;
    bool failed;
};

struct stdf_wafer {
    const char *id; /* printable ASCII (other bytes are '?'), without spaces around; may be empty */
    size_t first, count; /* its dies */
    bool is_cut_off;     /* the file ends before the wafer does */
};

struct stdf {
    const char *lot; /* as an id; empty if the file has none */
    struct stdf_wafer *wafers;
    unsigned wafer_count;
    struct stdf_die *dies; /* sorted by wafer */
    size_t die_count;
    size_t placeless; /* results without coordinates or outside a wafer */
    /* A sentence about data that the file has lost, or has after its end, in the arena. NULL: none.
     */
    const char *lost;
    bool x_leftward, y_upward;

    size_t die_capacity;
    struct arena arena;
};

/* A wafer as grey pixels, one for each die. Row 0 is at the top and column 0 at the left, by WCR;
 * without a WCR x points to the right and y down. */
struct stdf_map {
    unsigned width, height;
    unsigned char *grey; /* [height, width] */
};

/* Fails as file_read_input does; also ERR_MALFORMED and ERR_UNUSABLE, with the byte offset (in the
 * unpacked file). Close it in any case. */
enum err_code stdf_open(struct stdf *out, const char *path, struct err *err);
enum err_code stdf_parse(struct stdf *out, const void *bytes, size_t len, struct err *err);
void stdf_close(struct stdf *stdf);

/* Finds the wafer with this id; NULL: the only one. ERR_UNUSABLE if there is none, or more than
 * one.
 */
enum err_code stdf_find(const struct stdf *stdf, const char *id, unsigned *wafer, struct err *err);

/* ERR_UNUSABLE: the wafer is cut off, no die of it has coordinates, or they span more than
 * STDF_SIDE_MAX. */
enum err_code stdf_draw(const struct stdf *stdf, unsigned wafer, struct arena *arena,
                        struct stdf_map *out, struct err *err);

#endif
