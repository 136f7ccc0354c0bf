/* image.h - bytes of a picture -> 8-bit RGB pixels, equal to PIL's open().convert("RGB").
 *
 *     struct image image;
 *     struct image_options options = {.pixels_max = 1 << 25};
 *     image_decode(&image, bytes, len, &options, &arena, &err);
 *
 * The format is detected by magic bytes (input_formats.h). Sizes are read and checked before
 * anything is allocated. Alpha is dropped, palettes and grey are expanded, 16-bit colour keeps its
 * high byte; 16-bit grey is scaled (by sBIT, else the full range) and never clipped; EXIF
 * orientation is applied; CMYK and YCCK of a JPEG are converted as PIL does. Memory: three bytes a
 * pixel in the arena. Decoding takes a few rows more, for a rotated PNG as much again, for a
 * progressive JPEG also its coefficients (at most eight bytes a pixel). Threads: any number; no
 * state is shared.
 */
#ifndef ATTND_ENGINE_VISION_IMAGE_H
#define ATTND_ENGINE_VISION_IMAGE_H

#include "engine/vision/pixels.h"

/* ERR_UNUSABLE: of another format, damaged, cut off, or more pixels than allowed (the text gives
 * the size and the limit); or the interrupt's error. The pixels live in the arena. */
enum err_code image_decode(struct image *out, const void *bytes, size_t len,
                           const struct image_options *options, struct arena *arena,
                           struct err *err);

/* Reads only the decoded width and height, from the header. False if it is of another format or
 * is cut off. */
bool image_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

/* Upper bound of the bytes that image_decode takes: pixels, coefficients, rows and the libraries'
 * memory. Reads the header only. */
size_t image_decode_bytes(const void *bytes, size_t len);

#endif
