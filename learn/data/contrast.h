/* contrast.h - measures how much of the range from black to white a decoded image uses. An image of
 * 12 bits in a file of 16 keeps 16 of 256 levels, and a model learns next to nothing from those.
 * Threads: no state. */
#ifndef ATTND_LEARN_DATA_CONTRAST_H
#define ATTND_LEARN_DATA_CONTRAST_H

#include "engine/vision/pixels.h"

#include <stdbool.h>
#include <stddef.h>

enum { CONTRAST_QUARTER = 64 }; /* levels of 256 */

struct contrast {
    bool is_grey16;       /* a PNG of 16 bits and one channel */
    unsigned char spread; /* levels between the darkest value and the brightest */
    unsigned char bulk;   /* the same without the darkest and the brightest hundredth of pixels */
};

/* `bytes` are the file's, `image` is decoded from them. */
struct contrast contrast_of(const char *bytes, size_t len, const struct image *image);

/* Counts of images with low contrast. */
struct contrast_count {
    size_t images;
    size_t grey16;        /* images of 16 bits */
    size_t grey16_narrow; /* images of 16 bits whose spread is below a quarter of the range */
    size_t dull;          /* images of any kind whose bulk is below a quarter */
};

void contrast_count_add(struct contrast_count *count, const struct contrast *contrast);

/* True if there are 16-bit images and nearly all of them (19 of 20) are narrow: stretched to their
 * own range they would show more. */
bool contrast_wants_minmax(const struct contrast_count *count);
/* True if nearly all images are dull. */
bool contrast_is_low(const struct contrast_count *count);

#endif
