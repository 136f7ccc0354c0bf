/* exif.h - the orientation in an EXIF block, the only entry that changes pixels, and the placement
 * of pixels by it. Threads: no state. */
#ifndef ATTND_ENGINE_VISION_EXIF_H
#define ATTND_ENGINE_VISION_EXIF_H

#include <stdbool.h>
#include <stddef.h>

/* The orientation (1 to 8, CIPA DC-008 table 6) that a TIFF-structured EXIF block declares for the
 * main image; 1, upright, if it declares none or is damaged. */
unsigned exif_orientation(const unsigned char *block, size_t len);

/* Pixel (x, y) of the file goes to pixel origin + x * step_x + y * step_y of the image. */
struct exif_placement {
    bool on_side; /* width and height are swapped */
    ptrdiff_t origin, step_x, step_y;
};
/* The placement for a file of width x height pixels. */
struct exif_placement exif_placement(unsigned orientation, unsigned width, unsigned height);

#endif
