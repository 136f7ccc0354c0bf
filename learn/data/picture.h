/* picture.h - reads the pixels of the image that a data set's item names: a picture's file, or a
 * wafer of a lot (lot_formats.h), which is drawn as a picture.
 *
 *     struct pictures pictures = {0};
 *     picture_read(&pictures, "maps/1.png", &options, &arena, &image, &err);
 *     picture_read(&pictures, "lot.stdf#W03", &options, &arena, &image, &err);
 *     pictures_close(&pictures);
 *
 * "lot.stdf" names the file's only wafer. The last lot stays open, since a lot's wafers are
 * usually read one after another. Threads: one at a time.
 */
#ifndef ATTND_LEARN_DATA_PICTURE_H
#define ATTND_LEARN_DATA_PICTURE_H

#include "engine/base/err.h"
#include "engine/fab/lot_file.h"
#include "engine/vision/pixels.h"
#include "learn/data/contrast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pictures {
    char *lot_path; /* NULL: none is open */
    struct lot lot;
    /* The rest describes the picture that was read last. */
    uint64_t digest; /* digest.h */
    struct contrast contrast;
    unsigned side; /* its larger side in pixels, before resizing */
};

/* True if the path names a lot, by its ending, or a wafer of one. *file_len is the length of the
 * file's part, *wafer the part after the #, NULL if there is none. If a file has the whole name,
 * with its #, the path names that file. */
bool picture_is_lot(const char *path, size_t *file_len, const char **wafer);

/* Errors are those of file_read_input, image_decode, lot_open and lot_picture_draw. The pixels live
 * in the arena. */
enum err_code picture_read(struct pictures *pictures, const char *path,
                           const struct image_options *options, struct arena *arena,
                           struct image *out, struct err *err);
void pictures_close(struct pictures *pictures);

#endif
