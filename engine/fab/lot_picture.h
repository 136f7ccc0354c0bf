/* lot_picture.h - a wafer of a lot as a picture that every reader of pictures reads: a BMP of three
 * greys, one pixel for each die, packed as runs (BI_RLE8; Microsoft, Windows GDI, "Bitmap
 * Storage").
 *
 *     struct lot_picture picture;
 *     lot_picture_draw(&lot, wafer, &arena, &picture, &err);
 *
 * So a wafer is an input like any other picture: it is kept, hashed, copied and decoded by its
 * bytes. A row without a die takes a few bytes.
 *
 * Threads: any number; no state is shared.
 */
#ifndef ATTND_ENGINE_FAB_LOT_PICTURE_H
#define ATTND_ENGINE_FAB_LOT_PICTURE_H

#include "engine/fab/lot.h"

/* The greys, as WM-811K's are drawn. */
enum { LOT_NO_DIE = 0, LOT_PASS = 127, LOT_FAIL = 255 };

/* Row 0 is at the top and column 0 at the left, by the directions of x and y that the file has;
 * without them x points to the right and y down. */
struct lot_picture {
    unsigned width, height;
    const unsigned char *bytes; /* [len] a BMP file */
    size_t len;
};

/* Checks whether a wafer can be drawn. ERR_UNUSABLE if it is cut off, no die of it has coordinates,
 * or they span more than LOT_SIDE_MAX. Sets width and height; bytes stay NULL. *need: upper bound
 * of the memory that lot_picture_draw takes of it. */
enum err_code lot_picture_measure(const struct lot *lot, unsigned wafer, struct lot_picture *out,
                                  size_t *need, struct err *err);

/* Draws it. Errors are those of lot_picture_measure, and ERR_NO_MEMORY. The bytes live in the
 * arena. */
enum err_code lot_picture_draw(const struct lot *lot, unsigned wafer, struct arena *arena,
                               struct lot_picture *out, struct err *err);

#endif
