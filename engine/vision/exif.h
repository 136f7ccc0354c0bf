/* exif.h - the orientation in an EXIF block, the only entry that changes pixels. */
#ifndef ATTND_ENGINE_VISION_EXIF_H
#define ATTND_ENGINE_VISION_EXIF_H

#include <stddef.h>

/* The orientation (1 to 8, CIPA DC-008 table 6) that a TIFF-structured EXIF block declares for the
 * main image; 1, upright, if it declares none or is damaged. */
unsigned exif_orientation(const unsigned char *block, size_t len);

#endif
