/* views.h - an image in several views. A square one is turned by quarters, and mirrored:
 *
 *     view   0   1          2              3              4         5 to 7
 *            as  a half     a quarter      a quarter      mirrored  4, turned
 *            is  turn       to the right   to the left              likewise
 *
 *     views_turn(&fitted, view, turned);
 *     relevance[views_source(view, side, patch)] += found[patch];
 *
 * The first two, four or all eight make a group: an answer that is the mean over them is the same
 * for the image turned by half, by quarters, or turned and mirrored.
 *
 * What is read, as the mark of a wafer, has an upright. Its views are moved, enlarged and turned a
 * little, as a second look through the camera would be:
 *
 *     views_move(&fitted, view, moved);
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_PREPARE_VIEWS_H
#define ATTND_ENGINE_PREPARE_VIEWS_H

#include "engine/vision/pixels.h"

enum { VIEWS_MAX = 8 };

/* Returns the place in the image of what the view has at `place`. Both count the patches of a
 * side x side grid row by row. */
unsigned views_source(unsigned view, unsigned side, unsigned place);

/* View `view` of a square image into rgb [side, side, 3], which is not the image's. */
void views_turn(const struct image *image, unsigned view, unsigned char *rgb);

/* The same of an image that is read: view 1 is moved by two pixels to the left, 2 enlarged by 3 %,
 * 3 moved to the right, 4 and 5 enlarged and turned by 0.8 degrees to either side, 6 and 7 moved by
 * a pixel up and down. Pixels lie between four of the image, by bilinear interpolation; its edge
 * goes on outside. */
void views_move(const struct image *image, unsigned view, unsigned char *rgb);

#endif
