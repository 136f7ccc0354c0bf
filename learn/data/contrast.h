/* contrast.h - how much of the range from black to white an image uses once it is decoded. An image
 * of 12 bits in a file of 16 keeps 16 of 256 levels, and a model that learns from those learns
 * next to nothing. Threads: no state. */
#ifndef ATTND_LEARN_DATA_CONTRAST_H
#define ATTND_LEARN_DATA_CONTRAST_H

#include "engine/vision/pixels.h"

#include <stdbool.h>
#include <stddef.h>

enum { CONTRAST_QUARTER = 64 }; /* levels of 256 */

struct contrast {
    bool is_grey16;       /* a PNG of 16 bits and one channel */
    unsigned char spread; /* levels between the darkest value and the brightest */
    unsigned char bulk;   /* the same without the outermost hundredth at either end */
};

/* `bytes` are the file's, `image` what became of them. */
struct contrast contrast_of(const char *bytes, size_t len, const struct image *image);

/* Of many images: how many are narrow. */
struct contrast_count {
    size_t images;
    size_t grey16;        /* of 16 bits */
    size_t grey16_narrow; /* and of a spread below a quarter of the range */
    size_t dull;          /* of any kind: the bulk is below a quarter */
};

void contrast_count_add(struct contrast_count *count, const struct contrast *contrast);

/* Nearly all (19 of 20) of the 16-bit images are narrow, and there are such: stretched to their own
 * range they would show more. */
bool contrast_wants_minmax(const struct contrast_count *count);
/* Nearly all images are dull. */
bool contrast_is_low(const struct contrast_count *count);

#endif
