/* pixels.h - an image in memory, and the options of a decoder. Threads: plain data. */
#ifndef ATTND_ENGINE_VISION_PIXELS_H
#define ATTND_ENGINE_VISION_PIXELS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stdbool.h>
#include <stddef.h>

/* Pixels in a row or column, whatever pixels_max allows: resizing costs height x target width. */
enum { IMAGE_SIDE_MAX = 100000 };

struct image {
    unsigned width, height;
    unsigned char *rgb; /* [height, width, 3] */
};

struct image_options {
    size_t pixels_max;           /* width x height above this is refused */
    bool grey16_minmax;          /* stretch each 16-bit grey image to its own minimum and maximum */
    struct interrupt *interrupt; /* checked for each row; NULL: none */
};

/* Returns true if the image has colours, like a drawn map. A pixel is coloured if its channels
 * differ by more than PIXELS_CHROMA of 255; noise of a grey JPEG is below. An image is coloured if
 * one of PIXELS_COLOURED_SHARE pixels is, and at least PIXELS_COLOURED_MIN. Stops as soon as it
 * is. */
enum { PIXELS_CHROMA = 48, PIXELS_COLOURED_SHARE = 1000, PIXELS_COLOURED_MIN = 4 };
bool pixels_are_coloured(const struct image *image);

/* Judges a declared size, then takes the memory for its pixels from the arena. ERR_UNUSABLE: no
 * pixels, or above IMAGE_SIDE_MAX or pixels_max; ERR_NO_MEMORY. */
enum err_code image_create(struct image *out, unsigned width, unsigned height,
                           const struct image_options *options, struct arena *arena,
                           struct err *err);

#endif
